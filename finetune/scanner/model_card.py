"""The model card of a scanner release, written from its own figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dialint.detector.calibration import POLICY_CHECK
from dialint.detector.checks import load_checks
from dialint.detector.languages import language_name
from dialint.detector.release import ReleaseInfo
from dialint.detector.statistics import round_interval
from dialint.detector.taxonomy import Taxonomy
from dialint.finetune.train.lineage import render_template

SETS = {
    "test": "dialogues never trained on",
    "dev_natural": "real dialogues never trained on, nothing injected, with the errors that a language model "
    "read in them",
    "test_natural_sgd": "the same of a corpus never trained on (SGD)",
}
INJECTED = "injected-examples"
"""Kind of a folder of `dialint data inject`."""
CARD, COVERAGE = (Path(__file__).with_name(f"{name}.md.jinja") for name in ("MODEL_CARD", "coverage"))


def model_card(info: ReleaseInfo, taxonomy: Taxonomy, examples: dict[str, Any]) -> str:
    """Renders the card: description, coverage, data and licences, figures with 95 % intervals, limits.

    `examples` is the manifest of the training examples.
    """
    return render_template(
        CARD,
        info=info,
        taxonomy=taxonomy,
        examples=examples,
        injected=INJECTED
        in (examples.get("kind"), *(each.get("kind") for each in examples.get("folders", ()))),
        were_read=any(source["name"].endswith(", read") for source in examples.get("sources", ())),
        coverage=coverage(info, taxonomy),
        sets=SETS,
        interval=_with_interval,
        sliced=lambda row: _with_interval({"x": row[0], "x_95": row[1:]}, "x"),
        number=_format,
    )


def coverage(info: ReleaseInfo, taxonomy: Taxonomy) -> str:
    """Renders the section on covered codes, by scan or check, and those that are not."""
    return render_template(
        COVERAGE,
        info=info,
        taxonomy=taxonomy,
        left=[code for code in taxonomy.codes if code not in info.covered],
        checks=load_checks(),
        policy_check=POLICY_CHECK,
        names=lambda languages: map(language_name, languages),
    )


def _with_interval(figures: dict[str, Any], name: str) -> str:
    """Formats a figure with its 95 % interval, if it has one."""
    low, high = figures[f"{name}_95"]
    if low is None:
        return _format(figures[name])
    low, high = round_interval(low, high, 2)
    return f"{_format(figures[name])} ({low:.2f} to {high:.2f})"


def _format(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
