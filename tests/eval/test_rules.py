"""Previews of new rules: against scoring again, by hand, and 100,000 verdicts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from outputs import finished

from dialint.app.commands.rules import RulesConfig, rules
from dialint.detector.calibration import NaturalThreshold
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.read import Counts, Loaded, open_logs, read
from dialint.detector.overrides import LogContract, Overrides, SourceContract
from dialint.detector.pipeline import load_detector
from dialint.detector.policy import load_policies
from dialint.detector.records import Finding, Verdict
from dialint.detector.release import EMBEDDED, load_coverage
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.rules import HIDDEN, JUDGE, SCALED, UNLISTED, NewRules, RulesPreview, preview_rules

SAMPLE = Path(__file__).parents[2] / "app/sample"
TAXONOMY = load_taxonomy()
CODES = load_coverage(EMBEDDED, TAXONOMY) or {}
ABOUT: dict[str, Any] = {"release": "embedded-7", "taxonomy": TAXONOMY.version, "status": "scored"}


def finding(code: str, proof: str = "", turn: int = 1, probability: float = 0.6) -> Finding:
    reason = f"seen ({proof})." if proof else "seen."
    return Finding(
        code=code, turn=turn, severity=TAXONOMY.codes[code].severity, probability=probability, quote="no",
        start=0, end=2, reason=reason,
    )  # fmt: skip


def verdict(name: str, *findings: Finding, hints: tuple[Finding, ...] = (), **more: Any) -> Verdict:
    return Verdict(
        dialogue_id=name, findings=findings, suggestions=hints, quality=TAXONOMY.quality(findings, None), **ABOUT, **more
    )  # fmt: skip


def preview(overrides: Overrides, *verdicts: Verdict, **more: Any) -> RulesPreview:
    return preview_rules(TAXONOMY, NewRules(TAXONOMY, CODES, overrides), verdicts, **more)


def changed(result: RulesPreview) -> dict[str, tuple[list[int], list[int]]]:
    return {code: (one.findings, one.suggestions) for code, one in result.codes.items() if one.is_change}


CHECKED = "exact check 'misspelt_word', no model: x"
NONE = Overrides()
DEMOTED = Overrides(release="embedded-7", demoted={"L1": "seldom right"})
LOWER = Overrides(release="embedded-7", thresholds={"C1": 0.3, "I2": 0.4})


def test_a_demotion_takes_accusations_back_and_its_end_returns_them() -> None:
    before = verdict("a", finding("L1", CHECKED), agent="ada")
    there = preview(DEMOTED, before)
    assert changed(there) == {"L1": ([1, 0], [0, 1])}
    assert (there.flagged, there.mean) == ([1, 0], (92.0, 100.0))
    (change,) = there.changes
    assert (change.dialogue, change.lost, change.gained) == ("a", ((1, "L1"),), ())
    codes = {"L1": {"check": SourceContract(threshold=0.5, right=40, n=40)}}
    contract = LogContract(precision=0.9, confidence=0.95, log="0", judged_on=date(2026, 11, 29), codes=codes)
    both = verdict("a", finding("L1", CHECKED), finding("L2", CHECKED))
    assert changed(preview(Overrides(release="embedded-7", contract=contract), both)) == {
        "L2": ([1, 0], [0, 1])
    }
    hint = finding("L1", f"{CHECKED}) (demoted: people confirmed 3 of 20 findings")
    assert changed(preview(NONE, verdict("a", hints=(hint,)))) == {"L1": ([0, 1], [1, 0])}


def test_a_threshold_needs_all_probabilities_to_suggest_more() -> None:
    """By hand: C1 at .35 and .5 becomes a suggestion, .29 does not; I2 counts only where tools are logged."""
    table = {1: {"C1": 0.35, "I2": 0.45}, 3: {"C1": 0.29}, 5: {"C1": 0.5}}
    result = preview(LOWER, verdict("a", probabilities=table), verdict("b"))
    assert changed(result) == {"C1": ([0, 0], [0, 2])}
    assert result.undecided[UNLISTED] == 1
    assert not result.changes, "suggestions are no change of a verdict's findings"
    below = finding("C1", "demoted: below the contract", probability=0.35)
    assert changed(preview(NONE, verdict("a", hints=(below,)))) == {"C1": ([0, 0], [1, 0])}


def test_what_cannot_be_decided_again_stays_and_is_counted() -> None:
    judged = finding("C2", "judge 'qwen'")
    assert preview(DEMOTED, verdict("a", judged)).undecided == {JUDGE: 1}
    scaled = finding("C1", "demoted: below the contract")
    assert preview(LOWER, verdict("a", hints=(scaled,), overrides="0" * 64)).undecided[SCALED] == 1


def test_a_code_of_another_meaning_asks_for_its_gold_to_be_read_again() -> None:
    content = TAXONOMY.model_dump(mode="json")
    for category in content["categories"]:
        for code in category["codes"]:
            code["definition"] = "Another." if code["code"] == "L1" else code["definition"]
    content["categories"] = [each for each in content["categories"] if each["code"] != "C"]
    after = NewRules(type(TAXONOMY).model_validate_json(json.dumps(content)))
    result = preview_rules(TAXONOMY, after, [verdict("a", finding("C1"))], gold=["L1", "C1", "T1"])
    assert result.stale_gold == 2
    assert (result.codes["C1"].findings, result.mean) == ([1, 0], (75.0, 100.0))


@pytest.mark.slow
def test_deciding_again_is_scoring_again() -> None:
    """The sample with a release whose scan may accuse, under three files of overrides and with policies."""
    wanted = ("travel-03", "bank-03", "bank-10", "telecom-03", "retail-02", "retail-05")
    logs = read(open_logs([str(SAMPLE / "dialogues.jsonl")]), ReadConfig(), Counts())
    dialogues = [item.dialogue for item in logs if isinstance(item, Loaded) and item.dialogue.id in wanted]
    natural = NaturalThreshold(threshold=0.3, flagged=9, right=8, n_errors=9, n_turns=99)
    detector = load_detector()
    codes = dict(detector.info.codes)
    for code in ("C1", "U2", "T2", "M3", "R1"):
        how = codes[code]
        assert how.scan is not None
        scan = how.scan.model_copy(update={"natural": natural, "suggest_at": 0.15})
        codes[code] = how.model_copy(update={"scan": scan})
    info = detector.info.model_copy(update={"codes": codes})
    detector = detector.copy(info=info, trust_domain=True)
    files = (
        NONE,
        Overrides(release="embedded-7", demoted={"L1": "no", "C1": "no"}, thresholds={"U2": 0.6, "T2": 0.9}),
        Overrides(release="embedded-7", demoted={"V2": "no"}, thresholds={"C1": 0.05, "M3": 0.5, "R1": 0.1}),
    )
    scored = [detector.copy(overrides=each).verdicts(dialogues, all_probabilities=True) for each in files]
    assert scored[0] != scored[1] != scored[2]
    policies = load_policies(tuple(sorted((SAMPLE / "policies").glob("*.yaml"))))
    by_policy = detector.copy(policies=policies).verdicts(dialogues)
    by_id = {each.id: each for each in dialogues}
    for before in scored:
        for overrides, after in zip(files, scored, strict=True):
            check_same(before, after, NewRules(TAXONOMY, codes, overrides))
    check_same(scored[0], by_policy, NewRules(TAXONOMY, codes, policies=policies), dialogues=by_id)


def check_same(before: list[Verdict], after: list[Verdict], new: NewRules, **more: Any) -> None:
    """The preview of each verdict counts what scoring made; a check may hide what the scan is surer of."""
    for old, made in zip(before, after, strict=True):
        result = preview_rules(TAXONOMY, new, [old], **more)
        counts = [0, 0]
        for one in result.codes.values():
            counts = [counts[0] + one.findings[1], counts[1] + one.suggestions[1]]
        hidden = result.undecided[HIDDEN]
        assert sum(counts) == len(made.findings) + len(made.suggestions), made.dialogue_id
        assert abs(counts[0] - len(made.findings)) <= hidden, made.dialogue_id


def test_the_command_reads_files_and_reports_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = finished(tmp_path, [verdict("a", finding("L1", CHECKED), agent="ada"), verdict("b")])
    overrides, out = tmp_path / "o.yaml", tmp_path / "o.json"
    overrides.write_text("release: embedded-7\ndemoted: {L1: seldom right}\n")
    rules(file, config=RulesConfig(overrides=overrides, out=out))
    output = capsys.readouterr().out
    assert "2 verdicts read, 1 would change" in output
    assert [each["dialogue"] for each in json.loads(out.read_text())["changes"]] == ["a"]
    with pytest.raises(ConfigError, match="name new rules"):
        RulesConfig()
    with pytest.raises(ConfigError, match="belong together"):
        RulesConfig(policy=(SAMPLE / "policies/retail.yaml",))
    overrides.write_text("release: other\ndemoted: {L1: seldom right}\n")
    with pytest.raises(ReleaseRefused, match="made for other, and this is embedded-7"):
        rules(file, config=RulesConfig(overrides=overrides))
    overrides.write_text("release: embedded-7\nthresholds: {E2: .5}\n")
    with pytest.raises(ConfigError, match="does not look for E2"):
        rules(file, config=RulesConfig(overrides=overrides))
    new = tmp_path / "t.yaml"
    new.write_text((Path("detector/taxonomy.yaml")).read_text().replace("version: 1.2.0", "version: 1.2.9"))
    with pytest.raises(ConfigError, match=r"made with taxonomy 1\.2\.0, not 1\.2\.9; --before"):
        rules(file, config=RulesConfig(taxonomy=new, before=new))


@pytest.mark.slow
def test_a_hundred_thousand_verdicts_are_read_once_without_a_model(tmp_path: Path) -> None:
    """With all probabilities, as they take longest: 15 s of one core (2026-11-29)."""
    table = {turn: dict.fromkeys(CODES, 0.01) | {"C1": 0.35} for turn in (1, 3, 5)}
    one = verdict("a", finding("L1", CHECKED), probabilities=table)
    many = [one.model_copy(update={"dialogue_id": f"d{number}"}) for number in range(100_000)]
    both = Overrides(release="embedded-7", demoted=DEMOTED.demoted, thresholds={"C1": 0.3})
    (tmp_path / "o.yaml").write_text(
        f"release: embedded-7\ndemoted: {both.demoted}\nthresholds: {both.thresholds}\n"
    )
    out = tmp_path / "o.json"
    rules(finished(tmp_path, many), config=RulesConfig(overrides=tmp_path / "o.yaml", out=out))
    report = json.loads(out.read_text())
    assert (report["verdicts"], len(report["changes"])) == (100_000, 100_000)
    assert report["codes"]["C1"]["suggestions"] == [0, 300_000]
