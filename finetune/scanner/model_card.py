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
CARD = Path(__file__).with_name("MODEL_CARD.md.jinja")


def model_card(info: ReleaseInfo, taxonomy: Taxonomy, examples: dict[str, Any]) -> str:
    """Markdown: description, coverage, data and licences, figures with 95 % intervals, limits.

    `examples` is the manifest of the examples it was trained on.
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
        number=_format,
    )


def coverage(info: ReleaseInfo, taxonomy: Taxonomy) -> str:
    """The section on what the release covers, how, and what it does not."""
    left = [code for code in taxonomy.codes if code not in info.covered]
    parts = ["## What it covers\n", *(_coverage(info, taxonomy, code) for code in info.covered), ""]
    if left:
        parts += [
            f"**Not covered by this release:** {' '.join(left)}. Their absence from a verdict says nothing.\n"
        ]
    if info.domain is not None:
        parts += [
            f"A log of which {info.domain.far_from:.0%} of the word pairs are new to the release, which "
            f"knows those of {info.domain.n_dialogues:,} dialogues, is far from it: there its scan only "
            "suggests, and exact checks accuse as elsewhere.\n"
        ]
    return "\n".join(parts)


def _coverage(info: ReleaseInfo, taxonomy: Taxonomy, code: str) -> str:
    how = info.codes[code]
    words = [f"- **{code}** {taxonomy.codes[code].name.en}:"]
    for check in how.checks:
        languages = load_checks()[check.name].languages
        where = f" in {', '.join(map(language_name, languages))}" if languages else ""
        lines = ", in other languages than English on made-up lines" if len(languages) > 1 else ""
        right = f"(right in {check.precision:.0%} of its hits{lines})"
        suggests = ", suggestions only" if check.report == "suggestion" else ""
        words.append(f"exact check `{check.name}`{where} {right}{suggests};")
    if how.scan is not None and how.scan.contract is not None:
        contract = how.scan.contract
        words.append(
            f"scan, flagged from probability {contract.threshold:.2f}: at most "
            f"{contract.false_accusations_per_100:g} false accusations per 100 clean {contract.per}s with "
            f"confidence {contract.confidence:.0%}, measured on {contract.n_clean} clean {contract.per}s"
        )
        words.append(f"in {' and '.join(map(language_name, how.scan.languages))}")
    elif how.scan is not None and how.scan.natural is not None:
        words.append(f"scan, flagged from probability {how.scan.natural.threshold:.2f}")
    elif how.scan is not None and how.scan.suggest_at is not None:
        words.append(f"scan, suggestions only, from probability {how.scan.suggest_at:.2f}")
    elif how.scan is not None:
        words.append("scan as probability only, no threshold kept the wanted rate")
    is_flagged = how.scan is not None and how.scan.threshold is not None
    if is_flagged and any(check.name == POLICY_CHECK for check in how.checks):
        words.append("where a policy with rules for the code applies, elsewhere a suggestion")
    if how.scan is not None and how.scan.natural is not None:
        natural = how.scan.natural
        words.append(
            f"- on real dialogues {natural.right} of {natural.flagged} flagged turns have the error from "
            f"probability {natural.threshold:.2f} on, of all turns {natural.n_errors} of {natural.n_turns}"
        )
    return " ".join(words)


def _with_interval(figures: dict[str, Any], name: str) -> str:
    """A figure with its 95 % interval, where it has one."""
    low, high = figures[f"{name}_95"]
    if low is None:
        return _format(figures[name])
    low, high = round_interval(low, high, 2)
    return f"{_format(figures[name])} ({low:.2f} to {high:.2f})"


def _format(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
