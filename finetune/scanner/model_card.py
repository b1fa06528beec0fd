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

SETS = {
    "test_seen": "dialogues never trained on, error families of training",
    "test_unseen": "dialogues never trained on, error families of the exam, by an author apart "
    "(P1's and P4's by the author of training)",
    "test_domain": "a corpus never trained on (SGD), error families of the exam",
    "clean_star": "real STAR dialogues never trained on, nothing injected",
    "clean_multiwoz": "real MultiWOZ dialogues never trained on, nothing injected",
    "clean_toy": "toy dialogues never trained on, nothing injected",
    "clean_toy_other_trades": "toy dialogues of trades never trained on, nothing injected",
    "test": "dialogues never trained on, labelled by people",
    "dev_natural": "real dialogues never trained on, nothing injected, with the errors that a language model "
    "read in them",
    "test_natural_sgd": "the same of a corpus never trained on (SGD)",
}
INJECTED = (
    "Errors are injected, not natural: read them as what the detector does on errors of these kinds, not as "
    "rates of your agents. "
)
FIGURES = (
    "AP: average precision. FA@R50: false alarms per 100 clean turns where half of the errors are found. "
    "Precision and recall: at the release's threshold. Pair AUC: error against its clean twin of the same "
    "form.\n"
)
READ = (
    "\n\nNothing was injected into the sources named “read”: their errors are those that a large language "
    "model listed when it read the dialogues whole, once. No person has read them."
)
LIMITS = (
    "- Dialogues whose agent repeats himself without cause, or speaks of a PIN or password, were left "
    "out of all these sets: the figures of V2 say nothing of such dialogues.\n"
    "- English only; capital letters are invisible to its base model.\n"
)


def model_card(info: ReleaseInfo, taxonomy: Taxonomy, examples: dict[str, Any]) -> str:
    """Markdown: description, coverage, data and licences, figures with 95 % intervals, limits.

    `examples` is the manifest of the examples it was trained on.
    """
    parts = [
        f"# {info.id}\n\nA scanner of support dialogues, fine-tuned from {info.base.name} "
        f"({info.base.licence}; {info.base.revision}; weights sha256 `{info.base.sha256}`). "
        f"Taxonomy {taxonomy.version}.{' English.' if 'families' in examples else ''}\n",
        coverage(info, taxonomy),
        "## Data\n\n"
        + (_describe_injected(examples) if "families" in examples else _describe_labelled(examples)),
        f"## Figures\n\n{INJECTED if 'families' in examples else ''}{FIGURES}",
        *(_figures(name, info.report[name]) for name in SETS if name in info.report),
        _left_out(info.report.get("left_out")),
        "## What it can't do\n\n"
        "- The promise on false accusations holds for dialogues like those of the calibration split; a new "
        "trade, channel or style needs a calibration of its own.\n"
        "- It reads at most "
        f"{info.render.context_tokens} tokens at once and leaves system messages out; longer dialogues are "
        "cut into overlapping windows.\n"
        "- It does not judge turns in other languages than those named above; there only exact checks that "
        "need no language look.\n"
        "- It knows neither your policies nor your sources.\n" + (LIMITS if "families" in examples else ""),
    ]
    return "\n".join(part for part in parts if part)


def _describe_injected(examples: dict[str, Any]) -> str:
    """The sources of injected errors."""
    sources = [
        f"- {source['name']}: {source['rows']} dialogues, {source['licence']}"
        + ("" if source["trains"] else ", measured on only, never trained on")
        for source in examples["sources"]
    ]
    were_read = any(source["name"].endswith(", read") for source in examples["sources"])
    held_out = ", ".join(family["name"] for family in examples["families"] if family["use"] == "exam")
    return (
        "Errors were injected into real dialogues; no text of these corpora ships.\n\n"
        + "\n".join(sources)
        + (READ if were_read else "")
        + f"\n\nFamilies held out of training: {held_out}.\n"
    )


