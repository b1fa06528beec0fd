"""`dialint score --only-new`: nights over a folder that grows and changes, with real kills in between."""

import gzip
import json
import random
import signal
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from patience import wait_for
from sqlalchemy import select

from dialint.app.scoring.job import lock_job
from dialint.app.scoring.loop import run
from dialint.app.scoring.nightly import _Round, list_signatures
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.verdict_files import manifest_path, read_verdicts, state_path
from dialint.labeling.store import accounts
from dialint.labeling.store.api import Store, upgrade, verify
from dialint.labeling.store.database.schema import dialogues, verdicts
from dialint.labeling.store.records import Account

Forked = Callable[..., dict[str, Any]]
Start = Callable[..., subprocess.Popen[str]]
CHUNK = 4
NIGHTS = 4


def line(name: str, *texts: str) -> str:
    roles = ("customer", "agent")
    turns = [
        {"role": roles[n % 2], "text": text} for n, text in enumerate(texts or ("Hello?", f"This is {name}."))
    ]
    return json.dumps({"id": name, "turns": turns}) + "\n"


def append(path: Path, *lines: str) -> None:
    with open(path, "a") as file:
        file.writelines(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def make_store(path: Path) -> str:
    upgrade(str(path))
    with Store.open(str(path)) as store:
        accounts.create_first(store, "ada", "correct horse battery")
        accounts.create(store, "ada", Account(id="lea", role="lead"))
    return str(path)


def stored(place: str) -> dict[str, Any]:
    """The dialogues and verdicts of a store, without times."""
    with Store.open(place) as store:
        verify(store)
        return store.read(
            lambda transaction: {
                table.name: sorted(
                    tuple(row) for row in transaction.run(select(*table.primary_key, table.c.content))
                )
                for table in (dialogues, verdicts)
            }
        )


def by_id(out: Path) -> dict[str, str]:
    lines = [verdict.model_dump_json() for verdict in read_verdicts(out)]
    results = {json.loads(line)["dialogue_id"]: line for line in lines}
    assert len(results) == len(lines)
    return results


def add_night(folder: Path, night: int) -> None:
    """Five new dialogues in a file that grows; a dialogue of each earlier night goes on in a file of today; the
    first text of another is corrected where it stands."""
    append(folder / "a.jsonl", *(line(f"n{night}-{number}") for number in range(5)))
    grown = (f"n{earlier}-0" for earlier in range(night))
    today = [line(name, "Hello?", f"This is {name}.", *("And?", "Wait.") * night) for name in grown]
    append(folder / f"day{night}.jsonl", line(f"only{night}"), *today)
    text = (folder / "a.jsonl").read_text().replace(f"This is n{night - 1}-1.", f"Corrected n{night - 1}-1.")
    (folder / "a.jsonl").write_text(text)


def test_nights_with_kills_leave_what_one_clean_run_leaves(
    folder: Path, tmp_path: Path, forked: Forked
) -> None:
    out, judged, rng = tmp_path / "v.jsonl", tmp_path / "judged", random.Random(1)
    about = {"store": make_store(tmp_path / "nights.sqlite"), "judged": str(judged)}
    kills = 0
    for night in range(NIGHTS):
        add_night(folder, night)
        strikes = {"kill_at": rng.randint(1, 60), "kill_after_s": rng.uniform(0, 0.3)}
        for name, value in strikes.items():
            kills += forked(folder, out, {**about, name: value}, only_new=True)["status"] == -signal.SIGKILL
            append(folder / "a.jsonl", line(f"late{night}-{kills}"))  # the log goes on
        assert forked(folder, out, about, only_new=True)["status"] == 0
        assert forked(folder, out, about, only_new=True)["status"] == 0
    assert kills >= NIGHTS
    clean = {"store": make_store(tmp_path / "clean.sqlite"), "judged": str(tmp_path / "clean")}
    assert forked(folder, tmp_path / "w.jsonl", clean, only_new=True)["status"] == 0
    assert by_id(out) == by_id(tmp_path / "w.jsonl")
    assert stored(about["store"]) == stored(clean["store"])
    assert len((tmp_path / "clean").read_text().splitlines()) == len(by_id(out))
    contents = 8 * NIGHTS + NIGHTS * (NIGHTS - 1) // 2 + NIGHTS - 1
    """Of a night its five, its own and two late ones; what grew; what was corrected."""
    n_judged = len(judged.read_text().splitlines())
    assert contents <= n_judged <= contents + CHUNK * kills, (contents, n_judged, kills)


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_second_night_killed_inside_each_write_step(
    folder: Path, tmp_path: Path, forked: Forked, stride: int
) -> None:
    step, status = 1 - stride, -signal.SIGKILL
    while status == -signal.SIGKILL:
        step += stride
        out, judged = (
            tmp_path / f"v{step}.parquet" if step % 9 == 0 else tmp_path / f"v{step}.jsonl",
            tmp_path / f"j{step}",
        )
        for path in folder.iterdir():
            path.unlink()
        append(folder / "a.jsonl", *map(line, "abcdef"))
        assert forked(folder, out, {}, only_new=True)["status"] == 0
        append(folder / "a.jsonl", *map(line, "ghijkl"), line("a", "Hello?", "Changed."), "{}\n")
        about = {"judged": str(judged)}
        status = forked(folder, out, {**about, "kill_at": step}, only_new=True)["status"]
        assert forked(folder, out, about, only_new=True)["status"] == 0
        verdicts = by_id(out)
        assert sorted(verdicts) == [*"abcdefghijkl"]
        assert '"Changed."' in verdicts["a"] or '"findings":[]' in verdicts["a"]
        n_judged = Counter(judged.read_text().splitlines())
        assert n_judged.total() <= 7 + CHUNK
        again = forked(folder, out, about, only_new=True)
        assert "0 dialogues to judge, 0 changed ones, 12 judged before" in again["err"]
        assert Counter(judged.read_text().splitlines()) == n_judged
        assert not (tmp_path / f".{out.stem if out.suffix == '.jsonl' else out.name}.job").exists()
    assert status == 0
    assert step > 40


def test_without_its_state_all_is_judged_again(folder: Path, tmp_path: Path, forked: Forked) -> None:
    out, judged = tmp_path / "v.jsonl", tmp_path / "judged"
    append(folder / "old.jsonl", line("gone"))
    append(folder / "a.jsonl", *map(line, "abc"))
    forked(folder, out, {}, only_new=True)
    (folder / "old.jsonl").unlink()
    before = by_id(out)
    for damage in (
        lambda: state_path(out).unlink(),
        lambda: state_path(out).write_text('{"output": "0"}\n["a", 1'),
    ):
        damage()
        assert forked(folder, out, {"judged": str(judged)}, only_new=True)["status"] == 0
        assert by_id(out) == before  # also of the dialogue that the logs have no more
    assert sorted(judged.read_text().split()[::2]) == [*"aabbcc"]


def test_half_written_lines_and_logs_without_a_record_are_left_for_the_next_round(
    folder: Path, tmp_path: Path, forked: Forked
) -> None:
    out, last = tmp_path / "v.jsonl", line("d", "Hello?", "Füllwort.")
    (folder / "begun.jsonl").write_text('{"id": "e", "tu')
    (folder / "blank.jsonl").write_text("\n\n")
    (folder / "quiet.csv").write_text("ticket_id,role,text\n")
    (folder / "quiet.jsonl.gz").write_bytes(gzip.compress(b""))
    for cut in (2, 20, len(last) - 2, len(last) - 1):  # the last of them is whole
        (folder / "a.jsonl").write_text("".join(map(line, "abc")) + last[:cut])
        assert forked(folder, out, {}, only_new=True)["status"] == 0
        assert sorted(by_id(out)) == [*"abc", *(["d"] if cut == len(last) - 1 else [])]
        assert (tmp_path / "v.rejects.jsonl").read_text() == ""


def test_a_log_may_grow_while_it_is_read(folder: Path) -> None:
    append(folder / "a.jsonl", *map(line, "abc"))
    (source,) = open_logs([str(folder)], growing=True)
    names = []
    for record in read([source], ReadConfig(), Counts()):
        assert isinstance(record, Loaded)
        names.append(record.dialogue.id)
        append(folder / "a.jsonl", line("more"))
    assert names == [*"abc"]


def test_a_log_that_is_added_renames_no_dialogue(folder: Path, tmp_path: Path, forked: Forked) -> None:
    """Records without an id are named after their log, by its path in the folder."""
    out, names = tmp_path / "v.jsonl", ("chat.jsonl", "mon/chat.jsonl", "tue/chat.jsonl", "tue/a/chat.jsonl")
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        messages = [{"role": role, "content": f"Hello {name}"} for role in ("user", "assistant")]
        append(folder / name, json.dumps({"messages": messages}) + "\n")
        assert forked(folder, out, only_new=True)["status"] == 0
    assert [*by_id(out)] == [f"{name}:1" for name in names]


def test_contents_that_a_later_one_replaces_are_counted(folder: Path, tmp_path: Path, forked: Forked) -> None:
    append(folder / "a.jsonl", line("a"), line("a", "Hello?", "Good morning."), line("b"), line("b"), "{}\n")
    assert forked(folder, tmp_path / "v.jsonl", only_new=True)["status"] == 0
    reading = read_manifest(manifest_path(tmp_path / "v.jsonl"))["reading"]
    assert (reading["read"], reading["rejected"], reading["warnings"]) == (5, 1, {"duplicates skipped": 2})


@pytest.mark.parametrize("lines", ["".join(map(line, "xyz")), line("a") + " " * 500])
def test_a_log_rewritten_in_place_between_two_looks_is_refused(
    folder: Path, tmp_path: Path, driver: ModuleType, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    """Numbers of records would mean other dialogues: it keeps its place on the disk and is no shorter."""
    log, find = folder / "a.jsonl", _Round.find_pending
    append(log, *map(line, "abc"))

    def find_and_rewrite(current: _Round) -> set[int]:
        pending = find(current)
        log.write_text(lines)
        return pending

    monkeypatch.setattr(_Round, "find_pending", find_and_rewrite)
    with pytest.raises(InputRefused, match="E_CHANGED"):
        run([str(folder)], ScoreConfig(out=tmp_path / "v.jsonl", only_new=True), driver.FakeDetector({}))


def test_what_could_not_be_judged_is_tried_again(folder: Path, tmp_path: Path, forked: Forked) -> None:
    out, judged = tmp_path / "v.csv", tmp_path / "judged"
    append(folder / "a.jsonl", *map(line, "abc"), line("bad", "unanswerable", "Well."))
    for _ in range(2):  # it is written, and the exit code says that something is wrong
        outcome = forked(folder, out, {"judged": str(judged)}, only_new=True)
        assert outcome["status"] == 3
        assert "E_TOO_MANY_FAILED: 1 of 4 dialogues" in outcome["err"]
        assert len(by_id(out)) == 4
    assert sorted(judged.read_text().split()[::2]) == ["a", "b", "bad", "bad", "c"]


def test_another_release_is_another_job(folder: Path, tmp_path: Path, forked: Forked) -> None:
    out = tmp_path / "v.jsonl"
    append(folder / "a.jsonl", *map(line, "abc"))
    assert forked(folder, out, {}, only_new=True)["status"] == 0
    other = forked(folder, out, {"release": "fake-2"}, only_new=True)
    assert other["status"] == 2
    assert "--release was fake-1, is fake-2 now; --restart replaces it" in other["err"]
    assert forked(folder, out, {"release": "fake-2"}, only_new=True, restart=True)["status"] == 0
    assert all('"release":"fake-2"' in each for each in by_id(out).values())


def test_rounds_until_sigterm(folder: Path, tmp_path: Path, start: Start) -> None:
    out, judged = tmp_path / "v.jsonl", tmp_path / "judged"

    def has(n: int) -> Callable[[], bool]:
        return lambda: state_path(out).exists() and state_path(out).read_bytes().count(b"\n") == n + 1

    with start(folder, out, {"judged": str(judged)}, only_new=True, watch_s=0.1) as process:  # no log yet
        append(folder / "a.jsonl", line("a"))
        wait_for(has(1))
        (folder / "b.json").write_text('[{"id": "b", "tur')  # half of a document ends a round only
        append(folder / "a.jsonl", line("c"))
        (folder / "b.json").write_text(json.dumps([json.loads(line("b"))]))
        wait_for(has(3))
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0
    assert sorted(by_id(out)) == [*"abc"]
    assert sorted(judged.read_text().split()[::2]) == [*"abc"]


def test_a_watch_outlives_what_may_pass_and_starts_anew_once(
    folder: Path, tmp_path: Path, forked: Forked, start: Start
) -> None:
    out, judged = tmp_path / "v.jsonl", tmp_path / "judged"
    append(folder / "a.jsonl", line("a"))
    assert forked(folder, out, {"release": "fake-2"}, only_new=True)["status"] == 0
    append(folder / "a.jsonl", line("bad", "unanswerable", "Well."))
    about = {"judged": str(judged)}
    with lock_job(out):
        process = start(folder, out, about, only_new=True, restart=True, watch_s=0.1)
        assert process.stderr is not None
        assert "E_LOCKED" in process.stderr.readline()
    with process:  # half of the output failed; that is tried again, as a judge may answer by now
        wait_for(lambda: judged.exists() and judged.read_text().count("bad ") >= 3)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0
    assert judged.read_text().count("a ") == 1
    assert sorted(by_id(out)) == ["a", "bad"]


def test_only_files_that_change_begin_a_round(folder: Path, tmp_path: Path, forked: Forked) -> None:
    append(folder / "a.jsonl", line("a"))
    with zipfile.ZipFile(folder / "b.zip", "w") as archive:
        archive.writestr("b.jsonl", line("b"))
    before = list_signatures([str(folder)])
    assert list_signatures([str(folder)]) == before
    append(folder / "a.jsonl", line("c"))
    assert list_signatures([str(folder)]) != before
    refused = forked(Path("-"), tmp_path / "v.jsonl", only_new=True, watch_s=1)  # it would be read twice
    assert (refused["status"], "E_OPTION: --watch" in refused["err"]) == (2, True)


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_an_output_among_its_logs_counts_all_records_whatever_is_judged(
    folder: Path, forked: Forked, ending: str
) -> None:
    out = folder / f"v.{ending}"
    append(folder / "a.jsonl", *map(line, "abc"), "{}\n")
    for n in (1, 2, 3, 3):
        assert forked(folder, out, only_new=True, limit=1)["status"] == 0
        assert len(by_id(out)) == n
        manifest = read_manifest(manifest_path(out))
        assert (manifest["reading"]["read"], manifest["reading"]["rejected"]) == (4, 1)
        assert [entry["rows"] for entry in manifest["files"]] == [n, 1]
