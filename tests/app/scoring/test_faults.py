"""Faults that `dialint score` survives: F1 F2 F3 F20 F22. Real processes, really killed."""

import json
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import wait_for

from dialint.detector.errors import OutputRefused
from dialint.detector.verdict_files import manifest_path, read_verdicts

WriteLog = Callable[..., Path]
Forked = Callable[..., dict[str, Any]]
KILLS = 20
FORMATS = ("jsonl", "parquet", "xml")  # csv goes the way of parquet, sarif that of xml
PLACES_OF_FULL_DISK = {"jsonl": 30, "parquet": 10, "xml": 10}


def outputs(folder: Path) -> dict[str, bytes]:
    """Every file of a job, less the manifest, which holds times."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.match("*.manifest.json")}


def made(folder: Path) -> Path:
    """The folder, made."""
    folder.mkdir()
    return folder


def counted(forked: Forked, log: Path, folder: Path, ending: str = "jsonl") -> list[int]:
    """The steps, the bytes written and the fsyncs of a job that nothing happens to."""
    ended = forked(log, made(folder) / f"v.{ending}", {"count_steps": True})
    return [int(n) for n in ended["out"].strip("[]").split(", ")]


def unkilled(forked: Forked, log: Path, folder: Path, ending: str) -> dict[str, bytes]:
    outcome = forked(log, made(folder) / f"v.{ending}")
    assert outcome == {"status": 0, "out": "", "err": ""}
    assert manifest_path(folder / f"v.{ending}").exists()
    return outputs(folder)


def is_old_or_new(out: Path, n: int) -> bool:
    """A reader sees no output at all, or a whole one."""
    try:
        return len(list(read_verdicts(out))) == n
    except OutputRefused as error:
        return error.code == "E_MANIFEST" and not manifest_path(out).exists()


def test_f1_killed_at_random_moments(tmp_path: Path, write_log: WriteLog, forked: Forked) -> None:
    log = write_log(150, extra=("{}", "[]"))
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    moments, kills, folder = random.Random(1), 0, made(tmp_path / "0")
    while kills < KILLS:
        about = {"pause_s": 0.005, "kill_after_s": moments.uniform(0.0, 0.25)}
        if forked(log, folder / "v.jsonl", about)["status"] == -signal.SIGKILL:
            kills += 1
        assert is_old_or_new(folder / "v.jsonl", 150)
        if (folder / "v.jsonl").exists():  # came to its end between two kills: begin another job
            assert forked(log, folder / "v.jsonl")["status"] == 0
            assert outputs(folder) == expected
            folder = tmp_path / str(kills)
            folder.mkdir(exist_ok=True)
    assert forked(log, folder / "v.jsonl")["status"] == 0
    assert outputs(folder) == expected
    ids = [verdict.dialogue_id for verdict in read_verdicts(folder / "v.jsonl")]
    assert ids == [f"d{number}" for number in range(150)]


@pytest.mark.parametrize(
    "ending", ["jsonl", *(pytest.param(each, marks=pytest.mark.slow) for each in FORMATS if each != "jsonl")]
)
def test_f2_killed_inside_each_write_step(
    tmp_path: Path, write_log: WriteLog, forked: Forked, ending: str
) -> None:
    log = write_log(6, extra=("{}",))
    expected = unkilled(forked, log, tmp_path / "unkilled", ending)
    step, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        step += 1
        folder = made(tmp_path / str(step))
        out = folder / f"v.{ending}"
        status = forked(log, out, {"kill_at": step})["status"]
        assert ending == "xml" or is_old_or_new(out, 6)
        assert forked(log, out)["status"] == 0
        assert outputs(folder) == expected, f"step {step}"
    assert status == 0
    assert step > 40


@pytest.mark.parametrize("ending", FORMATS)
def test_f3_disk_full(tmp_path: Path, write_log: WriteLog, forked: Forked, ending: str) -> None:
    log = write_log(12, extra=("{}",))
    expected = unkilled(forked, log, tmp_path / "unkilled", ending)
    written = counted(forked, log, tmp_path / "counted", ending)[1]
    places = PLACES_OF_FULL_DISK[ending]
    for place in range(places):
        folder = made(tmp_path / str(place))
        out = folder / f"v.{ending}"
        outcome = forked(log, out, {"full_after": written * place // places})
        assert outcome["status"] == 3
        assert outcome["err"].startswith("dialint: E_WRITE: ")
        assert outcome["err"].endswith("No space left on device\n")
        assert outcome["err"].count("\n") == 1
        assert not list(folder.glob("*.manifest.json"))
        assert forked(log, out)["status"] == 0
        assert outputs(folder) == expected


def test_f3_each_fsync_fails_once(tmp_path: Path, write_log: WriteLog, forked: Forked) -> None:
    log = write_log(6, extra=("{}",))
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    fsyncs = counted(forked, log, tmp_path / "counted")[2]
    assert fsyncs > 10
    for number in range(1, fsyncs + 1):
        folder = made(tmp_path / str(number))
        outcome = forked(log, folder / "v.jsonl", {"fsync_error_at": number})
        assert outcome["status"] == 3
        assert outcome["err"].startswith("dialint: E_WRITE: ")
        assert outcome["err"].endswith("Input/output error\n")
        assert is_old_or_new(folder / "v.jsonl", 6)
        assert forked(log, folder / "v.jsonl")["status"] == 0
        assert outputs(folder) == expected


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 0), ("SIGINT", 130)])
@pytest.mark.parametrize("grace", ["chunk is finished", "chunk is dropped"])
def test_f20_sigterm_under_load(
    tmp_path: Path, write_log: WriteLog, forked: Forked, name: str, code: int, grace: str
) -> None:
    log = write_log(30)
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    folder = made(tmp_path / "stopped")
    about = {"stop_at": 3, "stop_with": name}
    if grace == "chunk is dropped":
        about |= {"grace_s": 0.5, "pause_s": 1.5}
    outcome = forked(log, folder / "v.jsonl", about)
    done = 12 if grace == "chunk is finished" else 8
    assert outcome["status"] == code
    assert f"stopped, {done} dialogues are safe; the same command resumes there" in outcome["err"]
    assert not (folder / "v.jsonl").exists()
    resumed = forked(log, folder / "v.jsonl")
    assert f"resuming after {done} dialogues" in resumed["err"]
    assert outputs(folder) == expected


def wait_for_file(path: Path, process: subprocess.Popen[str]) -> None:
    def has_content() -> bool:
        assert process.poll() is None, process.communicate()
        return path.exists() and path.stat().st_size > 0

    wait_for(has_content)


def test_f22_the_same_job_started_twice(
    tmp_path: Path, write_log: WriteLog, forked: Forked, start: Callable[..., subprocess.Popen[str]]
) -> None:
    log, out = write_log(30), tmp_path / "job" / "v.jsonl"
    out.parent.mkdir()
    with start(log, out, {"pause_s": 0.5}) as first:
        wait_for_file(out.parent / ".v.job" / "journal.jsonl", first)
        second = forked(log, out)
        assert second["status"] == 2
        assert f"E_LOCKED: {out}: another dialint (process {first.pid})" in second["err"]
        first.send_signal(signal.SIGTERM)
        first.communicate()
    assert first.returncode == 0
    other = forked(log, out, {"release": "fake-2"})
    assert other["status"] == 2
    assert "--release was fake-1, is fake-2 now" in other["err"]
    assert "--restart throws the partial output away" in other["err"]
    assert forked(log, out, {"release": "fake-2"}, restart=True)["status"] == 0
    assert {verdict.release for verdict in read_verdicts(out)} == {"fake-2"}


def test_a_damaged_part_file_is_made_again(tmp_path: Path, write_log: WriteLog, forked: Forked) -> None:
    log = write_log(30)
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    folder = made(tmp_path / "damaged")
    forked(log, folder / "v.jsonl", {"stop_at": 5, "stop_with": "SIGTERM"})
    part = folder / ".v.job" / "part.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join([*lines[:9], lines[9].replace(b"fake", b"fuke"), *lines[10:]]))
    resumed = forked(log, folder / "v.jsonl")
    assert "resuming after 8 dialogues" in resumed["err"]
    assert outputs(folder) == expected


def test_orphan_temporaries_are_removed_at_the_start(
    tmp_path: Path, write_log: WriteLog, forked: Forked
) -> None:
    log, out = write_log(30), tmp_path / "v.jsonl"
    stop = {"stop_at": 2, "stop_with": "SIGTERM"}
    forked(log, out, stop)
    orphan = tmp_path / ".v.job" / ".final.12345.tmp"
    orphan.write_bytes(b"half a report")
    forked(log, out, stop)
    assert (tmp_path / ".v.job" / "journal.jsonl").read_bytes().count(b"\n") == 4
    assert not orphan.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the spool keeps its name without /proc")
def test_standard_input_leaves_nothing_behind_when_killed(
    tmp_path: Path, write_log: WriteLog, start: Callable[..., subprocess.Popen[str]]
) -> None:
    log, temporary = write_log(30), tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "job").mkdir()
    with open(log) as text:
        about = {"pause_s": 0.5, "temporary": str(temporary)}
        with start(Path("-"), tmp_path / "job" / "v.jsonl", about, stdin=text) as process:
            wait_for_file(tmp_path / "job" / ".v.job" / "journal.jsonl", process)
            assert not list(temporary.iterdir())
            process.kill()
    assert not list(temporary.iterdir())


def test_an_output_moved_away_before_its_manifest_is_made_anew_on_restart(
    tmp_path: Path, write_log: WriteLog, forked: Forked
) -> None:
    log = write_log(6, extra=("{}",))
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    n_steps = counted(forked, log, tmp_path / "counted")[0]
    for step in range(n_steps, 0, -1):
        out = made(tmp_path / str(step)) / "v.jsonl"
        forked(log, out, {"kill_at": step})
        if (out.parent / "v.manifest.json").exists() or not (out.parent / "v.rejects.jsonl").exists():
            continue
        out.rename(tmp_path / "moved.jsonl")
        stuck = forked(log, out)
        assert stuck["status"] == 2
        assert f"the job in {out.parent / '.v.job'} is not over" in stuck["err"]
        assert forked(log, out, restart=True)["status"] == 0
        assert outputs(out.parent) == expected
        return
    pytest.fail("no step left the output out and its manifest in")


@pytest.mark.slow
def test_a_chunk_of_large_dialogues_ends_early(tmp_path: Path, peak_kib: Callable[..., int]) -> None:
    """Memory is that of a few dialogues of a megabyte, however many there are."""
    peaks = []
    for n in (40, 80):
        log = tmp_path / f"{n}.jsonl"
        with open(log, "w") as file:
            for number in range(n):
                turns = [{"role": "agent", "text": chr(97 + number % 26) * 50_000}] * 20
                file.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")
        peaks.append(peak_kib(log, tmp_path / f"{n}.v.jsonl", chunk_size=128))
    assert peaks[1] < peaks[0] + 20 * 1024  # kept, 40 more would take 40 MB


HANGS = {"hang_at": "d5", "watch": {"dialogue_seconds": 1.0}}


def test_a_dialogue_that_hangs_is_failed_and_the_others_have_the_same_bytes(
    tmp_path: Path, write_log: WriteLog, forked: Forked
) -> None:
    log = write_log(10)
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")["v.jsonl"].splitlines()
    outcome = forked(log, made(tmp_path / "hung") / "v.jsonl", HANGS, max_failed=0.2)
    assert outcome["status"] == 0
    assert outcome["err"] == "dialint: dialogue 'd5': E_TIMEOUT: over 1 seconds\n"
    lines = (tmp_path / "hung" / "v.jsonl").read_bytes().splitlines()
    assert json.loads(lines[5])["failure"] == "E_TIMEOUT"
    assert lines[:5] + lines[6:] == expected[:5] + expected[6:]
    counts = json.loads((tmp_path / "hung" / "v.manifest.json").read_bytes())["counts"]
    assert (counts["scored"], counts["failures"]) == (9, {"E_TIMEOUT": 1})
    again = forked(log, tmp_path / "hung" / "v.jsonl", HANGS, max_failed=0.2)
    assert "done already" in again["err"]


def test_a_job_killed_while_a_dialogue_hangs_gets_past_it(
    tmp_path: Path, write_log: WriteLog, forked: Forked
) -> None:
    log, out = write_log(10), tmp_path / "v.jsonl"
    forever = {"hang_at": "d5", "watch": {"dialogue_seconds": 3600.0}}
    killed = forked(log, out, {**forever, "kill_when_hung": str(tmp_path / "hung")})
    assert killed["status"] == -signal.SIGKILL
    assert (tmp_path / "hung").exists()
    assert forked(log, out, HANGS, max_failed=0.2)["status"] == 0
    assert [verdict.failure for verdict in read_verdicts(out)] == [None] * 5 + ["E_TIMEOUT"] + [None] * 4


def test_without_limits_everything_is_judged_in_this_process(
    tmp_path: Path, write_log: WriteLog, forked: Forked
) -> None:
    log = write_log(10)
    expected = unkilled(forked, log, tmp_path / "unkilled", "jsonl")
    about = {"watch": {"dialogue_seconds": 0}}
    assert forked(log, made(tmp_path / "here") / "v.jsonl", about)["status"] == 0
    assert outputs(tmp_path / "here") == expected