def _describe_labelled(examples: dict[str, Any]) -> str:
    """How many dialogues that people labelled are in each set."""
    sets = [f"- {Path(file['name']).stem}: {file['rows']}" for file in examples["files"] if "rows" in file]
    return "\n".join(["Labelled by people, rows of each file; no text of them ships.\n", *sets]) + "\n"


def coverage(info: ReleaseInfo, taxonomy: Taxonomy) -> str:
    """The section on what the release covers, how, and what it does not."""
    left = [code for code in taxonomy.codes if code not in info.codes]
    parts = ["## What it covers\n", *(_coverage(info, taxonomy, code) for code in info.codes), ""]
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
        lines = ", on made-up lines" if languages and "en" not in languages else ""
        right = f"(right in {check.precision:.0%} of its hits{lines})"
        suggests = ", suggestions only" if check.report == "suggestion" else ""
        words.append(f"exact check `{check.name}`{where} {right}{suggests};")
    if how.gate is not None:
        words.append(f"through the gate `{how.gate}`, the")
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
    is_flagged = how.scan is not None and how.scan.may_accuse
    if is_flagged and any(check.name == POLICY_CHECK for check in how.checks):
        words.append("where a policy with rules for the code applies, elsewhere a suggestion")
    if how.scan is not None and how.scan.natural is not None:
        natural = how.scan.natural
        words.append(
            f"- on real dialogues {natural.right} of {natural.flagged} flagged turns have the error from "
            f"probability {natural.threshold:.2f} on, of all turns {natural.n_errors} of {natural.n_turns}"
        )
    if how.scan is not None and how.scan.reading is not None and not how.scan.may_accuse:
        reading = how.scan.reading
        words.append(
            f"- of its findings in natural dialogues {reading.right} of {reading.read} were right, so what "
            "the scan flags alone is suggested"
        )
    return " ".join(words)


def _figures(name: str, content: Any) -> str:
    head = (
        f"### {name}: {SETS[name]}\n\n{content['dialogues']} dialogues, {content['judged_turns']} turns; "
        f"macro AP of the covered codes {_with_interval(content, 'macro_average_precision_covered')}, macro "
        f"FA@R50 {_format(content['macro_false_alarms_at_recall_50_covered'])}; "
        f"{_with_interval(content, 'flagged_per_100_turns')} turns flagged and "
        f"{_with_interval(content, 'wrong_findings_per_100_turns')} findings wrong per 100 turns.\n"
    )
    rows = [_row(code, row) for code, row in content["codes"].items() if row["n_errors"] and row["covered"]]
    if not rows:
        return head
    return (
        head
        + "\n| code | errors | AP (95 %) | FA@R50 | precision | recall | calibration error | span F1 "
        + "| pair AUC (pairs) |\n"
        + "|---|---|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def _row(code: str, row: dict[str, Any]) -> str:
    pairs = f"{_format(row['pair_auc'])} ({row['n_pairs']})" if row["n_pairs"] else ""
    keys = ("false_alarms_at_recall_50", "precision", "recall", "calibration_error", "span_f1")
    cells = " | ".join(_format(row[key]) for key in keys)
    precision = _with_interval(row, "average_precision")
    return f"| {code} | {row['n_errors']} | {precision} | {cells} | {pairs} |"


def _left_out(rows: Any) -> str:
    if not rows:
        return ""
    words = [f"{code} {_format(row['average_precision'])}" for code, row in rows.items() if row["n_errors"]]
    return (
        "### Trained but left out\n\nCodes that did not earn their place on families never shown; average "
        "precision on test_unseen: " + ", ".join(words) + ".\n"
    )


def _with_interval(figures: dict[str, Any], name: str) -> str:
    """A figure with its 95 % interval, where it has one."""
    low, high = figures[f"{name}_95"]
    if low is None:
        return _format(figures[name])
    low, high = round_interval(low, high, 2)
    return f"{_format(figures[name])} ({low:.2f} to {high:.2f})"


def _format(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
