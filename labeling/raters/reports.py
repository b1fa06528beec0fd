"""Stages ``dialint label agreement``, ``watch`` and ``quality``: figures of labelers.

Each reads a file, or the answers in a store; with ``--out`` it writes all figures as one JSON file, which is
complete or not there. Where answers are too few for a figure, it is left out.

``agreement`` computes for each code: Krippendorff's alpha, Fleiss' kappa, specific agreement of each label,
the leave-one-out human ceiling and, from a store, the agreement of marked evidence (soft F1), with intervals
by dialogue; beside them, whether the model may replace a labeler. It does not measure who is right. ``watch``
flags labelers who answer without reading, too fast, or from a shared sheet. A flag is a reason for a review;
it excludes no answers. ``quality`` compares our annotations with gold and with the other people.

Control tasks are included where work is measured, since they measure it best; agreement is measured without
them, as their items are selected to be clear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import (
    file_entry,
    make_output_folder,
    package_versions,
    require_new_files,
    write_manifest,
)
from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.records import Dialogue
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.crowd_tables import read_answers, read_model_answers
from dialint.labeling.aggregation.dialogue_answers import Span, dialogue_codes
from dialint.labeling.aggregation.question_posteriors import load_answers, require_answers
from dialint.labeling.annotation import Annotation, read_annotations
from dialint.labeling.raters.agreement import (
    MIN_LABELERS,
    compare_with_model,
    decide_alternatives,
    fleiss_kappa,
    human_ceiling,
    krippendorff_alpha,
    soft_span_f1,
    specific_agreement,
)
from dialint.labeling.raters.anomalies import CrowdAnomalies, find_anomalies
from dialint.labeling.raters.people import Gold, Workload, measure_quality, measure_workload
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.dialogues import StoredDialogues
from dialint.labeling.store.gold import read_gold_file
from dialint.labeling.store.stored_annotations import iterate_counted

Spans = Sequence[Mapping[str, Sequence[Span]]]
Tables = tuple[Mapping[str, Answers], Mapping[str, Spans], Mapping[str, Floats]]
Crowd = tuple[Mapping[str, Answers], Answers | None, Floats | None, Floats | None]
Sources = tuple[Iterable[Annotation], Mapping[str, Dialogue], Gold]
Report = dict[str, Any]


@Parameter(name="*")
@dataclass(frozen=True)
class AgreementConfig:
    """Sources and options of an agreement report."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has it, code. Without it the answers in the
    store are taken."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the main ones in any case."""
    model: Path | None = None
    """A model's probabilities: task, label, probability (and code). Of the store, those of its verdicts."""
    epsilon: float = 0.15
    """Advantage that a labeler may have over the model that stands in: 0.2 for experts, 0.15 for trained
    people, 0.1 for crowd workers."""
    rounds: int = 1000
    """Bootstrap rounds of the intervals."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError("E_OPTION", "--rounds must be at least 1")
        if not 0 <= self.epsilon < 1:
            raise ConfigError("E_OPTION", "--epsilon must be at least 0 and below 1")


@Parameter(name="*")
@dataclass(frozen=True)
class AnomalyConfig:
    """Sources of the anomaly flags."""

    annotations: Path | None = None
    """Crowd table with columns task, worker, label and, if it has them, code and seconds. Without it the
    answers in the store are checked."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the flags in any case."""
    last_wins: Annotated[bool, Parameter(negative=())] = False
    """Of a worker's several answers to a task take the last; without, they are refused."""


