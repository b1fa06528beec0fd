"""A pytest plugin for builders of bots: a test fails if the bot makes an error.

    from dialint.testing import assert_no_errors

    def test_refund(bot):
        messages = bot.talk("I want my money back for order 1042.")  # [{"role": ..., "content": ...}, ...]
        assert_no_errors(messages, fail_on="S2")

pytest loads this module in every project where dialint is installed, so the rest of dialint and other
libraries are imported only when a test asserts something or names a log.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

if TYPE_CHECKING:
    from dialint.app.scoring.options import ScoreConfig
    from dialint.detector.interface import Detector
    from dialint.detector.log_profile import LogProfile
    from dialint.detector.records import Dialogue, Finding, Severity, Verdict

__all__ = ["assert_no_errors"]

Asserted: TypeAlias = "Dialogue | str | os.PathLike[str] | Mapping[str, Any] | Sequence[Any]"


def assert_no_errors(dialogue: Asserted, fail_on: Severity = "S2") -> None:
    """Fails if `dialint score` has a finding at least as severe as `fail_on`, or if not all was judged.

    `dialogue` is a list of messages (OpenAI's format with `tool_calls`, dictionaries or the objects of a
    client library), a list of finished spans, one record of any supported log format, a `Dialogue`, or the
    path of a log or of traces. Messages, spans and records of a bot are assumed to hold all tool calls: an
    action that the bot claims without one is an error. Logs of a path are treated as by `dialint score`.

    Raises:
        AssertionError: lists each error with turn, severity, code, quote and reason, except those in the file
            of ``--dialint-baseline``.
        DialintError: the dialogue cannot be read, or the ini option ``dialint_options`` is invalid.
    """
    __tracebackhide__ = True
    if fail_on not in ("S1", "S2", "S3", "S4"):
        raise ValueError(f"fail_on={fail_on!r}: expected S1, S2, S3 or S4")
    session = _sessions[-1] if _sessions else _Session()
    problems: list[str] = []
    heads: list[str] = []  # for the line of pytest's short summary
    n_accepted = 0
    for verdict in _score(dialogue, session):
        errors = [finding for finding in verdict.findings if finding.severity <= fail_on]
        if session.baseline is not None and session.item is not None:
            new = session.baseline.select_new(session.item, verdict.dialogue_id, errors)
            errors, n_accepted = new, n_accepted + len(errors) - len(new)
        heads += [f"{error.code} in turn {error.turn}" for error in errors]
        problems += _describe(verdict, errors)
    if problems:
        if n_accepted:
            problems.append(f"{n_accepted} known to the baseline, not shown")
        if heads:
            name = session.baseline.name if session.baseline is not None else "FILE"
            problems.append(f"to accept it: pytest --dialint-baseline {name} --dialint-baseline-update")
        head = f"{', '.join(heads) or 'not judged'} ({fail_on} or worse fails)"
        raise AssertionError("\n".join([head, *problems]))


def _describe(verdict: Verdict, errors: Sequence[Finding]) -> Iterator[str]:
    from dialint.app.scoring.reports import finding_lines, visible
    from dialint.detector.languages import describe_gaps
    from dialint.detector.taxonomy import load_taxonomy

    if errors or verdict.quality is None:
        yield visible(verdict.dialogue_id)
    if verdict.quality is None:
        yield f"  not judged as a whole: {verdict.failure or describe_gaps(verdict)}"
        if verdict.failure is None:
            yield "  pytest's ini option dialint_options = --codes V2,M2 asks for these codes only"
    for finding in errors:
        yield from finding_lines(finding, load_taxonomy())


@cache
def _load(options: tuple[str, ...], folder: Path) -> tuple[ScoreConfig, Detector]:
    """Loads the detector for options of `dialint score`, with paths relative to `folder`; cached."""
    from cyclopts import CycloptsError

    from dialint.app.cli import app
    from dialint.app.scoring.judging import judged_detector
    from dialint.app.scoring.options import ScoreConfig
    from dialint.app.scoring.run import resolve_scan
    from dialint.detector.engines.judge_engines import open_judge
    from dialint.detector.errors import ConfigError
    from dialint.detector.option_ranges import format_usage_error
    from dialint.detector.pipeline import load_detector

    with contextlib.chdir(folder):
        try:
            _, bound, _ = app.parse_args(["score", *options], print_error=False, exit_on_error=False)
        except CycloptsError as error:
            format_usage_error(error)
        config = bound.arguments.get("config", ScoreConfig())
        if logs := bound.arguments.get("logs") or ("config" not in bound.arguments and options):
            raise ConfigError("E_OPTION", f"dialint_options: {logs[0]} is no option of dialint score")
        if config.fail_on or config.limit or config.out:
            name = "fail-on" if config.fail_on else "limit" if config.limit else "out"
            problem = f"dialint_options: --{name} changes no test; assert_no_errors takes fail_on"
            raise ConfigError("E_OPTION", problem)
        # A report without suggestions: a scan that only suggests is not loaded.
        config = resolve_scan(replace(config, out=Path("report.xml")))
        detector: Detector = load_detector(config.detector)
        if config.judge.judge is not None:
            detector = judged_detector(detector, open_judge(config.judge), config)
        return config, detector


def _score(dialogue: Asserted, session: _Session) -> list[Verdict]:
    from dialint.app.scoring.run import select_reported
    from dialint.detector.log_profile import LOGGED, profile_log
    from dialint.detector.records import Dialogue

    config, detector = _load(session.options, session.folder)
    is_path = isinstance(dialogue, str | os.PathLike)
    dialogues = [dialogue] if isinstance(dialogue, Dialogue) else list(_read(dialogue, config))
    _, log = session.profiles.get(id(dialogue), (None, None))
    if log is None:
        has_bot = any(turn.role in ("bot", "tool") for each in dialogues for turn in each.turns)
        domain = None if detector.info is None else detector.info.domain
        log = LOGGED if has_bot and not is_path else profile_log(dialogues, domain)
    verdicts = detector.with_log(log).verdicts(dialogues)
    taxonomy, needs_policy = detector.taxonomy, bool(config.detector.policy)
    codes = frozenset(taxonomy.select_codes(config.codes))
    return [select_reported(each, codes, taxonomy, needs_policy=needs_policy) for each in verdicts]


def _read(dialogue: Any, config: ScoreConfig) -> Iterator[Dialogue]:
    """Yields the dialogues of a path, a record, messages or spans.

    Raises:
        InputRefused: there is none, or one cannot be read.
    """
    from dialint.detector.errors import InputRefused
    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import open_logs, read
    from dialint.detector.ingest.sources import spool

    how = replace(config.read, max_bad=1.0)
    if isinstance(dialogue, str | os.PathLike):
        sources = open_logs([os.fspath(dialogue)])
    else:
        records, format = _as_records(dialogue)
        how = replace(how, format=format or how.format)
        lines = [json.dumps(record, default=_as_json).encode() + b"\n" for record in records]
        sources = [spool("dialogue", "dialogue", lambda file: file.writelines(lines))]
    for outcome in read(sources, how, Counts()):
        if not isinstance(outcome, Loaded):
            raise InputRefused(
                outcome.code, "{file}, line {line}, {path}: found {found}; expected {expected}",
                file=outcome.file, line=outcome.line, path=outcome.path or "record",
                found=outcome.found, expected=outcome.expected,
            )  # fmt: skip
        yield outcome.dialogue


def _as_records(dialogue: Any) -> tuple[list[Any], str | None]:
    """Returns the records of a record, of spans, messages or turns, and their format if that is known."""
    if isinstance(dialogue, Mapping):
        return [dialogue], None
    if hasattr(dialogue, "model_dump") or not isinstance(dialogue, Iterable):
        return [_as_json(dialogue)], None
    items = list(dialogue)
    if any(hasattr(each, "get_span_context") for each in items):
        return [json.loads(each.to_json()) for each in items], None
    if items and isinstance(items[0], Mapping) and "text" in items[0]:
        return [{"id": "messages", "turns": items}], "canonical"
    return [{"id": "messages", "messages": items}], "openai"


def _as_json(message: Any) -> Any:
    """Serialises a message of a client library: OpenAI's, Anthropic's and LangChain's are pydantic models."""
    if hasattr(message, "model_dump"):
        return message.model_dump(mode="json", exclude_none=True)
    raise TypeError(f"a {type(message).__name__} is no message: expected dictionaries with role and content")


