"""The doors for others: packages with entry points, and local files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from marked_dialogues import in_turn

from dialint.app.cli import app as command_line
from dialint.app.scoring.judging import describe_options
from dialint.detector import plugins as doors
from dialint.detector.artifacts import sha256_file
from dialint.detector.checks import Check, load_checks
from dialint.detector.engines.judge_engines import open_judge
from dialint.detector.errors import ConfigError, UserError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, inspect, open_logs, read
from dialint.detector.interface import DetectorConfig
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.masking import mask_text, recognizer_plugins
from dialint.detector.masking.dialogue import load_recognizers
from dialint.detector.pipeline import load_detector
from dialint.detector.plugins import OWN, describe, plugins

CHECK = """
from dialint.detector.checks import Evidence, Hit, check

@check(T1=Evidence({evidence}), languages=("en",))
def shouting(dialogue, context):
    for turn in dialogue.turns:
        if turn.role == "agent" and turn.text.isupper():
            yield Hit(turn.index, 0, len(turn.text), "the agent shouts")
"""


def install(folder: Path, package: str, group: str, *entries: str, code: str = "") -> None:
    """A package as pip leaves it in a folder of `sys.path`."""
    module = package.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("\n".join((f"[{group}]", *entries)) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages, which are importable while the test runs."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    modules = set(sys.modules)
    for cached in (doors._installed, load_checks):
        cached.cache_clear()
    yield folder
    for cached in (doors._installed, load_checks):
        cached.cache_clear()
    for name in set(sys.modules) - modules:
        if name.startswith("acme"):
            del sys.modules[name]


def test_every_own_entry_is_what_it_says() -> None:
    for group in OWN:
        for plugin in plugins(group).values():
            if plugin.is_own:
                plugin.load()
    assert {"misspelt_word", "policy"} <= set(load_checks())
    assert describe(plugins("dialint.checks").values()) == []


@pytest.mark.parametrize("group", OWN)
def test_a_package_opens_every_door(group: str, site: Path) -> None:
    install(site, "acme-lint", group, "acme = acme_lint:hello", code="hello = 'hello'\n")
    plugin = plugins(group)["acme"]
    assert "acme_lint" not in sys.modules  # imported when it is used
    assert plugin.load(str) == "hello"
    assert describe([plugin]) == [{"package": "acme-lint", "version": "1.2"}]


JUDGE = """
class Oracle:
    is_remote, max_prompt_tokens = True, 9000

    def __init__(self, where, config, device, bf16):
        self.name = self.fingerprint = f"{where} {config.judge_language} {device}"

def open_judge(where, config, *, device, bf16):
    return Oracle(where, config, device, bf16)
"""


def test_a_package_offers_a_judge(site: Path) -> None:
    install(site, "acme-lint", "dialint.judges", "oracle = acme_lint:open_judge", code=JUDGE)
    config = JudgeConfig(judge="oracle:delphi:2", judge_language="es")
    assert open_judge(config, device="cpu").name == "delphi:2 es cpu"
    assert describe_options(config)["judge_plugin"] == [{"package": "acme-lint", "version": "1.2"}]
    with pytest.raises(ConfigError, match=r"expected local:FOLDER or http:URL, oracle:\.\.\."):
        JudgeConfig(judge="pythia:x")


def test_a_name_that_two_packages_offer_is_refused_with_both(site: Path) -> None:
    install(site, "acme-lint", "dialint.checks", "insult = acme_lint:hello")
    with pytest.raises(ConfigError, match=r"E_PLUGIN.*dialint and acme-lint both offer insult"):
        plugins("dialint.checks")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("acme_lint:missing", "acme-lint: acme of dialint.checks: cannot import acme_lint:missing: AttributeError"),
        ("acme_nowhere:x", "cannot import acme_nowhere:x: ModuleNotFoundError"),
        ("acme_lint:word", "acme_lint:word is a str, expected a Check"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_refused_by_its_name(entry: str, message: str, site: Path) -> None:
    install(site, "acme-lint", "dialint.checks", f"acme = {entry}", code="word = 'hello'\n")
    with pytest.raises(ConfigError, match=message):
        plugins("dialint.checks")["acme"].load(Check)


@pytest.mark.parametrize(
    ("content", "message"),
    [("x = 1\n", "has no Check at its top level"), ("x = 1 +\n", "SyntaxError"), ("1 / 0\n", "ZeroDivisionError")],
)  # fmt: skip
def test_a_file_that_offers_nothing_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        plugins("dialint.checks", [path], Check)
    with pytest.raises(ConfigError, match="E_PLUGIN"):
        plugins("dialint.checks", [tmp_path / "missing.py"], Check)


TALK = in_turn("Where is my order, please?", "PLEASE READ THE PAGE ABOUT YOUR ORDER.", id="1")


@pytest.mark.parametrize("way", ["package", "file"])
@pytest.mark.parametrize(
    ("evidence", "reported"),
    [("", "suggestions"), ("47, 50", "findings"), ('47, 50, "suggestion"', "suggestions")],
)
def test_a_check_of_others_finds_what_its_record_allows(
    way: str, evidence: str, reported: str, site: Path, tmp_path: Path
) -> None:
    """Without a measured precision it only suggests."""
    own = load_detector(DetectorConfig(scan="off")).fingerprint
    doors._installed.cache_clear()
    config = DetectorConfig(scan="off")
    if way == "package":
        code = CHECK.format(evidence=evidence)
        install(site, "acme-lint", "dialint.checks", "shouting = acme_lint:shouting", code=code)
    else:
        path = tmp_path / "own.py"
        path.write_text(CHECK.format(evidence=evidence))
        config = DetectorConfig(scan="off", check=(path,))
    detector = load_detector(config)
    (verdict,) = detector.verdicts([TALK])
    hits = {
        name: [each for each in getattr(verdict, name) if "shouting" in each.reason]
        for name in ("findings", "suggestions")
    }
    assert [len(reported_hits) for reported_hits in hits.values()] == (
        [1, 0] if reported == "findings" else [0, 1]
    )
    (hit,) = hits[reported]
    assert (hit.code, hit.turn, hit.quote) == ("T1", 1, TALK.turns[1].text)
    assert detector.fingerprint != own


def test_the_manifest_names_the_file_of_a_check_and_another_file_is_another_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, log, out = tmp_path / "own.py", tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    own.write_text(CHECK.format(evidence="47, 50"))
    log.write_text(TALK.model_dump_json() + "\n")

    def score() -> None:
        words = ["score", str(log), "--out", str(out), "--check", str(own), "--scan", "off", "--quiet"]
        assert command_line(words, result_action="return_value") in (0, None)

    score()
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert manifest["work"]["release"]["plugins"] == [{"file": "own.py", "sha256": sha256_file(own)}]
    assert "the agent shouts" in out.read_text()
    capsys.readouterr()
    score()
    assert "done already" in capsys.readouterr().err
    own.write_text(own.read_text() + "# changed\n")
    with pytest.raises(UserError) as refused:
        score()
    assert refused.value.code == "E_OTHER_JOB"


def test_a_check_that_breaks_at_a_dialogue_fails_this_one_and_no_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With processes that judge and without, also where all of a part break."""
    own, log = tmp_path / "own.py", tmp_path / "log.jsonl"
    own.write_text(
        CHECK.format(evidence="47, 50").replace("for turn", "1 / dialogue.id.count('g')\n    for turn")
    )
    names = ["good1", "bad", "good2", "bad2"]
    log.write_text("".join(TALK.model_copy(update={"id": name}).model_dump_json() + "\n" for name in names))
    for seconds in ("60", "0"):
        out = tmp_path / f"{seconds}.jsonl"
        words = ["score", str(log), "--out", str(out), "--check", str(own), "--scan", "off", "--quiet"]
        words += ["--dialogue-seconds", seconds, "--max-failed"]
        assert command_line([*words, "1"], result_action="return_value") in (0, None)
        verdicts = [json.loads(line) for line in out.read_text().splitlines()]
        assert [(one["dialogue_id"], one["status"], one.get("failure")) for one in verdicts] == [
            (name, *(("failed", "E_INTERNAL") if "bad" in name else ("scored", None))) for name in names
        ]
        assert ["the agent shouts" in json.dumps(one) for one in verdicts] == [True, False, True, False]
        messages = capfd.readouterr().err
        assert "dialogue 'bad': E_INTERNAL: ZeroDivisionError at own.py:" in messages


