"""Plans of large jobs: the arithmetic by hand, what each line rests on, and the mistakes of a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialint.detector.errors import ConfigError
from dialint.eval.plan import PlanConfig, Step, count_prompt_tokens, parse_size, plan, plan_steps
from dialint.eval.throughput import load_throughput

FIGURES = load_throughput()


def steps_of(**options: Any) -> list[Step]:
    return plan_steps(PlanConfig(**options), FIGURES)


def test_the_embedded_scan_goes_by_its_measured_rate() -> None:
    (scan,) = steps_of(dialogues=5e6, tokens=600, cores=8)
    rate = FIGURES.measurements[0].tokens_per_second
    assert scan.hours is not None
    assert scan.hours == pytest.approx([5e6 * 600 / rate / 3600 / 8] * 3)
    assert (scan.basis, scan.cost) == ("measured", None)
    assert str(FIGURES.measurements[0].date) in scan.formula


def test_a_judge_is_estimated_by_its_arithmetic() -> None:
    _, judge = steps_of(
        dialogues=1e6, tokens=500, judge="4B", gpu="H200", flagged=0.5, questions=2, screens=0, gpu_price=3
    )
    # half a million dialogues of 500 tokens once, and a million questions of 200 tokens with answers of 80
    reading_s = 2 * 4e9 * (5e5 * 500 + 1e6 * 200) / (790e12 * 0.4)
    writing_s = 2 * 4e9 * (1e6 * 80) / (790e12 * 0.1)
    assert judge.unit_hours is not None
    assert judge.unit_hours[1] == pytest.approx((reading_s + writing_s) / 3600)
    assert judge.unit_hours[0] < judge.unit_hours[1] < judge.unit_hours[2]
    assert judge.cost is not None
    assert judge.cost[1] == pytest.approx(3 * judge.unit_hours[1])
    assert (judge.basis, judge.units) == ("estimate", 1)


def test_a_data_sheet_is_not_taken_at_its_word() -> None:
    (on_sheet,) = steps_of(dialogues=1e6, scan="0.6B", gpu="h100")
    (measured,) = steps_of(dialogues=1e6, scan="0.6B", gpu="h200")
    assert on_sheet.unit_hours == pytest.approx(measured.unit_hours, rel=0.01)  # .8 of 989, and 790


def test_prefix_caching_computes_a_dialogue_once() -> None:
    options: dict[str, Any] = {"dialogues": 1000.0, "tokens": 100.0, "judge": "1B", "questions": 4}
    details = PlanConfig(**options, flagged=1, screens=0)
    sent, computed = count_prompt_tokens(details, FIGURES.assumptions)
    assert sent == 1000 * 4 * (100 + 65 + 200)
    assert computed == 1000 * (100 + 4 * 200)
    uncached = PlanConfig(**options, flagged=1, screens=0, prefix_caching=False)
    assert count_prompt_tokens(uncached, FIGURES.assumptions) == (sent, sent)
    both = PlanConfig(**options, flagged=0.1, screens=2)  # once for screens, once where there are details
    computed = count_prompt_tokens(both, FIGURES.assumptions)[1]
    assert computed == pytest.approx(1000 * (1.1 * 100 + 2 * 600 + 0.4 * 200))


def test_gpus_for_a_deadline() -> None:
    options: dict[str, Any] = {"dialogues": 5e6, "tokens": 600, "judge": "4B", "gpu": "h200", "screens": 4}
    scan, judge = steps_of(**options, cores=64, hours=24)
    assert scan.hours is not None
    assert judge.hours is not None
    assert judge.unit_hours is not None
    assert scan.hours[1] + judge.hours[1] <= 24
    assert scan.hours[1] + judge.unit_hours[1] / (judge.units - 1) > 24
    with pytest.raises(ConfigError, match="the scan alone takes"):
        steps_of(**options, cores=1, hours=24)


def test_own_measurements_replace_rates() -> None:
    scan, judge = steps_of(
        dialogues=3.6e6,
        judge="4B",
        gpu="h200",
        questions=1,
        flagged=1,
        screens=0,
        throughput=100,
        scan_throughput=10,
    )
    assert scan.unit_hours == pytest.approx((100, 100, 100))
    assert judge.unit_hours == pytest.approx((10, 10, 10))
    assert (scan.basis, judge.basis) == ("given", "given")


def test_a_hosted_judge_costs_its_tokens() -> None:
    (judge,) = steps_of(
        dialogues=1e6,
        tokens=100,
        scan="none",
        judge="30B",
        token_price=(0.5, 2.0),
        questions=1,
        flagged=1,
        screens=0,
    )
    assert judge.cost is not None
    assert judge.cost[1] == pytest.approx(0.5 * (100 + 65 + 200) + 2 * 80)  # of a dialogue, in millionths
    assert (judge.device, judge.hours) == ("hosted", None)


def test_the_command_prints_formula_and_basis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.json"
    plan(config=PlanConfig(dialogues=5e6, tokens=600, judge="4B", gpu="h200", gpu_price=3, out=out))
    printed = capsys.readouterr().out
    assert "2 x 4e+09 parameters" in printed
    assert "measured" in printed
    assert "estimate: not measured on this GPU" in printed
    report = json.loads(out.read_text())
    assert [step["basis"] for step in report["steps"]] == ["measured", "estimate"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialogues": 0}, "--dialogues: expected at least 1"),
        ({"judge": "four"}, "--judge: expected a size such as 4B"),
        ({"judge": "4B"}, "--gpu is needed"),
        ({"judge": "4B", "gpu": "tpu"}, "expected one of h200"),
        ({"judge": "80B", "gpu": "h100"}, "do not fit"),
        ({"judge": "4B", "gpu": "h200", "questions": 0, "screens": 0}, "asked nothing"),
        ({"scan": "none"}, "--scan none needs --judge"),
        ({"throughput": 3}, "name --judge"),
        ({"token_price": (1, 1)}, "--token-price"),
        ({"out": Path("/nowhere/plan.json")}, "no file can be written there"),
    ],
)
def test_mistakes_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan(config=PlanConfig(**{"dialogues": 1e6, **options}))


def test_sizes() -> None:
    assert [parse_size(text, "--judge") for text in ("4B", "600M", "0.6b")] == [4e9, 6e8, 6e8]
    for wrong in ("", "B", "-4B", "nanB", "4"):
        with pytest.raises(ConfigError):
            parse_size(wrong, "--judge")