class BaselineEntry(NamedTuple):
    """A finding in a baseline, a line of JSON, identified by all but its severity and turn. No pydantic
    model, whose import would slow every start of pytest."""

    test: str
    dialogue: str
    code: str
    quote: str
    severity: str
    turn: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self[:4]


@dataclass
class Baseline:
    """The findings that a team has accepted, by test. A plugin that gets the reports of all tests, also from
    the processes of pytest-xdist."""

    name: str
    path: Path
    is_updated: bool
    accepted: dict[str, list[BaselineEntry]]
    results: dict[str, list[BaselineEntry]] = field(default_factory=dict)
    """Findings of the tests that passed."""
    unmatched: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """The accepted findings that the running test has not had yet."""

    def select_new(self, item: pytest.Item, dialogue: str, errors: Iterable[Finding]) -> list[Finding]:
        """Records all errors; returns those that are not in the file, none if it is updated."""
        from dialint.app.commands.diff import quote_words

        new, entries = [], item.stash.setdefault(_ENTRIES, [])
        if not entries:
            self.unmatched = Counter(entry.key for entry in self.accepted.get(item.nodeid, ()))
        for error in errors:
            quote = hashlib.sha256(quote_words(error.quote).encode()).hexdigest()[:16]
            entry = BaselineEntry(item.nodeid, dialogue, error.code, quote, error.severity, error.turn)
            entries.append(entry)
            self.unmatched[entry.key] -= 1
            if not self.is_updated and self.unmatched[entry.key] < 0:
                new.append(error)
        return new

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call":
            report.__dict__[_NAME] = [list(entry) for entry in item.stash.get(_ENTRIES, ())]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.results[report.nodeid] = [BaselineEntry(*entry) for entry in getattr(report, _NAME, ())]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_updated and not hasattr(session.config, "workerinput"):
            after = {**self.accepted, **self.results}
            lines = [json.dumps(each._asdict(), ensure_ascii=False) for each in sorted(_flat(after))]
            temporary = self.path.with_name(f"{self.path.name}.tmp")  # a killed run leaves the old file
            temporary.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            temporary.replace(self.path)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Lists the findings that are new in the file, and those that no passed test has any more."""
        before = {test: entries for test, entries in self.accepted.items() if test in self.results}
        old, now = (Counter(each.key for each in _flat(side)) for side in (before, self.results))
        changes = {"accepted": now - old, "gone": old - now} if self.is_updated else {"gone": old - now}
        if any(changes.values()):
            terminalreporter.section(f"dialint baseline {self.name}", "-")
        for name, entries in changes.items():
            for test, dialogue, code, quote in sorted(entries.elements()):
                terminalreporter.line(f"{name}: {test} {dialogue} {code} {quote}")
        if changes["gone"] and not self.is_updated:
            terminalreporter.line("--dialint-baseline-update removes what is gone")


def _flat(by_test: Mapping[str, Iterable[BaselineEntry]]) -> list[BaselineEntry]:
    return [entry for entries in by_test.values() for entry in entries]


def _read_baseline(path: Path) -> dict[str, list[BaselineEntry]]:
    accepted: dict[str, list[BaselineEntry]] = defaultdict(list)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise pytest.UsageError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            entry: BaselineEntry | None = BaselineEntry(**json.loads(line))
        except (TypeError, ValueError, RecursionError):
            entry = None
        if entry is None or [type(each) for each in entry] != [str] * 5 + [int]:
            raise pytest.UsageError(f"{path}, line {number}: no line of a baseline")
        accepted[entry.test].append(entry)
    return accepted


@dataclass
class _Session:
    """A run of pytest; the defaults are for assertions outside of one."""

    options: tuple[str, ...] = ()
    folder: Path = field(default_factory=Path.cwd)
    baseline: Baseline | None = None
    item: pytest.Item | None = None
    profiles: dict[int, tuple[Dialogue, LogProfile]] = field(default_factory=dict)
    """Each `logged_dialogue` and its log's profile by `id()`, which stays unique as it is stored here."""


