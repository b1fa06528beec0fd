"""``dialint score --cluster ray`` on a real Ray of this machine: run by ``make test-cluster`` only.

Faults are made by a scorer without a model that is defined in a function, so that it travels to the actors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cluster_log import write_log

from dialint.app.scoring import cluster
from dialint.app.scoring.cluster import ClusterDetector
from dialint.app.scoring.options import ClusterConfig
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.ingest.outcomes import Loaded
from dialint.detector.interface import DetectorConfig
from dialint.detector.records import Dialogue, Turn
from dialint.detector.verdict_files import manifest_path
from dialint.detector.watchdog import WatchConfig

TWO = ClusterConfig(cluster="ray", actors=2)


def dialogues(n: int, *ids: str) -> list[Dialogue]:
    names = [*(f"d{number}" for number in range(n)), *ids]
    return [Dialogue(id=name, turns=(Turn(index=0, role="agent", text="Hello."),)) for name in names]


def make_scorer(folder: Path) -> type:
    """A scorer whose actor dies of the dialogues `poison`, and `once` the first time; `foreign` changes its
    fingerprint."""

    class FaultyScorer:
        def __init__(self, *ignored: Any) -> None:
            self.fingerprint = "f"

        def facts(self) -> Any:
            from dialint.detector.interface import DetectorFacts

            return "done", DetectorFacts("stub", "f", ("C1",), None)

        def verdicts(self, dialogues: list[Dialogue], *ignored: Any) -> Any:
            import os

            from dialint.detector.records import Verdict

            ids = [dialogue.id for dialogue in dialogues]
            with open(folder / f"calls-{os.getpid()}", "a") as calls:
                calls.write("".join(f"{name}\n" for name in ids))
            if "poison" in ids or ("once" in ids and not (folder / "died").exists()):
                (folder / "died").touch()
                os._exit(9)
            if "foreign" in ids:
                self.fingerprint = "g"
            made = [
                Verdict(dialogue_id=name, release="stub", taxonomy="1", status="scored", quality=100)
                for name in ids
            ]
            return self.fingerprint, [], ("done", made)

    return FaultyScorer


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterDetector]:
    monkeypatch.setattr(cluster, "Scorer", make_scorer(tmp_path))
    with ClusterDetector(DetectorConfig(), WatchConfig(), TWO) as detector:
        yield detector


def judge_ahead(detector: ClusterDetector, chunks: Sequence[list[Dialogue]], n_done: int = 0) -> list[str]:
    loaded = ([Loaded(dialogue, "log", 1) for dialogue in chunk] for chunk in chunks)
    ids = []
    for number, chunk in enumerate(detector.send_ahead(loaded, n_done, all_probabilities=False)):
        if number >= n_done:
            verdicts = detector.verdicts([each.dialogue for each in chunk])
            ids += [f"{verdict.dialogue_id} {verdict.status}" for verdict in verdicts]
    return ids


def split(whole: list[Dialogue], size: int) -> list[list[Dialogue]]:
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def test_a_dead_actor_is_replaced_and_what_it_had_is_judged_again(
    faulty: ClusterDetector, tmp_path: Path
) -> None:
    chunks = split(dialogues(37, "once", "last"), 3)
    chunks.insert(4, chunks.pop())
    ids = judge_ahead(faulty, chunks)
    assert ids == [f"{dialogue.id} scored" for chunk in chunks for dialogue in chunk]
    assert (tmp_path / "died").exists()
    calls = Counter(line for path in tmp_path.glob("calls-*") for line in path.read_text().split())
    assert len(list(tmp_path.glob("calls-*"))) == 3  # two actors and the one in place of the dead one
    assert calls["once"] == 2


def test_chunks_that_are_done_are_not_sent(faulty: ClusterDetector, tmp_path: Path) -> None:
    ids = judge_ahead(faulty, split(dialogues(12), 3), n_done=2)
    assert ids == [f"d{number} scored" for number in range(6, 12)]
    calls = Counter(line for path in tmp_path.glob("calls-*") for line in path.read_text().split())
    assert calls == {f"d{number}": 1 for number in range(6, 12)}


def test_an_actor_of_another_fingerprint_ends_the_run(faulty: ClusterDetector) -> None:
    with pytest.raises(ConfigError, match="not those of the others"):
        judge_ahead(faulty, [dialogues(2), dialogues(0, "foreign")])


def test_a_chunk_that_kills_its_actors_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "RETRIES", 1)
    monkeypatch.setattr(cluster, "Scorer", make_scorer(tmp_path))
    with (
        ClusterDetector(DetectorConfig(), WatchConfig(), TWO) as detector,
        pytest.raises(WorldError, match="died more than 1 times"),
    ):
        judge_ahead(detector, split(dialogues(3, "poison", "last"), 2))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    write_log(path, 60)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"dialogue_id": "broken"}\n')
    return path


def score(*arguments: str, stdin: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dialint", "score", "--chunk-size", "8", "--threads", "1", *arguments]
    with open(stdin or os.devnull, "rb") as file:
        return subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_the_files_are_those_of_one_machine(log: Path, tmp_path: Path, ending: str) -> None:
    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
    lenient = ("--max-bad", "0.5")
    assert score(str(log), "--out", str(one), *lenient).returncode == 0
    result = score(str(log), "--out", str(two), *lenient, "--cluster", "ray", "--actors", "2")
    assert result.returncode == 0, result.stderr
    assert one.read_bytes() == two.read_bytes()
    manifests = [json.loads(manifest_path(out).read_text()) for out in (one, two)]
    for name in ("work", "job", "inputs", "reading", "not_covered"):
        assert manifests[0][name] == manifests[1][name], name
    again = score(str(log), "--out", str(two), *lenient)
    assert "done already" in again.stderr


def test_standard_input_is_read_here_and_text_is_printed_as_ever(log: Path) -> None:
    options = ("-", "--limit", "12", "--max-bad", "0.5", "--format", "jsonl", "--quiet")
    one, two = score(*options, stdin=log), score(*options, "--cluster", "ray", "--actors", "2", stdin=log)
    assert one.returncode == two.returncode == 0, two.stderr
    assert one.stdout == two.stdout


def test_a_release_that_an_actor_cannot_load_is_one_line(log: Path, tmp_path: Path) -> None:
    result = score(str(log), "--release", str(tmp_path), "--cluster", "ray", "--actors", "1")
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr


def test_a_cluster_that_is_not_there_is_one_line(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    result = score(str(log), "--cluster", "ray")
    assert result.returncode == 2
    assert "no running Ray was found" in result.stderr
