"""Evaluates a detector on labelled errors, code by code, with intervals by source dialogue.

    dialint eval run build/examples/test.jsonl --release build/release \\
        --against clean tfidf:build/examples --out report.json --html report.html

Reads files of examples; writes a table, with ``--out`` the same as JSON (never with dialogue text) and
with ``--html`` one page with curves and the worst mistakes. Trains and tunes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import atomic_file, package_versions, sha256_file, write_json
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import Detector, DetectorConfig
from dialint.detector.option_ranges import command_options
from dialint.detector.records import Example, Verdict
from dialint.detector.statistics import bootstrap_counts, round_interval
from dialint.eval.breakdowns import (
    Excerpt,
    Mistake,
    calibration_gaps,
    compare_in_sequence,
    compute_curves,
    compute_slices,
    make_excerpt,
    paired_difference,
    to_dict,
    worst_mistakes,
)
from dialint.eval.figures import compute_figures, summarize
from dialint.eval.results import (
    Results,
    count_suggestions,
    number_sources,
    read_examples,
    read_labelled_log,
    score_examples,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SLICE_ROUNDS = 200
PIPE_WIDTH = 132
"""Width of the tables where the output is no terminal."""


@command_options
class EvalConfig:
    """Options of `dialint eval run`."""

    against: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Detectors to compare with: clean, which finds nothing, tfidf:FOLDER, TF-IDF with logistic regression,
    learned from a folder of `dialint data inject`, or the folder of a release."""
    labels: Path | None = None
    """Labels as JSONL, one a line, for a log instead of a file of examples."""
    out: Path | None = None
    """Report as JSON."""
    html: Path | None = None
    """Report as one page that needs no network."""
    no_text: bool = False
    """Omit dialogue text from the page."""
    rounds: Annotated[int, Field(ge=0)] = 1000
    """Bootstrap rounds for the intervals."""
    fail_worse: Annotated[float | None, Field(gt=0, lt=1)] = None
    """Exit with 1 if the release makes more mistakes than one of --against, by a test at this level: of the
    releases that are no worse it fails at most this share. 0.05 is usual."""