_sessions: list[_Session] = []
"""A stack: a test may run pytest in its process."""
_ENTRIES, _NAME = pytest.StashKey[list[BaselineEntry]](), "dialint_entries"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dialint")
    group.addoption(
        "--dialint-baseline",
        metavar="FILE",
        help="assert_no_errors fails on findings only that are not in this file (from the rootdir)",
    )
    group.addoption(
        "--dialint-baseline-update",
        action="store_true",
        help="write what assert_no_errors finds to the baseline; tests that did not pass keep their entries",
    )
    parser.addini(
        "dialint_options",
        "options of dialint score by which assert_no_errors judges, such as --policy FILE (from the rootdir)",
        type="args",
        default=[],
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "dialint_logs(*paths): logs or traces; a test with logged_dialogue runs once for each dialogue",
    )
    name, is_updated = config.getoption("dialint_baseline"), config.getoption("dialint_baseline_update")
    baseline = None
    if name is None and is_updated:
        raise pytest.UsageError("--dialint-baseline-update needs --dialint-baseline FILE")
    if name is not None:
        path = config.rootpath / name
        if not path.parent.is_dir():
            raise pytest.UsageError(f"{path.parent}: no such folder")
        if not path.exists() and not is_updated:
            raise pytest.UsageError(f"{path}: no such baseline; --dialint-baseline-update writes it")
        baseline = Baseline(name, path, is_updated, _read_baseline(path) if path.exists() else {})
        config.pluginmanager.register(baseline, "dialint-baseline")
    _sessions.append(_Session(tuple(config.getini("dialint_options")), config.rootpath, baseline))


def pytest_unconfigure() -> None:
    if _sessions:
        _sessions.pop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _sessions[-1].item = item
    item.stash[_ENTRIES] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises a test by the dialogues of its logs."""
    if "logged_dialogue" not in metafunc.fixturenames:
        return
    from dialint.detector.log_profile import profile_log

    mark = metafunc.definition.get_closest_marker("dialint_logs")
    if mark is None or not mark.args:
        pytest.fail("logged_dialogue needs @pytest.mark.dialint_logs(LOG, ...)", pytrace=False)
    session = _sessions[-1]
    config, detector = _load(session.options, session.folder)
    with contextlib.chdir(session.folder):  # the folder's name may have characters of patterns
        dialogues = [each for path in mark.args for each in _read(path, config)]
    log = profile_log(dialogues, None if detector.info is None else detector.info.domain)
    session.profiles |= {id(each): (each, log) for each in dialogues}
    metafunc.parametrize("logged_dialogue", dialogues, ids=[each.id for each in dialogues])
