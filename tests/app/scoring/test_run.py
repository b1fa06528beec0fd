"""`dialint score` from a log to an exit code, with a fake detector in this process."""

import errno
import gzip
import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dialint.app.cli import app as command_line
from dialint.app.commands.verify import verify, verify_path
from dialint.app.scoring.loop import run
from dialint.app.scoring.options import ScoreConfig
from dialint.app.scoring.run import prepare_run, split_into_chunks
from dialint.detector.artifacts import read_manifest, verify_files
from dialint.detector.errors import (
    ConfigError,
    DialintError,
    InputRefused,
    OutputRefused,
    ReleaseRefused,
    TooManyBad,
    WorldError,
)
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts
from dialint.detector.ingest.read import open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.log_profile import LogProfile
from dialint.detector.overrides import update_overrides
from dialint.detector.verdict_files import manifest_path, read_verdicts
from dialint.detector.watchdog import WatchConfig

WriteLog = Callable[..., Path]
Score = Callable[..., int]


@pytest.fixture
def detector(driver: ModuleType) -> Any:
    return driver.FakeDetector({})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "v.jsonl"


@pytest.fixture
def score(out: Path, driver: ModuleType) -> Score:
    """Scores logs into `out` by default; `about` are options of the fake detector, `fake` replaces it."""

    def scored(
        *logs: Path | str, about: dict[str, Any] | None = None, fake: Any = None, **options: Any
    ) -> int:
        config = ScoreConfig(**{"out": out, "quiet": True, **options})
        return run([str(log) for log in logs], config, fake or driver.FakeDetector(about or {}))

    return scored


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_log_becomes_verdicts_rejects_and_a_manifest(
    score: Score, out: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(10, extra=("{}",))
    assert score(log, chunk_size=4, read=ReadConfig(max_bad=0.5), quiet=False) == 0
    verdicts = list(read_verdicts(out))
    assert [verdict.dialogue_id for verdict in verdicts] == [f"d{number}" for number in range(10)]
    assert {verdict.release for verdict in verdicts} == {"fake-1"}
    rejects = out.with_name("v.rejects.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in rejects] == [11]
    manifest = read_manifest(manifest_path(out))
    assert [entry["rows"] for entry in manifest["files"]] == [10, 1]
    assert manifest["counts"]["scored"] == 10
    assert manifest["reading"]["rejected"] == 1
    assert sorted(contents(out.parent)) == ["log.jsonl", "v.jsonl", "v.manifest.json", "v.rejects.jsonl"]
    assert "10 dialogues scored" in capsys.readouterr().out


def test_verdicts_tell_agent_team_channel_and_time_where_the_log_knows_them(
    score: Score, out: Path, write_log: WriteLog
) -> None:
    turns = [
        {"role": "customer", "text": "Hello?"},
        {"role": "agent", "text": "Hello.", "at": "2026-03-04T10:00:00Z"},
    ]
    record = {"id": "k", "turns": turns, "agent": "ada@firm.example", "team": "north", "channel": "chat"}
    score(write_log(1, extra=(json.dumps(record),)))
    without, complete = read_verdicts(out)
    assert (complete.agent, complete.team, complete.channel) == ("ada@firm.example", "north", "chat")
    assert complete.started_at == datetime(2026, 3, 4, 10, tzinfo=UTC)
    assert (without.agent, without.team, without.channel, without.started_at) == (None,) * 4
    assert '"agent":' not in out.read_text().splitlines()[0]


def test_the_same_command_again_changes_nothing(
    score: Score, tmp_path: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(10)
    assert score(log) == 0
    before = contents(tmp_path)
    assert score(log) == 0
    assert contents(tmp_path) == before
    assert "done already, 10 verdicts" in capsys.readouterr().err


def test_exit_1_on_a_severe_finding_and_again_when_done(score: Score, out: Path, write_log: WriteLog) -> None:
    log = write_log(10)
    for _ in range(2):
        assert score(log, fail_on="S2") == 1
    assert score(log, fail_on="S1") == 0
    assert {each.severity for verdict in read_verdicts(out) for each in verdict.findings} == {"S2", "S4"}


def test_filters_choose_what_is_reported_and_quality_follows(
    score: Score, tmp_path: Path, write_log: WriteLog, detector: Any
) -> None:
    log = write_log(12)
    score(log, out=tmp_path / "all.jsonl")
    score(log, out=tmp_path / "c.jsonl", codes=("T,C",))
    every, by_code = (list(read_verdicts(tmp_path / name)) for name in ("all.jsonl", "c.jsonl"))
    assert {f.code for verdict in every for f in verdict.findings} == {"C1", "L1"}
    assert {f.code for verdict in by_code for f in verdict.findings} == {"C1"}
    for whole, part in zip(every, by_code, strict=True):
        assert part.findings == tuple(f for f in whole.findings if f.code == "C1")
        assert part.quality == detector.taxonomy.quality(part.findings, part.team)


@pytest.mark.parametrize("name", ["v.jsonl", "v.parquet"])
def test_suggestions_are_separate_and_fail_nothing(
    score: Score, tmp_path: Path, write_log: WriteLog, detector: Any, capsys: pytest.CaptureFixture[str], name: str
) -> None:  # fmt: skip
    out = tmp_path / name
    suggest = {"suggest": ["C1"]}
    assert score(write_log(12), about=suggest, out=out, fail_on="S2", chunk_size=4, quiet=False) == 0
    output = capsys.readouterr().out
    assert "Suggestions: to be read, not counted as errors" in output
    assert "no proof (" in output
    verdicts = list(read_verdicts(out))
    suggested = [finding for verdict in verdicts for finding in verdict.suggestions]
    assert {finding.code for finding in suggested} == {"C1"}
    assert {finding.code for verdict in verdicts for finding in verdict.findings} == {"L1"}
    for verdict in verdicts:
        assert verdict.quality == detector.taxonomy.quality(verdict.findings, verdict.team)
    counts = read_manifest(manifest_path(out))["counts"]
    assert counts["suggestions"] == {"C1": {"demoted: no proof": len(suggested)}}
    assert "C1" not in counts["findings"]
    assert verify_path(out) == 2


def test_a_demoted_code_is_listed_and_other_demotions_are_another_job(
    score: Score, out: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log, path = write_log(4), out.with_name("overrides.yaml")

    def demote(release: str, reason: str) -> None:
        path.unlink(missing_ok=True)
        update_overrides(path, release, demoted={"C1": reason})

    what = DetectorConfig(overrides=path)
    demote("fake-1", "wrong here")
    assert score(log, detector=what, quiet=False) == 0
    assert "C1 demoted to suggestions: wrong here" in " ".join(capsys.readouterr().out.split())
    assert read_manifest(manifest_path(out))["work"]["release"]["demoted"] == {"C1": "wrong here"}
    demote("fake-1", "seldom right")
    with pytest.raises(OutputRefused, match="--overrides"):
        score(log, detector=what)
    demote("another", "wrong here")
    with pytest.raises(ReleaseRefused, match="made for another, and this is fake-1"):
        score(log, detector=what, restart=True)
    path.unlink()
    with pytest.raises(ConfigError, match="E_OVERRIDES"):
        score(log, detector=what, restart=True)


def test_a_code_that_is_unknown_or_not_covered_is_refused(score: Score, write_log: WriteLog) -> None:
    log = write_log(1)
    with pytest.raises(ConfigError, match="no code or category 'Q9'"):
        score(log, codes=("Q9",))
    with pytest.raises(ConfigError, match="not covered by fake-1: X1"):
        score(log, codes=("X1",))
    with pytest.raises(ConfigError, match="not covered by fake-1: X1"):  # a gate that vouches for it
        score(log, codes=("c1, x1",), fail_on="S1")
    assert score(log, codes=("c1, t",)) == 0


@pytest.mark.parametrize("name", ["v.jsonl", None])
def test_a_limit_does_not_hide_bad_records_and_too_many_of_them_promote_nothing(
    score: Score, tmp_path: Path, name: str | None
) -> None:
    log = tmp_path / "bad.jsonl"
    log.write_bytes(b"".join(b"{}\n" + dialogue_like(number) for number in range(8)))
    with pytest.raises(TooManyBad, match="4 of 8 records"):
        score(log, out=name and tmp_path / name, limit=4)
    assert not list(tmp_path.glob("v.*"))


def test_a_job_goes_on_with_a_larger_limit(
    score: Score, out: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the smaller one has cut a chunk; a complete output says what to type."""
    log = write_log(20, failing=1)
    with pytest.raises(TooManyBad):
        score(log, chunk_size=4, limit=6)
    assert score(log, chunk_size=4, max_failed=1.0) == 0
    assert "resuming after 6 dialogues" in capsys.readouterr().err
    assert [verdict.dialogue_id for verdict in read_verdicts(out)] == [f"d{n}" for n in range(20)]
    for limit in (6, 25):
        with pytest.raises(OutputRefused, match=rf"--limit was .*{limit} now.*; --restart replaces it"):
            score(log, chunk_size=4, max_failed=1.0, limit=limit)


@pytest.mark.parametrize("ending", ["jsonl", "xml"])
def test_restart_does_a_complete_job_anew(
    score: Score, tmp_path: Path, write_log: WriteLog, ending: str
) -> None:
    """The old output stays until the new one is complete, also where that is another job's."""
    log, out = write_log(8), tmp_path / f"v.{ending}"
    same = {"out": out, "chunk_size": 2}
    assert score(log, **same) == 0
    before = contents(tmp_path)
    score(log, **same, restart=True, about={"stop_at": 1, "stop_with": "SIGTERM"})
    assert contents(tmp_path) == before
    assert score(log, **same) == 0
    assert contents(tmp_path) == before
    other = {**same, "limit": 4, "about": {"release": "fake-2"}}
    assert score(log, **other, restart=True) == 0
    manifest = read_manifest(manifest_path(out))
    assert (manifest["files"][0]["rows"], manifest["work"]["release"]["id"]) == (4, "fake-2")
    verify_files(tmp_path, manifest["files"])
    assert score(log, **other) == 0
    out.write_text("mine")  # and what is no output any more
    assert score(log, **other, restart=True) == 0
    verify_files(tmp_path, read_manifest(manifest_path(out))["files"])
    manifest_path(out).unlink()
    with pytest.raises(OutputRefused, match="E_OUTPUT_EXISTS"):
        score(log, **other, restart=True)


def test_progress_is_that_of_the_limit(out: Path, write_log: WriteLog, detector: Any) -> None:
    """10 of 200 dialogues: all of the work, not a twentieth."""
    config = ScoreConfig(out=out, chunk_size=5, limit=10, quiet=True)
    scoring, _ = prepare_run([str(write_log(200))], config, detector)
    shares: list[float] = []
    records = read(scoring.sources, config.read, scoring.counts)
    for chunk in split_into_chunks(records, 5, 10):
        scoring.score_chunk(chunk, lambda done, share=None, note="", **counts: shares.append(share or 0.0))
    assert shares == sorted(shares)
    assert (shares[0], shares[1], shares[-1]) == (0.0, 0.5, 1.0)


def test_failures_are_counted_and_too_many_stop_the_job(score: Score, out: Path, write_log: WriteLog) -> None:
    log = write_log(10, failing=2)
    with pytest.raises(TooManyBad, match="2 of 10 dialogues could not be judged") as caught:
        score(log)
    assert caught.value.exit_code == 3
    assert not out.exists()
    assert score(log, max_failed=0.2) == 0
    assert read_manifest(manifest_path(out))["counts"]["failures"] == {"E_FAKE": 2}
    failed = [verdict for verdict in read_verdicts(out) if verdict.status == "failed"]
    assert [(verdict.dialogue_id, verdict.quality) for verdict in failed] == [("d0", None), ("d1", None)]


def test_dialogues_without_an_agent_are_failed_and_no_outage(
    score: Score, tmp_path: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = [json.dumps({"id": f"a{n}", "turns": [{"role": "customer", "text": "Hello?"}]}) for n in range(9)]
    with pytest.raises(TooManyBad, match="1 of 10 dialogues could not be judged"):
        score(write_log(10, failing=1, extra=tuple(alone)), max_failed=0.09)
    log = write_log(10, extra=tuple(alone))
    assert score(log, max_failed=0.09, restart=True, quiet=False) == 0
    printed = capsys.readouterr().out
    assert "10 dialogues scored" in printed
    assert "0 failed" in printed
    assert "nothing to judge, no agent's turn: 9" in printed
    assert read_manifest(tmp_path / "v.manifest.json")["counts"]["failures"] == {"E_NO_AGENT_TURN": 9}
    only = tmp_path / "only.jsonl"
    only.write_text("\n".join(alone) + "\n")
    out = tmp_path / "w.jsonl"
    assert score(only, out=out) == 0
    assert "no dialogue has an agent's turn, so nothing was judged" in capsys.readouterr().err
    with pytest.raises(TooManyBad, match=r"E_NOT_JUDGED: 9 of 9 .* no agent's turn.* --fail-on S1"):
        score(only, out=out, fail_on="S1")
    assert score(only, out=out, fail_on="S1", max_failed=1) == 0


def test_narrower_limits_hold_for_a_complete_output_too(
    score: Score, tmp_path: Path, write_log: WriteLog
) -> None:
    log = write_log(9, failing=1, extra=("{}",))
    assert score(log, max_failed=1, read=ReadConfig(max_bad=1)) == 0
    before = contents(tmp_path)
    with pytest.raises(TooManyBad, match="1 of 10 records are bad"):
        score(log, max_failed=1)
    message = r"1 of 9 dialogues could not be judged .*--restart tries them again"
    with pytest.raises(TooManyBad, match=message):
        score(log, max_failed=0.05, read=ReadConfig(max_bad=1))
    assert score(log, max_failed=1, read=ReadConfig(max_bad=1)) == 0
    assert contents(tmp_path) == before


def test_a_refused_log_leaves_nothing(score: Score, tmp_path: Path, write_log: WriteLog) -> None:
    good, empty = write_log(5), tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    with pytest.raises(InputRefused, match="E_NO_RECORDS"):
        score(good, empty)
    assert sorted(contents(tmp_path)) == ["empty.jsonl", "log.jsonl"]


STOPPED = {"stop_at": 3, "stop_with": "SIGTERM"}


def test_a_mistyped_log_costs_no_work_that_is_done(
    score: Score, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(20)
    score(log, chunk_size=4, about=STOPPED)
    for wrong, message in ((f"{log}x", "E_PATH"), (write_log(3, "b.jsonl"), "E_OTHER_JOB")):
        with pytest.raises((InputRefused, OutputRefused), match=message):
            score(wrong, chunk_size=4)
    assert score(log, chunk_size=4) == 0
    assert "resuming after 12 dialogues" in capsys.readouterr().err


@pytest.mark.parametrize("limit", [None, 4])
def test_a_log_that_changes_while_it_is_read_leaves_nothing(
    score: Score, tmp_path: Path, write_log: WriteLog, detector: Any, monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:  # fmt: skip
    log, answer = write_log(20), detector.verdicts

    def meddle(dialogues: Any, **options: Any) -> Any:
        log.write_text("{}\n")
        return answer(dialogues, **options)

    monkeypatch.setattr(detector, "verdicts", meddle)
    with pytest.raises(InputRefused, match="E_CHANGED"):
        score(log, fake=detector, chunk_size=4, limit=limit)
    assert sorted(contents(tmp_path)) == ["log.jsonl"]


def test_a_reader_that_yields_other_dialogues_than_before_is_noticed(
    score: Score, write_log: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write_log(20)
    score(log, chunk_size=4, about=STOPPED)
    for gone in (slice(1, None), slice(4)):
        records = [*read(open_logs([str(log)]), ReadConfig(), Counts())][gone]
        monkeypatch.setattr(
            "dialint.app.scoring.run.read",
            lambda *arguments, items=records: (
                iter(items) if len(arguments) == 4 else read(*arguments)
            ),  # not the profile's
        )
        with pytest.raises(OutputRefused, match="holds other dialogues"):
            score(log, chunk_size=4)


def test_another_job_on_the_same_output_is_refused_with_the_differences(
    score: Score, tmp_path: Path, write_log: WriteLog
) -> None:
    log, other = write_log(5), write_log(6, "other.jsonl")
    score(log)
    before = contents(tmp_path)
    with pytest.raises(OutputRefused, match=r"--release was fake-1, is fake-2 now.*--restart replaces it"):
        score(log, about={"release": "fake-2"})
    with pytest.raises(OutputRefused, match=r"another job: --limit was not given, is 3 now; --restart"):
        score(log, limit=3)
    with pytest.raises(OutputRefused, match="the logs are other ones"):
        score(other)
    assert contents(tmp_path) == before


def test_outputs_may_share_a_stem(score: Score, tmp_path: Path, write_log: WriteLog) -> None:
    log = write_log(5)
    outs = [tmp_path / name for name in ("v.jsonl", "v.csv", "v.parquet", "v.sarif", "v.xml")]
    for out in outs:
        assert score(log, out=out) == 0
    before = contents(tmp_path)
    for out in outs:
        assert verify_path(out) == 2
        assert score(log, out=out) == 0  # done already
    assert contents(tmp_path) == before
    rows = [list(read_verdicts(out)) for out in outs[:3]]
    assert len(rows[0]) == 5
    assert rows[0] == rows[1] == rows[2]


def test_a_file_that_is_no_output_is_not_overwritten(score: Score, out: Path, write_log: WriteLog) -> None:
    out.write_text("mine\n")
    with pytest.raises(OutputRefused, match="without a manifest"):
        score(write_log(3))
    assert out.read_text() == "mine\n"
    assert sorted(contents(out.parent)) == ["log.jsonl", "v.jsonl"]


def test_a_detector_that_answers_out_of_order_is_no_clean_log(
    score: Score, out: Path, write_log: WriteLog, detector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = detector.verdicts
    monkeypatch.setattr(detector, "verdicts", lambda chunk, **options: answer(chunk, **options)[::-1])
    with pytest.raises(RuntimeError, match="once and in order"):
        score(write_log(3), fake=detector)
    assert not out.exists()


def test_without_out_a_report_is_printed_and_nothing_written(
    score: Score, tmp_path: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(write_log(8), out=None, quiet=False) == 0
    printed = capsys.readouterr().out
    assert "d2   quality" in printed
    assert "turn 1  S2  C1" in printed
    assert "“Let me look into 2 f”" in printed
    assert "8 dialogues scored" in printed
    assert "not covered by fake-1:" in printed
    assert sorted(contents(tmp_path)) == ["log.jsonl"]


def test_no_dialogue_text_in_what_is_logged(
    score: Score, tmp_path: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(8, failing=1, extra=('{"id": "x", "turns": "secret parcel"}',))
    assert score(log, max_failed=1.0, read=ReadConfig(max_bad=1.0), quiet=False) == 0
    printed = capsys.readouterr()
    output = printed.out + printed.err + (tmp_path / "v.manifest.json").read_text()
    assert "7 dialogues scored" in output
    for word in ("parcel", "Let me", "unanswerable", "number 3"):
        assert word not in output
    assert "secret" not in (tmp_path / "v.rejects.jsonl").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": Path("v.xlsx")}, "expected an ending"),
        ({"out": Path("v.jsonl"), "format": "jsonl"}, "the ending of --out decides"),
        ({"limit": 0}, "--limit"),
        ({"chunk_size": 0}, "--chunk-size"),
        ({"max_failed": 1.5}, "--max-failed"),
        ({"read": {"max_bad": 5}}, "E_OPTION: --max-bad: "),
        ({"read": {"format": "xls"}}, "E_OPTION: --input-format 'xls': "),
        ({"read": {"delimiter": ";;"}}, "E_OPTION: --delimiter: "),
        ({"read": {"role": ("X=boss",)}}, "E_OPTION: --role X: 'boss' is no role"),
        ({"read": {"column": ("text",)}}, "E_OPTION: --column 'text': "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ScoreConfig(**{**options, "read": ReadConfig(**options.get("read", {}))})


def test_no_log_and_no_folder_are_refused(score: Score, tmp_path: Path, write_log: WriteLog) -> None:
    with pytest.raises(ConfigError, match="no log was named"):
        score()
    with pytest.raises(ConfigError, match="no such folder"):
        score(write_log(1), out=tmp_path / "none" / "v.jsonl")


@pytest.mark.parametrize("why", ["name too long", "a file is in the way", "read-only", "disk full"])
def test_an_output_that_cannot_be_written_is_the_users_fault_unless_the_disk_is_full(
    score: Score, tmp_path: Path, write_log: WriteLog, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    out = tmp_path / ("v" * (250 if why == "name too long" else 1) + ".jsonl")
    if why == "a file is in the way":
        (tmp_path / ".v.job").write_text("mine")
    number = {"read-only": errno.EROFS, "disk full": errno.ENOSPC}.get(why)

    def mkdir(path: Path, **options: Any) -> None:
        raise OSError(number, os.strerror(number or 0))

    if number is not None:
        monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(DialintError) as caught:
        score(write_log(1), out=out)
    expected = ("E_WRITE", 3) if why == "disk full" else ("E_OPTION", 2)
    assert (caught.value.code, caught.value.exit_code) == expected


def test_a_log_and_its_compressed_twin_are_two_inputs(
    score: Score, tmp_path: Path, write_log: WriteLog
) -> None:
    log, packed = write_log(3), tmp_path / "log.jsonl.gz"
    other = write_log(6, "other.jsonl")
    packed.write_bytes(gzip.compress(other.read_bytes()[len(log.read_bytes()) :]))
    labels = [source.label for source in open_logs([str(packed), str(log), str(other)])]
    assert labels == ["log.jsonl.gz", "log.jsonl", "other.jsonl"]
    assert score(packed, log) == 0
    with pytest.raises(OutputRefused, match="the logs are other ones"):
        score(log, packed)
    packed.write_bytes(gzip.compress(dialogue_like(7)))
    with pytest.raises(OutputRefused, match="the logs are other ones"):
        score(packed, log)


def dialogue_like(number: int) -> bytes:
    turns = [{"role": "customer", "text": "Hello?"}, {"role": "agent", "text": f"Hello {number}"}]
    return json.dumps({"id": f"e{number}", "turns": turns}).encode() + b"\n"


def test_the_command_line_takes_logs_options_and_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("dialint.app.scoring.loop.run", lambda logs, config: seen.append((logs, config)) or 0)
    line = "score a.jsonl --codes C1,T b.jsonl --input-format csv --role X=agent --threads 2 --fail-on S2 -"
    assert command_line(line, result_action="return_value") == 0
    ((logs, config),) = seen
    assert logs == ("a.jsonl", "b.jsonl", "-")
    assert (config.codes, config.fail_on, config.read.format) == (("C1,T",), "S2", "csv")
    assert (config.read.role, config.detector.threads) == (("X=agent",), 2)
    with pytest.raises(ConfigError, match="unknown option --limt"):
        command_line("score a.jsonl --limt 5", result_action="return_value")


def test_standard_input_is_a_log(
    score: Score, out: Path, write_log: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with open(write_log(5)) as log:
            monkeypatch.setattr("sys.stdin", log)
            assert score("-") == 0
    assert len(list(read_verdicts(out))) == 5


def test_verify_lists_intact_and_damaged_files(
    score: Score, out: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(5)
    score(log)
    assert verify(out, manifest_path(out)) == 0
    assert capsys.readouterr().out.count("whole, 2 files") == 2
    out.with_name("v.rejects.jsonl").write_text("{}\n")
    assert verify(out) == 2
    assert "v.rejects.jsonl: its bytes are not those" in capsys.readouterr().err
    assert verify(out.with_name("gone.jsonl")) == 2
    assert verify(log) == 2
    assert "no manifest" in capsys.readouterr().err
    table = out.with_suffix(".csv")
    table.write_text("of another job\n")
    assert verify(table) == 2
    assert "v.csv.manifest.json: no manifest" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        verify()


def test_a_log_of_another_shape_is_scored_by_its_mapping(score: Score, tmp_path: Path, out: Path) -> None:
    log, mapping, moved = (tmp_path / name for name in ("log.json", "map.yaml", "moved.yaml"))
    turns = [{"who": "Kunde", "says": "Grüß Gott"}, {"who": "Berater", "says": "Hallo"}]
    log.write_text(json.dumps({"all": [{"no": n, "log": turns} for n in range(3)]}), encoding="cp1252")
    text = "fields: {id: 'all[].no', role: 'all[].log[].who', text: 'all[].log[].says'}\n"
    mapping.write_text(text)
    assert score(log, read=ReadConfig(mapping=mapping)) == 0
    assert [verdict.dialogue_id for verdict in read_verdicts(out)] == ["0", "1", "2"]
    options = read_manifest(manifest_path(out))["work"]["options"]
    assert options["read"]["mapping"]["fields"]["text"] == "all[].log[].says"
    moved.write_text(text + "# a comment\n")
    # the same job: what a mapping says counts, not its name
    assert score(log, read=ReadConfig(mapping=moved)) == 0
    moved.write_text(text + "roles: {Berater: bot}\n")
    with pytest.raises(OutputRefused, match=r"another job: --mapping differs in roles; --restart"):
        score(log, read=ReadConfig(mapping=moved))


@pytest.mark.parametrize("dialogue_seconds", [0.0, 20.0])
def test_a_detector_gets_the_profile_of_the_whole_log(
    score: Score, out: Path, write_log: WriteLog, driver: ModuleType, dialogue_seconds: float
) -> None:
    """In this process or in a worker."""

    class Profiled(driver.FakeDetector):  # type: ignore[misc, name-defined]
        def with_log(self, log: LogProfile) -> "Profiled":
            self.release = f"{log.n_dialogues} dialogues"
            return self

    watch = WatchConfig(dialogue_seconds=dialogue_seconds)
    assert score(write_log(10), fake=Profiled({}), chunk_size=4, limit=6, watch=watch) == 0
    assert {verdict.release for verdict in read_verdicts(out)} == {"10 dialogues"}
    assert read_manifest(manifest_path(out))["work"]["log"]["dialogues"] == 10


POLICY = "policy: shop\nclauses:\n  - {id: c, text: A clause., on: refund, before: find}\n"


def test_the_manifest_has_the_policies_and_another_text_is_another_job(
    score: Score, out: Path, write_log: WriteLog
) -> None:
    log, file = write_log(3), out.with_name("shop.yaml")
    what = DetectorConfig(policy=(file,))
    file.write_text(POLICY)
    assert score(log, detector=what) == 0
    assert list(read_manifest(manifest_path(out))["work"]["release"]["policies"]) == ["shop"]
    file.write_text(f"# a comment changes nothing\n{POLICY}")
    assert score(log, detector=what) == 0
    file.write_text(POLICY.replace("before: find", "before: look_up"))
    with pytest.raises(OutputRefused, match="--policy"):
        score(log, detector=what)


@pytest.mark.parametrize("kind", ["text", "jsonl"])
def test_the_first_rejects_are_printed(
    score: Score, write_log: WriteLog, capfd: pytest.CaptureFixture[str], kind: str
) -> None:
    log = write_log(4, extra=("{}",) * 12)
    assert score(log, out=None, format=kind, read=ReadConfig(max_bad=1.0)) == 0
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"{log}:{line}" for line in range(5, 15)]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "xml", "sarif"])
def test_a_log_whose_name_is_no_utf_8_is_scored(
    score: Score, tmp_path: Path, write_log: WriteLog, ending: str
) -> None:
    log, out = write_log(2, extra=("{}",), name="caf\udce9.jsonl"), tmp_path / f"o.{ending}"
    assert score(log, out=out, read=ReadConfig(max_bad=1.0)) == 0
    assert verify_path(out) == 2
    (reject,) = (
        (tmp_path / f"{'o' if ending == 'jsonl' else out.name}.rejects.jsonl").read_text().splitlines()
    )
    assert json.loads(reject)["file"] == str(log)


def test_no_room_for_temporary_files_is_one_line(
    score: Score, write_log: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = write_log(4)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with open(log) as text:
        monkeypatch.setattr("sys.stdin", text)
        with pytest.raises(WorldError, match="No space left on device"):
            score("-", out=None)
