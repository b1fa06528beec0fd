"""``dialint score --cluster`` without Ray: refused options, and what an actor does. What Ray does:
``make test-cluster``."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cluster_log import write_log

from dialint.app.scoring import cluster
from dialint.app.scoring.cluster import ClusterDetector, Scorer, check_reachable
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ClusterConfig, ScoreConfig
from dialint.detector import environment
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.interface import DetectorConfig, DetectorFacts
from dialint.detector.isolation import message_value
from dialint.detector.log_profile import profile_log
from dialint.detector.records import Verdict
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.verdict_files import read_verdicts
from dialint.detector.watchdog import WatchConfig

SAMPLE = Path(cluster.__file__).parents[1] / "sample/dialogues.jsonl"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": "ray", "actors": 0}, "--actors: expected at least 1"),
        ({"actors": 2}, "--actors needs --cluster ray"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ClusterConfig(**options)  # type: ignore[arg-type]
    assert message in refused.value.message


@pytest.mark.parametrize("address", ["head", "head:0", "ray://head:10001"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(ConfigError, match=r"expected HOST:PORT .*ray:// is not supported"):
        check_reachable(address)


def test_without_ray_one_line_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "is_installed", lambda module: module != "ray")
    config = ScoreConfig(out=tmp_path / "v.jsonl", cluster=ClusterConfig(cluster="ray"))
    with pytest.raises(ConfigError) as refused:
        run([str(SAMPLE)], config)
    assert refused.value.message == "--cluster ray needs ray: pip install 'dialint[cluster]'"
    assert list(tmp_path.iterdir()) == []


def test_an_address_where_nothing_listens_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setattr(cluster, "require_extra", lambda extra, what: None)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ConfigError) as refused:
            ClusterDetector(DetectorConfig(), WatchConfig(), ClusterConfig(cluster="ray"))
    assert refused.value.message == f"RAY_ADDRESS={address}: connection refused"


def test_a_numbered_gpu_is_refused() -> None:
    with pytest.raises(ConfigError, match="each actor gets a GPU") as refused:
        ClusterDetector(DetectorConfig(device="cuda:1"), WatchConfig(), ClusterConfig(cluster="ray"))
    assert refused.value.code == "E_OPTION"


CHUNK = 4


def test_chunks_in_any_order_get_the_verdicts_of_one_machine(tmp_path: Path) -> None:
    """Any chunk, in any order, is judged as one machine judges it."""
    log = tmp_path / "log.jsonl"
    write_log(log, 12)
    what, watch = DetectorConfig(threads=1), WatchConfig(dialogue_seconds=0)
    config = ScoreConfig(out=tmp_path / "v.jsonl", chunk_size=CHUNK, detector=what, watch=watch, quiet=True)
    assert run([str(log)], config) == 0
    expected = list(read_verdicts(tmp_path / "v.jsonl"))
    dialogues = list(load_dialogues([str(log)]).values())
    profile = profile_log(dialogues, Release(EMBEDDED).info.domain)
    scorer = Scorer(what, watch)
    facts: DetectorFacts = message_value(scorer.facts())
    results: dict[str, Verdict] = {}
    for first in (8, 0, 4):
        fingerprint, _, message = scorer.verdicts(dialogues[first : first + CHUNK], False, profile)
        assert fingerprint == facts.fingerprint
        results |= {verdict.dialogue_id: verdict for verdict in message_value(message)}
    for one in expected:
        other = results[one.dialogue_id]
        assert (one.findings, one.suggestions) == (other.findings, other.suggestions)