@Parameter(name="*")
@dataclass(frozen=True)
class QualityConfig:
    """Sources of a quality report."""

    annotations: Path | None = None
    """Our annotations (.jsonl), as dialint import labels writes them. Without them the answers in the
    store are measured."""
    dialogues: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Logs of the dialogues that were labeled; the store has its own."""
    gold: Path | None = None
    """Gold (.jsonl): dialogue, turn, code, present; the store has its own."""
    out: Path | None = None
    """File for all figures as JSON; must not exist. Standard output has the main ones in any case."""
    taxonomy: Path | None = None
    """A taxonomy of your own."""


def make_report(
    kind: str,
    options: Mapping[str, Any],
    figures: Callable[[], Mapping[str, Any]],
    out: Path | None,
    inputs: Iterable[Path | None] = (),
) -> Report:
    """Return the result of `figures` together with the options, versions, inputs and seconds, and write it to
    `out` if it is set. Paths are reduced to their names.

    Raises:
        OutputRefused: `out` exists.
        WorldError: the disk is full or failed.
    """
    require_new_files(out)
    started = time.monotonic()
    results = figures()  # reads the inputs, and refuses one that is not there
    report = {
        "kind": kind,
        "config": {name: value.name if isinstance(value, Path) else value for name, value in options.items()},
        "versions": package_versions("dialint", "numpy", "scipy"),
        "inputs": [file_entry(path) for path in inputs if path is not None],
        **results,
        "seconds": round(time.monotonic() - started, 1),
    }
    if out is not None:
        make_output_folder(out.parent)
        write_manifest(out, report)
    return report


def _read_table(config: AgreementConfig | AnomalyConfig) -> dict[str, Answers]:
    if config.annotations is None:
        raise ConfigError("E_OPTION", "--annotations names no table")
    return read_answers(config.annotations, config.last_wins)


def agreement(config: AgreementConfig, stored: Callable[[], Tables] | None = None) -> Report:
    """Compute all figures, of the table or of the `stored` answers, and write them to `out` if it is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` exists.
    """

    def figures() -> Mapping[str, Any]:
        if stored is None:
            tables: Mapping[str, Answers] = _read_table(config)
            spans: Mapping[str, Spans] = {}
            models: Mapping[str, Floats] = {}
            if config.model is not None:
                tables, models = read_model_answers(config.model, tables)
        else:
            tables, spans, models = stored()
        by_code = {
            code: _agreement_figures(table, spans.get(code), config.rounds) for code, table in tables.items()
        }
        alternatives = {
            code: alternative
            for code, model in models.items()
            if (alternative := compare_with_model(tables[code], model, config.epsilon, config.rounds))
        }
        for code, decision in decide_alternatives(alternatives).items():
            by_code[code]["model"] = {**_to_json(decision), **_to_json(alternatives[code])}
        return {"codes": by_code}

    return make_report("agreement", asdict(config), figures, config.out, [config.annotations, config.model])


def agreement_rows(report: Report) -> list[list[str]]:
    """The main figures as a table for the terminal, headings first."""
    table = [["code", "measure", "value", "95 %", "dialogues"]]
    for code, figures in report["codes"].items():
        for name, figure in _main_figures(figures):
            interval = "-" if figure["low"] is None else f"{figure['low']:.3f} to {figure['high']:.3f}"
            value = "-" if figure["value"] is None else f"{figure['value']:.3f}"
            table.append([code or "-", name, value, interval, str(figure["n"])])
        if "model" in figures:
            model = figures["model"]
            won = f"wins over {model['won']} of {model['tested']}"
            if model["may_stand_in"] == "not enough data":
                won = f"{model['tested']} of {MIN_LABELERS} labelers have enough tasks"
            won += f", but fails on {' '.join(model['refused'])}" if model["refused"] else ""
            table.append([code or "-", "may the model stand in", model["may_stand_in"], won, ""])
    return table


def _main_figures(figures: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "Krippendorff's alpha, nominal", figures["alpha"]
    yield "Fleiss' kappa", figures["fleiss_kappa"]
    yield "human ceiling", figures["human_ceiling"]
    yield from ((f"agreement on {label}", each) for label, each in figures["specific_agreement"].items())
    if figures["spans"]:
        yield "soft F1 of spans", figures["spans"]
    if model := figures.get("model"):
        yield "model in a labeler's place", model["model"]
        yield "model less labeler", model["difference"]
        yield from ((f"model's agreement on {label}", each) for label, each in model["agreement"].items())


def _agreement_figures(answers: Answers, spans: Spans | None, rounds: int) -> dict[str, Any]:
    votes, dialogues = answers.votes(), answers.dialogues
    by_label = {
        label: specific_agreement(votes, index, rounds, dialogues)
        for index, label in enumerate(answers.labels)
    }
    figures = {
        "answers": len(answers),
        "tasks": len(answers.tasks),
        "labelers": len(set(answers.worker.tolist())),
        "level": "nominal",
        "alpha": krippendorff_alpha(votes, rounds, dialogues),
        "fleiss_kappa": fleiss_kappa(votes, rounds, dialogues),
        "human_ceiling": human_ceiling(answers, rounds),
        "specific_agreement": by_label,
        "spans": None if spans is None else soft_span_f1(spans, rounds),
    }
    return {name: _to_json(value) for name, value in figures.items()}


def _to_json(figures: Any) -> Any:
    """Convert a dataclass of figures, or a part of one, for JSON; NaN becomes None."""
    if is_dataclass(figures) and not isinstance(figures, type):
        return _to_json(asdict(figures))
    if isinstance(figures, Mapping):
        return {name: _to_json(value) for name, value in figures.items()}
    return None if isinstance(figures, float) and math.isnan(figures) else figures


def watch(config: AnomalyConfig, stored: Callable[[], Crowd] | None = None) -> Report:
    """Compute all flags and figures, of the table or of the `stored` answers, and write them to `out` if it
    is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: the table is bad; the message names file and line.
        OutputRefused: `out` exists.
    """

    def figures() -> Mapping[str, Any]:
        crowd: Crowd = (_read_table(config), None, None, None) if stored is None else stored()
        anomalies = find_anomalies(*crowd)
        return {
            "flags": [asdict(flag) for flag in anomalies.flags],
            "workers": dict(zip(anomalies.workers, _worker_figures(anomalies), strict=True)),
        }

    return make_report("watch", asdict(config), figures, config.out, [config.annotations])


def _worker_figures(anomalies: CrowdAnomalies) -> list[dict[str, float | None]]:
    """The figures of each worker, none where they are not defined."""
    competence, times = anomalies.competence, anomalies.response_times
    columns = {
        "answers": competence.n,
        "slope": competence.slope,
        "slope_spread": competence.spread,
        "knows_nothing": competence.no_knowledge,
        "commonest_answer": competence.commonest,
        "timed": times.n,
        "fast": times.fast,
        "unread": times.unread,
        "median_seconds": times.median,
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [_to_json(dict(zip(columns, row, strict=True))) for row in rows]


def flag_rows(report: Report) -> list[list[str]]:
    """The flags of a report as a table for the terminal, headings first."""
    rows = [["flag", "workers", "n", "certainty", "why"]]
    for flag in report["flags"]:
        if flag["probability"] is not None:
            certainty = f"probability {flag['probability']:.3f}"
        else:
            certainty = "p < 1e-15" if flag["p_value"] < 1e-15 else f"p {flag['p_value']:.1g}"
        rows.append([flag["kind"], ", ".join(flag["workers"]), str(flag["n"]), certainty, flag["why"]])
    return rows


def measure(config: QualityConfig, stored: Callable[[], Sources] | None = None) -> Report:
    """Make the quality report, of the files or of the `stored` answers, and write it to `out` if it is set.

    Raises:
        ConfigError: neither is given.
        InputRefused: a file is bad, or an annotation is about a dialogue or turn that is not there.
        OutputRefused: `out` exists.
    """

    def figures() -> Mapping[str, Any]:
        if stored is not None:
            return quality_figures(*stored(), config.taxonomy)
        if config.annotations is None or not config.dialogues:
            raise ConfigError("E_OPTION", "from files, --annotations and --dialogues must name some")
        rows = () if config.gold is None else read_gold_file(config.gold)
        gold = {(row.dialogue, row.turn, row.code): row.present for row in rows}
        annotations, dialogues = read_annotations(config.annotations), load_dialogues(config.dialogues)
        return quality_figures(annotations, dialogues, gold, config.taxonomy)

    options = {name: value for name, value in asdict(config).items() if name != "dialogues"}
    return make_report("labeler-quality", options, figures, config.out, (config.annotations, config.gold))


def quality_figures(
    annotations: Iterable[Annotation],
    dialogues: Mapping[str, Dialogue],
    gold: Gold,
    taxonomy: Path | None = None,
) -> Report:
    """Measure a stream of annotations, oldest first; the figures as a JSON object: labelers, codes, flags.

    Raises:
        InputRefused: nobody answered anything, or about a dialogue that is not there.
    """
    try:
        workload = measure_workload(annotations, dialogues, dialogue_codes(load_taxonomy(taxonomy)))
    except KeyError as error:
        raise InputRefused("E_LABEL", f"an annotation of dialogue {error}, which is not there") from None
    if not workload.answers.codes:
        raise InputRefused("E_NO_RECORDS", "no answers of people")
    quality = asdict(measure_quality(workload, gold))
    return {"answers": sum(each["answers"] for each in quality["codes"].values()), **quality}


MEASURES = {"accuracy": "accuracy on gold", "agreement": "agreement with others", "bias": "bias"}


def labeler_rows(report: Report) -> list[list[str]]:
    """The main figures of each labeler as a table for the terminal, headings first."""
    rows = [["labeler", "answers", *MEASURES.values(), "seconds"]]
    for each in report["labelers"]:
        overall, speed = each["overall"], each["speed"]
        seconds = "not enough" if speed["n"] else "-"
        if speed["median"] is not None:
            quartiles = f"{speed['first_quartile']:.0f} to {speed['third_quartile']:.0f}"
            seconds = f"{speed['median']:.0f} ({quartiles})"
        measures = (_format_figure(overall[name]) for name in MEASURES)
        rows.append([each["name"], str(overall["answers"]), *measures, seconds])
    return rows


def code_rows(report: Report) -> list[list[str]]:
    """The main figures of each code, all labelers together, headings first."""
    rows = [["code", "answers", "yes", "accuracy on gold", "agreement with others"]]
    for code, each in sorted(report["codes"].items()):
        portion = f"{100 * each['yes'] / max(1, each['answers']):.1f} %"
        measures = (_format_figure(each[name]) for name in ("accuracy", "agreement"))
        rows.append([code, str(each["answers"]), portion, *measures])
    return rows


def _format_figure(value: Mapping[str, Any]) -> str:
    """Format a figure above its interval, or a note that the answers are too few."""
    if value["value"] is None:
        return "not enough" if value["n"] else "-"
    return f"{value['value']:.2f}\n{value['low']:.2f} to {value['high']:.2f}"


def load_workload(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Workload:
    """The work of all labelers in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    annotations = iterate_counted(store, actor, project, controls=True)
    workload = measure_workload(annotations, StoredDialogues(store), dialogue_codes(taxonomy))
    require_answers(workload.answers, project)
    return workload


def load_tables(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Tables:
    """The answers of a project or of the whole store by code, for each question the spans that each reader
    marked, and the model's probabilities.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    answers = load_answers(store, actor, project, taxonomy)
    spans = {code: list(each.votes.values()) for code, each in answers.codes.items()}
    return answers.tables(), spans, {code: answers.model_probabilities(code) for code in answers.codes}
