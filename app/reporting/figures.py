"""The figures of a report on verdicts: counts, and rates with their denominators.

Failed and unjudged dialogues are counted separately, and in no rate. Reads verdicts once, in memory that
grows with agents, codes and weeks, not with dialogues. Precision is not estimated, and nobody is ranked.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialint.app.scoring.reports import title
from dialint.app.scoring.summary import SERIOUS, SEVERITIES, Tally, format_causes
from dialint.detector.errors import InputRefused
from dialint.detector.example_files import read_records
from dialint.detector.languages import language_name
from dialint.detector.records import Finding, Verdict
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.raters.estimates import Figure, proportion
from dialint.labeling.reviewed_scores import (
    WIDEST,
    DialogueScore,
    ReviewedScore,
    ScoredDialogues,
    estimate_score,
)

LEAST = 20
"""Least number of judged dialogues for which a rate by turn is given; shares have intervals instead."""
DIMENSIONS = ("team", "agent", "channel", "week")
UNKNOWN = "(not in the log)"
MAX_LISTED = 1000
"""Most findings listed on the page, by severity; the workbook has all."""
Cell = str | int | float | Figure | None
"""A cell of a table: a `Figure` is a share per 100 with its interval, None a figure that is not given."""


@dataclass
class GroupCounts:
    """Counts over the verdicts of one agent, team, channel or week; `turns` are judged turns of agents,
    `findings` those in judged dialogues."""

    judged: int = 0
    failed: int = 0
    not_judged: int = 0
    turns: int = 0
    flagged: int = 0
    serious: int = 0
    findings: Counter[str] = field(default_factory=Counter)
    severities: Counter[str] = field(default_factory=Counter)
    scores: Counter[ScoredDialogues] = field(default_factory=Counter)

    @property
    def reviewed(self) -> ReviewedScore:
        """The reviewed score; empty without `scores`."""
        return estimate_score(row._replace(n=n) for row, n in self.scores.items())

    def add(self, verdict: Verdict, score: ScoredDialogues | None) -> None:
        """Counts one verdict."""
        if score is not None:
            self.scores[score] += 1
        if verdict.status != "scored":
            self.failed += verdict.status == "failed"
            self.not_judged += verdict.status == "not_judged"
            return
        self.judged += 1
        self.turns += verdict.judged_turns
        self.flagged += bool(verdict.findings)
        self.serious += any(finding.severity in SERIOUS for finding in verdict.findings)
        self.findings.update(finding.code for finding in verdict.findings)
        self.severities.update(finding.severity for finding in verdict.findings)


@dataclass
class CodeCounts:
    """Counts of one code: dialogues and turns judged for it, by model or exact check, and findings there."""

    dialogues: int = 0
    turns: int = 0
    flagged: int = 0
    severities: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, order=True)
class ListedFinding:
    """A finding or suggestion in a list of the page. Sorted by severity, then by position in the file:
    `severity` and `number` are negative, as a heap drops the smallest."""

    severity: int
    number: int
    verdict: Verdict = field(compare=False)
    finding: Finding = field(compare=False)

    @property
    def place(self) -> tuple[str, int, int, str]:
        """The key of the finding: dialogue, turn, offset and code."""
        return self.verdict.dialogue_id, self.finding.turn, self.finding.start, self.finding.code


@dataclass
class Figures:
    """Counts over the verdicts of one file."""

    taxonomy: Taxonomy
    covered: tuple[str, ...]
    n_examples: int = 0
    scores: Mapping[str, DialogueScore] = field(default_factory=dict)
    """Reviewed scores of a store, by dialogue."""
    whole: GroupCounts = field(default_factory=GroupCounts)
    tally: Tally = field(default_factory=Tally)
    groups: dict[str, dict[str | None, GroupCounts]] = field(
        default_factory=lambda: {d: {} for d in DIMENSIONS}
    )
    codes: dict[str, CodeCounts] = field(default_factory=dict)
    suggested: dict[str, list[ListedFinding]] = field(default_factory=dict)
    """A heap of suggestions for each code; they are counted in their own table only."""
    listed: list[ListedFinding] = field(default_factory=list)
    """A heap of findings; `findings` has them in order."""

    def add(self, verdict: Verdict) -> None:
        """Counts one verdict."""
        self.tally.add(verdict)
        score = self._score(verdict) if self.scores else None
        self.whole.add(verdict, score)
        for dimension, groups in self.groups.items():
            groups.setdefault(getattr(verdict, dimension), GroupCounts()).add(verdict, score)
        if verdict.status == "failed":
            return
        self._add_codes(verdict)
        for finding in verdict.findings:
            self._list(self.listed, MAX_LISTED, verdict, finding)
        for finding in verdict.suggestions:
            self._list(self.suggested.setdefault(finding.code, []), self.n_examples, verdict, finding)

    def _score(self, verdict: Verdict) -> ScoredDialogues | None:
        if (stored := self.scores.get(verdict.dialogue_id)) is not None:
            return stored.scored
        if verdict.quality is None:
            return None
        return ScoredDialogues(1, verdict.quality, None, bool(verdict.findings))

    def _add_codes(self, verdict: Verdict) -> None:
        missing: dict[str, set[int]] = {}
        for gap in verdict.not_judged:
            for code in gap.codes:
                missing.setdefault(code, set()).update(gap.turns)
        findings = Counter((finding.code, finding.severity) for finding in verdict.findings)
        for code in {*self.covered, *(code for code, _ in findings)}:
            counts = self.codes.setdefault(code, CodeCounts())
            turns = (verdict.agent_turns or 0) - len(missing.get(code, ()))
            if code in verdict.unjudged_codes or turns <= 0:
                continue
            counts.dialogues += 1
            counts.turns += turns
        for (code, severity), n in findings.items():
            self.codes[code].severities[severity] += n
        for code in {code for code, _ in findings}:
            self.codes[code].flagged += 1

    def _list(self, heap: list[ListedFinding], most: int, verdict: Verdict, finding: Finding) -> None:
        entry = ListedFinding(-SEVERITIES.index(finding.severity), -self.tally.n, verdict, finding)
        if len(heap) < most:
            heapq.heappush(heap, entry)
        elif heap:
            heapq.heappushpop(heap, entry)

    @property
    def findings(self) -> list[ListedFinding]:
        """The most severe findings, in order."""
        return sorted(self.listed, reverse=True)

    @property
    def suggestions(self) -> list[ListedFinding]:
        """The most severe suggestions of each code, by code."""
        return [
            each for code in sorted(self.suggested) for each in sorted(self.suggested[code], reverse=True)
        ]


def count(
    verdicts: Iterable[Verdict], taxonomy: Taxonomy, covered: Sequence[str], n_examples: int,
    scores: Mapping[str, DialogueScore],
) -> Figures:  # fmt: skip
    """Returns the figures of `verdicts`. `covered` are the covered and requested codes; `n_examples`
    suggestions of each code are listed; `scores` are reviewed scores by dialogue.

    Raises:
        InputRefused: E_SCORES, there are scores, but none for the dialogues of the verdicts.
    """
    figures, missing = Figures(taxonomy, tuple(covered), n_examples, scores), set(scores)
    for verdict in verdicts:
        figures.add(verdict)
        missing.discard(verdict.dialogue_id)
    if scores and len(missing) == len(scores):
        raise InputRefused("E_SCORES", "--scores: no score is of a dialogue of these verdicts")
    return figures


def load_scores(path: Path) -> dict[str, DialogueScore]:
    """Reads the scores of a file of `dialint export scores`, by dialogue.

    Raises:
        InputRefused: E_SCORES, the file cannot be read, is empty or is no file of scores.
    """
    scores = {each.dialogue_id: each for each in read_records(path, DialogueScore, "E_SCORES")}
    if not scores:
        raise InputRefused("E_SCORES", f"{path}: there is no score in it")
    return scores


@dataclass(frozen=True)
class Table:
    """A table of the report, with a note for its readers."""

    title: str
    note: str
    headings: tuple[str, ...]
    rows: list[tuple[Cell, ...]]

    @classmethod
    def of(cls, title: str, note: str, rows: Iterable[Mapping[str, Cell]]) -> Table:
        """Returns a table of rows as values by heading; all rows have the same headings."""
        listed = list(rows)
        return cls(title, note, tuple(listed[0] if listed else ()), [tuple(row.values()) for row in listed])


def tables(figures: Figures) -> list[Table]:
    """Returns the tables with rows: codes, severities, suggestions, then each dimension that the log has."""
    dimensions = [d for d in DIMENSIONS if set(figures.groups[d]) - {None}]
    listed = [_codes(figures), _severities(figures), _suggestions(figures)]
    return [each for each in (*listed, *(_groups(figures, d) for d in dimensions)) if each.rows]


def _score_figure(score: ReviewedScore) -> Figure:
    return Figure(score.n, score.value, score.low, score.high)


def _codes(figures: Figures) -> Table:
    rows: list[dict[str, Cell]] = []
    for code in sorted(figures.codes, key=lambda code: [*figures.taxonomy.codes, code].index(code)):
        counts = figures.codes[code]
        n, is_rated = counts.severities.total(), counts.dialogues >= LEAST
        rows.append({
            "Code": title(code, figures.taxonomy),
            **{severity: counts.severities[severity] for severity in SEVERITIES},
            "Findings": n,
            "Dialogues with one": counts.flagged,
            "Judged dialogues": counts.dialogues,
            "Dialogues with one per 100": per_100(counts.flagged, counts.dialogues),
            "Judged turns": counts.turns,
            "Findings per 100 turns": _rate(n, counts.turns) if is_rated else None,
        })  # fmt: skip
    note = (
        "Judged are the dialogues and agent turns in which the code was looked for: those in languages that "
        "the release does not cover for it are left out."
    )
    return Table.of("By code", note, rows)


def _severities(figures: Figures) -> Table:
    whole, rows = figures.whole, list[dict[str, Cell]]()
    for level in figures.taxonomy.severities:
        n = sum(by[level.code] for by in figures.tally.findings.values())
        in_judged = whole.severities[level.code]
        is_rated = whole.judged >= LEAST
        rows.append({
            "Severity": f"{level.code} {level.name.en}",
            "Findings": n,
            "Of them in dialogues not judged": n - in_judged,
            "Findings per 100 turns": _rate(in_judged, whole.turns) if is_rated else None,
        })  # fmt: skip
    note = "Some findings are of exact checks in dialogues that could not be judged otherwise; in no rate."
    return Table.of("By severity", note, rows)


def _suggestions(figures: Figures) -> Table:
    note = (
        "Not counted: places worth a look where the evidence does not suffice for a finding. They are in no "
        "other figure of this report."
    )
    rows: Iterable[dict[str, Cell]] = (
        {"Code": title(code, figures.taxonomy), "Suggestions": by.total(), "Demoted by": format_causes(by)}
        for code, by in sorted(figures.tally.suggestions.items())
    )
    return Table.of("Suggestions", note, rows)


def _groups(figures: Figures, dimension: str) -> Table:
    groups, rows = figures.groups[dimension], list[dict[str, Cell]]()
    for name in sorted(groups, key=lambda name: (name is None, name or "")):
        group, reviewed = groups[name], groups[name].reviewed
        n, is_rated = group.findings.total(), group.judged >= LEAST
        row: dict[str, Cell] = {
            dimension.capitalize(): UNKNOWN if name is None else name,
            "Judged dialogues": group.judged,
            "Failed": group.failed,
            "Not judged": group.not_judged,
            "Judged turns": group.turns,
            "Findings": n,
            "Dialogues with S1 or S2": group.serious,
            "With S1 or S2 per 100": per_100(group.serious, group.judged),
            "With a finding per 100": per_100(group.flagged, group.judged),
            "Findings per 100 turns": _rate(n, group.turns) if is_rated else None,
            "Most frequent": " ".join(f"{code} {k}" for code, k in group.findings.most_common(3)),
        }
        if figures.scores:
            row |= {"Read by people": reviewed.n_read, "Model's score": reviewed.model}
            row["Reviewed score"] = _score_figure(reviewed)
        rows.append(row)
    note = (
        f"In order of {'time' if dimension == 'week' else 'name'}, not of merit: overlapping intervals show "
        f"no difference, and among many some stand out by chance. No share where its interval is wider than "
        f"50 points, no rate by turns below {LEAST} judged dialogues."
    )
    return Table.of(f"By {dimension}", note, rows)


def per_100(k: int, n: int) -> Figure:
    """Returns a share per 100 with its interval; without a value if that is too wide."""
    figure = proportion(k, n)
    if figure.value is None or figure.low is None or figure.high is None:
        return figure
    return Figure(n, 100 * figure.value, 100 * figure.low, 100 * figure.high)


def _rate(n: int, turns: int) -> float | None:
    return 100 * n / turns if turns else None


def headline(figures: Figures) -> list[tuple[str, Cell]]:
    """Returns the main figures with their labels."""
    whole = figures.whole
    rate = _rate(whole.findings.total(), whole.turns) if whole.judged >= LEAST else None
    reviewed = [("Reviewed score", _score_figure(whole.reviewed))] if figures.scores else []
    return [
        *reviewed,
        ("Dialogues with an S1 or S2 per 100", per_100(whole.serious, whole.judged)),
        ("Dialogues with a finding per 100", per_100(whole.flagged, whole.judged)),
        ("Findings per 100 agent turns", rate),
        ("Judged dialogues", whole.judged),
        ("Judged agent turns", whole.turns),
        ("Failed dialogues", whole.failed),
        ("Not judged, by language", whole.not_judged),
    ]


def limits(figures: Figures, manifest: Mapping[str, Any]) -> list[str]:
    """Returns the limits of the figures, one line each."""
    reading = manifest.get("reading", {})
    options = manifest.get("work", {}).get("options", {})
    lines = [
        "Findings are a model's, and some are wrong; errors that it missed are not here. Rates of findings "
        "are no rates of errors: the release's model card says how often it was right, on injected errors.",
    ]
    if reading.get("rejected"):
        causes = ", ".join(f"{name} {n:,}" for name, n in reading.get("rejects", {}).items())
        lines.append(f"{reading['rejected']:,} records were rejected and are in no figure: {causes}.")
    if figures.tally.failures:
        causes = ", ".join(f"{name} {n:,}" for name, n in figures.tally.failures.most_common())
        lines.append(f"{figures.tally.failed:,} dialogues failed and are in no rate: {causes}.")
    for code, one in sorted(figures.tally.languages.items()):
        lines.append(
            f"{language_name(code)}: {one.dialogues:,} dialogues with {one.turns:,} agent turns, "
            f"{one.dialogues_not_judged:,} of them not judged at all; "
            f"not looked for: {' '.join(sorted(one.codes)) or '-'}; "
            f"by exact check only: {' '.join(sorted(one.check_only)) or '-'}."
        )
    if figures.scores:
        lines.append(_describe_scores(figures.whole.reviewed))
    demoted = manifest.get("work", {}).get("release", {}).get("demoted", {})
    lines += [f"{code} is only suggested, so it is in no rate: {why}." for code, why in demoted.items()]
    if own := manifest.get("work", {}).get("release", {}).get("overrides", {}).get("thresholds"):
        listed = ", ".join(f"{code} {value:g}" for code, value in sorted(own.items()))
        lines.append(
            f"Thresholds of the team in place of the release's: {listed}. What is between the two is only "
            "suggested, so it is in no rate."
        )
    if far := manifest.get("work", {}).get("log", {}).get("far"):
        lines.append(f"The log is {far}.")
    if judge := manifest.get("judge"):
        lines += _judge_limits(judge)
    missing = [
        code
        for code in figures.taxonomy.codes
        if code not in figures.covered or (code in figures.codes and not figures.codes[code].dialogues)
    ]
    if missing:
        lines.append(f"Codes that nobody looked for: {' '.join(missing)}.")
    if options.get("limit"):
        lines.append(f"Only the first {options['limit']:,} dialogues of the log were scored (--limit).")
    unknown = [d for d in DIMENSIONS if not set(figures.groups[d]) - {None}]
    if unknown and figures.tally.n:
        lines.append(f"The log does not tell of any dialogue its {', '.join(unknown)}.")
    return lines


def _describe_scores(score: ReviewedScore) -> str:
    line = (
        f"Reviewed scores count what people decided in {score.n_read:,} dialogues, {score.sampled.n:,} of "
        f"them a random sample, and in the other {score.unread.n:,} the model's quality, corrected by that "
        f"sample. None is given where its 95 % interval is wider than {WIDEST:g} points."
    )
    if score.rating is not None:
        line += f" {score.n_rated:,} dialogues have a rating or reward, {score.rating:.2f} in the mean."
    if (one := score.correlation) is not None:
        line += f" Its rank correlation with the score: {one.value:.2f} ({one.low:.2f} to {one.high:.2f})."
    return line


def _judge_limits(judge: Mapping[str, Any]) -> list[str]:
    """Returns lines on the questions to the judge, and the missing answers, by the manifest's `judge`."""
    questions = judge["questions"]
    kinds = (
        ("unasked", "left unasked by the budget"),
        ("unmet", "not asked, as sources, policy, actions or times are missing"),
        ("failures", "without a usable answer"),
    )
    gaps = [
        f"{why}: {', '.join(f'{name} {n:,}' for name, n in judge[kind].items())}"
        for kind, why in kinds
        if judge.get(kind)
    ]
    measured = (
        "its probabilities were measured on labels"
        if judge.get("contract")
        else "it was measured on no labels"
    )
    line = (
        f"The judge {judge['name']} was asked {questions['readings']:,} questions about whole dialogues and "
        f"{questions['second_looks']:,} second looks; {measured}."
    )
    return [line, *([f"Dialogues that it says nothing of, by code: {'; '.join(gaps)}."] if gaps else [])]