FORMAT = """
from dialint.detector.ingest.log_format import LogFormat, RawDialogue, RawTurn, TextFormat

def read(record, fallback_id):
    yield RawDialogue(fallback_id, [RawTurn(*line) for line in record["acme_log"]])

acme = LogFormat("acme", lambda record: isinstance(record, dict) and "acme_log" in record, read)
fax = TextFormat("fax", lambda text: text.startswith("FAX"), lambda text, name, config: [
    RawDialogue(name, [RawTurn("customer", text)])])
"""


@pytest.mark.parametrize("way", ["package", "file"])
def test_logs_are_read_by_formats_of_others(way: str, site: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    if way == "package":
        doors._installed.cache_clear()
        install(
            site, "acme-logs", "dialint.formats", "acme = acme_logs:acme", "fax = acme_logs:fax", code=FORMAT
        )
        config, origin = ReadConfig(), {"package": "acme-logs", "version": "1.2"}
    else:
        own.write_text(FORMAT)
        config = ReadConfig(format=str(own))
        origin = {"file": "own.py", "sha256": sha256_file(own)}
    assert config.describe()["plugins"] == [origin]
    for name, content in (
        ("a.jsonl", '{"acme_log": [["customer", "Hello"], ["agent", "Hi"]]}\n' * 2),
        ("a.json", '[{"acme_log": [["customer", "Hello"]]}]'),
        ("a.txt", "FAX\nHello"),
    ):
        path = tmp_path / name
        path.write_text(content)
        sources = open_logs([str(path)])
        inspect(sources[0], config)
        outcomes = list(read(sources, config, Counts()))
        assert outcomes
        assert all(isinstance(one, Loaded) and one.dialogue.turns[0].role == "customer" for one in outcomes)


RECOGNIZER = """
import re
from dialint.detector.masking.spans import Entity

def find(view, before):
    for match in re.finditer("acme-[0-9]+", view.low):
        yield Entity(match.start(), match.end(), {kind!r}, match[0])
"""


@pytest.mark.parametrize("kind", ["ACCOUNT", "SHOE"])
def test_a_recognizer_of_others_masks(kind: str, site: Path) -> None:
    install(
        site, "acme-masks", "dialint.recognizers", "acme = acme_masks:find", code=RECOGNIZER.format(kind=kind)
    )
    doors._installed.cache_clear()
    load_recognizers.cache_clear()
    try:
        if kind == "SHOE":
            with pytest.raises(ConfigError, match=r"acme-masks: acme of dialint\.recognizers returns .*SHOE"):
                mask_text("My number is ACME-44.")
        else:
            assert mask_text("My number is ACME-44.").text == "My number is [ACCOUNT_1]."
            assert describe(recognizer_plugins().values()) == [{"package": "acme-masks", "version": "1.2"}]
    finally:
        load_recognizers.cache_clear()
