"""Findings drawn for a person, and the tally of a file that a person filled in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from outputs import finished

from dialint.detector.errors import ConfigError, InputRefused, OutputRefused
from dialint.detector.records import Finding, Verdict
from dialint.eval.spot_check import SampleConfig, count_judgements, sample, sample_findings, tally


@pytest.fixture
def scored(tmp_path: Path) -> tuple[Path, Path]:
    log, verdicts = tmp_path / "log.jsonl", []
    with open(log, "w") as logs:
        for name in ("a", "b", "c"):
            turns = [
                {"role": "customer", "text": "=1 | w"},
                {"role": "agent", "text": f"no, {name}@x.example"},
            ]
            logs.write(json.dumps({"id": name, "turns": turns}) + "\n")
            finding = Finding(
                code="T1", turn=1, severity="S2", probability=0.9, quote="no", start=0, end=2, reason="x"
            )
            verdict = Verdict(
                dialogue_id=name,
                release="r",
                taxonomy="1.0.0",
                status="scored",
                quality=1.0,
                findings=(finding,),
            )
            verdicts.append(verdict)
    return log, finished(tmp_path, verdicts)


@pytest.mark.parametrize("suffix", [".csv", ".md"])
def test_there_and_back(scored: tuple[Path, Path], suffix: str) -> None:
    log, verdicts = scored
    out = log.with_name(f"judged{suffix}")
    sample(verdicts, config=SampleConfig(log=(str(log),), out=out, n=2))
    text = out.read_text()
    assert "@x.example" not in text
    with pytest.raises(InputRefused, match="finding 1"):
        count_judgements(out)
    mark = ',"no","",' if suffix == ".csv" else "| no |  |"
    assert text.count(mark) == 2
    for said in ("right", "wrong"):
        text = text.replace(mark, f',"no","{said}",' if suffix == ".csv" else f"| no | {said} |", 1)
    out.write_text(text)
    assert count_judgements(out) == {"all": {"right": 1, "wrong": 1}, "T1": {"right": 1, "wrong": 1}}
    with pytest.raises(ConfigError):
        sample(verdicts, config=SampleConfig(log=(str(log),), out=out))


def test_a_seed_draws_the_same(scored: tuple[Path, Path]) -> None:
    verdicts = [Verdict.model_validate_json(line) for line in scored[1].read_text().splitlines()]
    assert sample_findings(verdicts, 2, 1) == sample_findings(verdicts, 2, 1)
    assert len(sample_findings(verdicts, 50, 1)) == 3


def test_suggestions_are_drawn_and_tallied_apart(scored: tuple[Path, Path]) -> None:
    log, path = scored
    verdicts = [Verdict.model_validate_json(line) for line in path.read_text().splitlines()]
    (one,) = verdicts[0].findings
    verdicts[0] = verdicts[0].model_copy(update={"findings": (), "suggestions": (one,)})
    assert [kind for _, kind, _ in sample_findings(verdicts, 9, 0)] == ["finding"] * 2
    assert [name for name, _, _ in sample_findings(verdicts, 9, 0, ("suggestion",))] == ["a"]
    for name in ("v", "none"):
        (log.parent / name).mkdir()
    again = finished(log.parent / "v", verdicts)
    out = log.with_name("both.csv")
    sample(again, config=SampleConfig(log=(str(log),), out=out, kind="both"))
    text = out.read_text().replace(',"no","",', ',"no","right",')
    out.write_text(text.replace('"right"', '"wrong"', 1) if '"suggestion"' in text.splitlines()[1] else text)
    counts = count_judgements(out)
    assert (counts["all"].total(), counts["all, suggested"].total()) == (2, 1)
    assert (counts["T1"].total(), counts["T1, suggested"].total()) == (2, 1)
    tally(out)
    without = finished(log.parent / "none", verdicts[1:])
    with pytest.raises(InputRefused, match="holds no suggestion,"):
        sample(without, config=SampleConfig(log=(str(log),), out=log.with_name("n.csv"), kind="suggestion"))


def test_lines_ended_in_any_way_stay_one_row(scored: tuple[Path, Path]) -> None:
    log, verdicts = scored
    log.write_text(log.read_text().replace("=1 | w", "one\\u2028two\\u0085three\\r\\nfour"))
    out = log.with_name("judged.md")
    sample(verdicts, config=SampleConfig(log=(str(log),), out=out, n=3))
    out.write_text(out.read_text().replace("| no |  |", "| no | right |"))
    assert count_judgements(out)["all"] == {"right": 3}


def test_the_markdown_is_inert_and_comes_back(scored: tuple[Path, Path]) -> None:
    from dialint.eval.spot_check import _from_markdown

    hostile = (
        "![x](http://e.example/a) <img src=x> | www.e.example \\\\| `x` \\u202egnp.exe *b* &lt; a@b.example"
    )
    log, verdicts = scored
    log.write_text(log.read_text().replace("=1 | w", hostile))
    out = log.with_name("judged.md")
    sample(verdicts, config=SampleConfig(log=(str(log),), out=out, n=1))
    row = out.read_text().splitlines()[2]
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", row).replace("<br>", "")
    assert set(re.findall(r"[!-/:-@\[-`{-~\u202e]", plain)) == {"|"}, "every mark stands behind a backslash"
    assert plain.count("|") == 12
    context = _from_markdown(out.read_text())[0]["context"]
    said = json.loads(f'"{hostile}"').replace("\u202e", "[U+202E]").replace("a@b.example", "[EMAIL_1]")
    assert context == f"customer: {said}"


def test_what_cannot_be_drawn_or_counted_is_the_users_error(scored: tuple[Path, Path]) -> None:
    log, verdicts = scored
    with pytest.raises(ConfigError, match="--n"):
        SampleConfig(log=(str(log),), out=log, n=-1)
    config = SampleConfig(log=(str(log),), out=log.with_name("judged.md"))
    log.write_text("".join(line + "\n" for line in log.read_text().splitlines()).replace("agent", "customer"))
    made = [Verdict.model_validate_json(line) for line in verdicts.read_text().splitlines()]
    elsewhere = tuple(finding.model_copy(update={"turn": 7}) for finding in made[0].findings)
    finished(log.parent, [verdict.model_copy(update={"findings": elsewhere}) for verdict in made])
    with pytest.raises(ConfigError, match="no turn 7"):
        sample(verdicts, config=config)
    finished(log.parent, [])
    for empty in (lambda: sample(verdicts, config=config), lambda: count_judgements(verdicts)):
        with pytest.raises(InputRefused, match="no finding"):
            empty()
    verdicts.write_text("code,judgement\nT1\rx,right\n" + "x" * 200_000)
    with pytest.raises(InputRefused):
        count_judgements(verdicts)
    with pytest.raises(OutputRefused, match="E_"):  # its bytes are no longer those of its manifest
        sample(verdicts, config=config)
    assert not config.out.exists()