def run(
    *examples: Path,
    config: Annotated[EvalConfig, Parameter(name="*")] | None = None,
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> int:
    """Evaluate a release on labelled examples, alone or against others. Options of reading logs (--mapping
    and more) apply with --labels only."""
    config, chosen = config or EvalConfig(), detector or DetectorConfig()
    _refuse(examples, config)
    from dialint.eval.baselines import open_detector

    judge_with = open_detector(None, chosen)
    others = {name: open_detector(name, chosen) for name in config.against}
    report: dict[str, Any] = {}
    excerpts: dict[str, list[Excerpt]] = {}
    for path in examples:
        read = (
            read_examples(path) if config.labels is None else read_labelled_log(path, config.labels, reading)
        )
        results = score_examples(judge_with, read)
        if not results:
            print(f"dialint: {path}: holds no example, so nothing is said of it", file=sys.stderr)
            continue
        theirs = {
            name: score_examples(other, (example for example, _ in results)) for name, other in others.items()
        }
        content, mistakes = evaluate_against(judge_with, results, others, theirs, config.rounds)
        report[path.stem] = {"sha256": sha256_file(path), **content}
        excerpts[path.stem] = [make_excerpt(mistake, results) for mistake in mistakes]
    if not report:
        raise ConfigError("E_EXAMPLE", "none of the files holds an example, so nothing can be said")
    whole = {
        "kind": "evaluation",
        "release": judge_with.release,
        "fingerprint": judge_with.fingerprint,
        "rounds": config.rounds,
        "versions": package_versions("dialint", "numpy", "torch"),
        "sets": report,
    }
    _show(report)
    if config.out is not None:
        write_json(config.out, whole)
    if config.html is not None:
        from dialint.eval.page import page

        with atomic_file(config.html) as file:
            file.write(page(whole, None if config.no_text else excerpts).encode())
    if config.fail_worse is None:
        return 0
    tests = [
        (name, other, own["sequential"]["e_value"])
        for name, content in report.items()
        for other, own in content["against"].items()
    ]
    worse = [each for each in tests if each[2] * config.fail_worse >= len(tests)]
    for name, other, e_value in worse:
        print(f"dialint: {name}: worse than {other} (e-value {e_value:.1f})", file=sys.stderr)
    return int(bool(worse))


def _refuse(examples: Sequence[Path], config: EvalConfig) -> None:
    """Validates the options before any work is done."""
    if not examples:
        raise ConfigError("E_OPTION", "name at least one file of examples")
    for path in examples:
        if not path.is_file():
            raise ConfigError("E_EXAMPLE", f"{path}: there is no such file")
    if config.fail_worse is not None and not config.against:
        raise ConfigError("E_OPTION", "--fail-worse: name by --against what it is compared with")
    if len({path.stem for path in examples}) < len(examples):
        raise ConfigError("E_OPTION", "two files of examples have the same name")
    check_writable(out=config.out, html=config.html)


def make_console() -> Console:
    """Returns a console as wide as the terminal, or `PIPE_WIDTH`."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Console(width=width, markup=False, emoji=False, highlight=False)


def check_writable(**files: Path | None) -> None:
    """Checks before any work is done that the files of options of these names can be written.

    Raises:
        ConfigError: the folder of one does not exist, or it is a folder itself.
    """
    for option, path in files.items():
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise ConfigError("E_OPTION", f"--{option} {path}: no file can be written there")


def evaluate(detector: Detector, results: Sequence[tuple[Example, Verdict]], rounds: int) -> dict[str, Any]:
    """Returns counts, rates, slices, and a row of figures for each code that occurs or is covered."""
    scored = [(example, verdict) for example, verdict in results if verdict.status == "scored"]
    counts = bootstrap_counts(len(number_sources(scored)), rounds)
    figures = compute_figures(detector, scored, counts)
    slices = compute_slices(scored, figures.rows, counts[: SLICE_ROUNDS + 1])
    return {**summarize(figures, results), "slices": slices}


def evaluate_against(
    detector: Detector,
    results: Results,
    others: Mapping[str, Detector],
    theirs: Mapping[str, Results],
    rounds: int,
) -> tuple[dict[str, Any], list[Mistake]]:
    """Returns `evaluate` with curves and the worst mistakes, if there are suggestions the figures with these
    counted as findings (`with_suggestions`), and under `against` each other detector's figures with the
    paired difference, on the dialogues that both have scored."""
    scored = [pair for pair in results if pair[1].status == "scored"]
    counts = bootstrap_counts(len(number_sources(scored)), rounds)
    mine = compute_figures(detector, scored, counts)
    whole_dialogue = {code for code, entry in detector.taxonomy.codes.items() if entry.scope == "dialogue"}
    mistakes = worst_mistakes(scored, mine.rows)
    content = summarize(mine, results)
    if any(verdict.suggestions for _, verdict in scored):
        more = compute_figures(detector, count_suggestions(scored), counts)
        content["with_suggestions"] = summarize(more, count_suggestions(results))
    content["curves"] = {code: compute_curves(mine.rows[code]) for code in mine.present}
    content["slices"] = compute_slices(scored, mine.rows, counts[: SLICE_ROUNDS + 1])
    content["calibration"] = calibration_gaps((mine.rows[code] for code in mine.covered), counts)
    content["worst"] = [to_dict(mistake, scored) for mistake in mistakes]
    content["against"] = {}
    for name, other in others.items():
        both = [
            index
            for index, (mine_, their_) in enumerate(zip(results, theirs[name], strict=True))
            if mine_[1].status == their_[1].status == "scored"
        ]
        again, draws, shared = mine, counts, [results[index] for index in both]
        if len(both) < len(scored):
            draws = bootstrap_counts(len(number_sources(shared)), rounds)
            again = compute_figures(detector, shared, draws)
        shared_theirs = [theirs[name][index] for index in both]
        their = compute_figures(other, shared_theirs, draws)
        content["against"][name] = {
            "release": other.release,
            "fingerprint": other.fingerprint,
            "figures": summarize(their, theirs[name]),
            "difference": paired_difference(again, their),
            "sequential": compare_in_sequence(results, theirs[name], whole_dialogue),
            "slices": compute_slices(shared_theirs, their.rows, draws[: SLICE_ROUNDS + 1]),
            "calibration": calibration_gaps((their.rows[code] for code in their.covered), draws),
            "curves": {code: compute_curves(their.rows[code]) for code in their.present},
        }
    return content, mistakes


def _show(report: Mapping[str, Any]) -> None:
    console = make_console()
    for name, content in report.items():
        console.print(figure_table(name, content))
        if "with_suggestions" in content:
            more = f"{name}, suggestions counted as findings"
            console.print(figure_table(more, content["with_suggestions"]))
        if content["against"]:
            console.print(difference_table(name, content))


TABLE_COLUMNS = (
    ("P@R50", "precision_at_recall_50"),
    ("FA@R50", "false_alarms_at_recall_50"),
    ("R@1FA", "recall_at_1_false_alarm"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("F1", "f1"),
    ("ECE", "calibration_error"),
    ("span F1", "span_f1"),
)


def figure_table(name: str, content: dict[str, Any]) -> Table:
    """Makes a table with a row for each code."""
    from rich.table import Table

    low, high = content["macro_average_precision_covered_95"]
    interval = "" if low is None else f" ({low:.3f}-{high:.3f})"
    n_covered = sum(row["covered"] and row["n_errors"] > 0 for row in content["codes"].values())
    n_all = sum(row["n_errors"] > 0 for row in content["codes"].values())
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        title=f"{name}: {content['dialogues']} dialogues, {content['judged_turns']} turns, "
        + (f"{n} not judged for their language, " if (n := content["turns_not_judged"]) else "")
        + f"macro AP of the {n_covered} covered codes "
        f"{_number(content['macro_average_precision_covered']) or '-'}{interval}, macro F1 "
        f"{_number(content['macro_f1_covered']) or '-'}; of all {n_all} codes with errors here AP "
        f"{_number(content['macro_average_precision']) or '-'}; "
        f"flagged {content['flagged_per_100_turns']:.2f} and "
        f"wrong {content['wrong_findings_per_100_turns']:.2f} per 100 turns",
    )
    for column in ("code", "errors", "AP", "95 %", *(heading for heading, _ in TABLE_COLUMNS), "pair AUC"):
        table.add_column(column, justify="left" if column == "code" else "right", no_wrap=True)
    for code, row in content["codes"].items():
        low, high = row["average_precision_95"]
        bounds = None if low is None else round_interval(low, high, 2)
        table.add_row(
            code if row["covered"] else f"{code} *",
            str(row["n_errors"]),
            _number(row["average_precision"]),
            "" if bounds is None else "{:.2f}-{:.2f}".format(*bounds),
            *(_number(row[key]) for _, key in TABLE_COLUMNS),
            f"{_number(row['pair_auc'])} ({row['n_pairs']})" if row["n_pairs"] else "",
        )
    table.caption = "* not covered   FA, R@1FA: false alarms per 100 clean rows   R50: where half are found"
    return table


def difference_table(name: str, content: dict[str, Any]) -> Table:
    """Makes a table with a row for each other detector."""
    from rich.table import Table

    table = Table(
        box=None, padding=(0, 2, 0, 0), title=f"{name}: less the others, with the paired 95 % interval"
    )
    for column in (
        "against",
        "its macro AP",
        "difference",
        "95 %",
        "of covered codes",
        "95 %",
        "its F1",
        "wrong per 100",
    ):
        table.add_column(column, justify="left" if column == "against" else "right")
    for other, row in content["against"].items():
        cells = []
        for scope in ("macro", "macro_covered"):
            apart = row["difference"][scope]["average_precision"]
            cells += [
                _signed(apart["difference"]),
                f"{_signed(apart['low'])} to {_signed(apart['high'])}",
            ]
        theirs = row["figures"]
        table.add_row(
            other,
            _number(theirs["macro_average_precision"]),
            *cells,
            _number(theirs["macro_f1"]),
            f"{theirs['wrong_findings_per_100_turns']:.2f}",
        )
    return table


def _number(value: float | None) -> str:
    """Formats with three decimals, None as nothing."""
    return "" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    """Formats with a sign and three decimals, None as nothing."""
    return "" if value is None else f"{value:+.3f}"
