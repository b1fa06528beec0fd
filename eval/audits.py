"""Audits: verdicts compared with people's readings of the same log, whole dialogues or a sheet's rows.

A rate is post-stratified by what dialint reported: the verdicts give the size of each stratum (a finding, a
suggestion, nothing) and the audit the share of it with an error. With the strata as predictions this is the
prediction-powered mean with tuned power (PPI++). The unit is the dialogue, as its turns are not independent.

Source: Angelopoulos et al. 2023 (PPI++, arXiv:2311.01453); Kish 1965 (effective number of weighted rows). We
depart from PPI++ in the interval, as its normal one and the bootstrap-t fail where errors are few
(`runs/studies/rates_coverage.py`): ours is a proportion's of the same variance (Korn and Graubard 1998),
which half an error and half a correct one more in each stratum keep from being 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from dialint.detector.errors import ConfigError, InputRefused
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.masking import mask_dialogue
from dialint.detector.records import Example, Verdict
from dialint.detector.statistics import Bools, Floats, Rate, ratio
from dialint.eval.blind_spots import AddedError, Recall
from dialint.eval.judgements import count_judgements, read_sheet, read_spot_check
from dialint.eval.results import read_examples, read_labelled_log
from dialint.eval.spot_check import NOTHING, turn_line

LEAST_EXPECTED = 3
"""Expected readings of a stratum in a random audit from which none at all means that it was left out."""
UNLIKELY = 0.01
"""Level of the test that two strata were sampled at the same rate."""


@dataclass(frozen=True)
class Units:
    """Counts of each dialogue, arrays of shape (dialogues, strata): `sizes` units by what dialint reported,
    `reads` those that people read and `errors` those with an error, both weighted by how many they stand for.
    `totals`, shape (dialogues,), is the denominator of rates: 1, or the judged turns. `is_one_draw`: all
    strata were sampled together, not each by itself as on a sheet."""

    sizes: Floats
    reads: Floats
    errors: Floats
    totals: Floats
    is_one_draw: bool = True

    def rate(self, dialogues: Bools | None = None, strata: slice | None = None) -> Rate:
        """Returns the rate of some of the dialogues, or among the units of some strata, with the variance of
        a sample of dialogues from many. An unread stratum of fewer than `LEAST_EXPECTED` expected readings
        takes the share of its neighbour, if both were sampled together; else the rate is NaN."""
        rows, columns = slice(None) if dialogues is None else dialogues, strata or slice(None)
        sizes, reads, errors = (each[rows][:, columns] for each in (self.sizes, self.reads, self.errors))
        totals = self.totals[rows] if strata is None else sizes.sum(axis=1)
        total, weighted = max(float(totals.sum()), 1.0), reads.sum(axis=0)
        weights = sizes.sum(axis=0) / total
        n = np.nan_to_num(ratio(weighted**2, (reads**2).sum(axis=0)))
        k = np.nan_to_num(n * ratio(errors.sum(axis=0), weighted))
        n_read, n_errors = float((reads > 0).sum()), float((errors > 0).sum())
        source = np.arange(len(n))
        for stratum in np.flatnonzero((n == 0) & (weights * n.sum() < LEAST_EXPECTED)):
            # the next that was read, else the one before
            others = sorted(np.flatnonzero(n > 0), key=lambda other: (other < stratum, abs(other - stratum)))
            names = np.arange(self.sizes.shape[1])[columns]
            alike = [other for other in others if self.is_sampled_equally(names[stratum], names[other])]
            source[stratum] = alike[0] if alike else stratum
        merged = np.bincount(source, weights, len(n))
        used = merged > 0
        if not used.any() or not n[used].all():
            return Rate(math.nan, 0.0, n_errors, n_read)
        shares = np.nan_to_num(ratio(k, n))[source]
        apart = sizes @ shares - totals * float(weights @ shares)
        fixed = len(totals) / max(1, len(totals) - 1) * float(apart @ apart) / total**2
        smooth = (k + 0.5) / (n + 1)
        variance = fixed + float((merged[used] ** 2) @ (smooth * (1 - smooth) / np.maximum(n, 1e-9))[used])
        mean = min(1.0 - 0.5 / (float(n.sum()) + 1), float(merged[used] @ smooth[used]))
        return Rate(float(weights @ shares), mean * (1 - mean) / variance, n_errors, n_read, fixed)

    def is_sampled_equally(self, stratum: int, other: int) -> bool:
        """Returns whether a random sample of two strata together could have this many readings of each, over
        the whole log (Fisher's exact test)."""
        from scipy.stats import hypergeom

        sizes, reads = (
            each[:, [stratum, other]].sum(axis=0).astype(int) for each in (self.sizes, self.reads)
        )
        null = hypergeom(sizes.sum(), sizes[0], reads.sum())
        return self.is_one_draw and bool(min(null.cdf(reads[0]), null.sf(reads[0] - 1)) >= UNLIKELY / 2)

    def recall(self) -> Recall:
        """Returns the share of the log's errors that the first stratum, the findings, holds."""
        n_flagged, n_units = float(self.sizes[:, 0].sum()), float(self.sizes.sum())
        flagged, unflagged = self.rate(strata=slice(1)), self.rate(strata=slice(1, None))
        return Recall(flagged, n_flagged, unflagged, n_units - n_flagged)


@dataclass(frozen=True)
class JudgedRow:
    """A judged row of a sheet. `codes` are that of a finding, which `is_error` if it is right, or the errors
    missed at a turn."""

    is_turn: bool
    dialogue: str
    codes: frozenset[str]
    weight: float
    is_error: bool


@dataclass(frozen=True)
class Audit:
    """Scored verdicts, and people's answers about the dialogues `read`: the codes that are `true` of each, or
    the judged `rows` of a sheet. `added` are the errors that dialint does not report."""

    verdicts: tuple[Verdict, ...]
    read: frozenset[str]
    true: Mapping[str, frozenset[str]]
    rows: tuple[JudgedRow, ...] | None
    added: tuple[AddedError, ...]

    @property
    def n_read(self) -> int:
        """The number of dialogues, or rows of a sheet."""
        return len(self.read) if self.rows is None else len(self.rows)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes with a finding or an error."""
        reported = (finding.code for verdict in self.verdicts for finding in verdict.findings)
        missed = chain.from_iterable(row.codes for row in self.rows or () if row.is_error)
        return tuple(sorted({*reported, *missed, *chain.from_iterable(self.true.values())}))

    def units(self, codes: frozenset[str]) -> Units:
        """Counts the units of some codes together."""
        return self._dialogues(codes) if self.rows is None else self._turns(codes)

    def _dialogues(self, codes: frozenset[str]) -> Units:
        strata = [
            0 if any(finding.code in codes for finding in verdict.findings)
            else 1 if any(finding.code in codes for finding in verdict.suggestions) else 2
            for verdict in self.verdicts
        ]  # fmt: skip
        sizes = np.eye(3)[strata]
        read = np.array([verdict.dialogue_id in self.read for verdict in self.verdicts])
        true = np.array(
            [bool(self.true.get(each.dialogue_id, frozenset()) & codes) for each in self.verdicts]
        )
        return Units(sizes, sizes * read[:, None], sizes * (read & true)[:, None], np.ones(len(sizes)))

    def _turns(self, codes: frozenset[str]) -> Units:
        number = {verdict.dialogue_id: index for index, verdict in enumerate(self.verdicts)}
        totals = np.array([verdict.judged_turns for verdict in self.verdicts], float)
        flagged = np.array([len({f.turn for f in each.findings}) for each in self.verdicts], float)
        n_findings = np.array([sum(f.code in codes for f in each.findings) for each in self.verdicts], float)
        sizes = np.column_stack([n_findings, np.maximum(totals - flagged, 0.0)])
        reads, errors = np.zeros_like(sizes), np.zeros_like(sizes)
        for row in self.rows or ():
            if row.is_turn or row.codes & codes:
                place = number[row.dialogue], int(row.is_turn)
                reads[place] += row.weight
                errors[place] += row.weight * (row.is_error and bool(row.codes & codes))
        return Units(sizes, reads, errors, totals, is_one_draw=False)


def audit_of_examples(
    scored: Sequence[Verdict], paths: Iterable[Path], labels: Path | None, reading: ReadConfig | None
) -> Audit:
    """Joins verdicts with dialogues that were read as a whole; dialogues that were not judged are left out.

    Raises:
        ConfigError: E_LABEL, a dialogue that was read is not among the verdicts, or stands twice.
        InputRefused: E_EMPTY, none of them was read.
    """
    verdicts = {verdict.dialogue_id: verdict for verdict in scored}
    examples: dict[str, Example] = {}
    for path in paths:
        for example in read_examples(path) if labels is None else read_labelled_log(path, labels, reading):
            name = example.dialogue.id
            if name not in verdicts or name in examples:
                problem = "stands twice" if name in examples else "is not among the verdicts"
                raise ConfigError("E_LABEL", f"{path}: dialogue {name} {problem}")
            if verdicts[name].status == "scored":
                examples[name] = example
    added = [error for name, example in examples.items() for error in _added(verdicts[name], example)]
    true = {name: frozenset(label.code for label in example.errors) for name, example in examples.items()}
    return _audit(verdicts.values(), true.keys(), true, None, added)


def _added(verdict: Verdict, example: Example) -> Iterable[AddedError]:
    """Yields the errors of codes without a finding in the dialogue."""
    reported = {finding.code for finding in verdict.findings}
    suggested = {(finding.code, finding.turn) for finding in verdict.suggestions}
    missed = {(label.turn, label.code) for label in example.errors if label.code not in reported}
    masked = mask_dialogue(example.dialogue)[0] if missed else example.dialogue
    texts = {turn.index: turn_line(turn) for turn in masked.turns}
    for turn, code in sorted(missed):
        yield AddedError(verdict.dialogue_id, turn, code, texts[turn], (code, turn) in suggested)


def audit_of_sheet(scored: Sequence[Verdict], sheet: Path) -> Audit:
    """Joins verdicts with the judged rows of a sheet that was drawn from them; `arguable` is no error.

    Raises:
        ConfigError: E_LABEL, a drawn dialogue is not among the verdicts, or they are of another release.
        InputRefused: the sheet cannot be read; E_EMPTY, nothing of it is judged.
    """
    sample, cells_of = read_spot_check(sheet), read_sheet(sheet)
    count_judgements(sample, cells_of)  # refuses rows that are not as they were drawn
    by_number = {row.number: row for row in sample.rows}
    verdicts = {verdict.dialogue_id: verdict for verdict in scored}
    rows, added = [], []
    for cells in cells_of:
        row = by_number[int(cells["number"].lstrip("'"))]
        verdict = verdicts.get(row.dialogue)
        if verdict is None or verdict.release != sample.release:
            raise ConfigError("E_LABEL", f"{sheet}: not drawn from these verdicts (dialogue {row.dialogue})")
        if verdict.status != "scored":  # an exact check's finding in what was not judged: in no rate
            continue
        missed = cells["missed"].upper().replace(",", " ").replace(";", " ").split()
        codes = frozenset(missed) - {NOTHING.upper()}
        if row.kind == "turn" and missed:
            rows.append(JudgedRow(True, row.dialogue, codes, row.weight, bool(codes)))
            suggested = {finding.code for finding in verdict.suggestions if finding.turn == row.turn}
            text = cells.get("text", "")
            added += [
                AddedError(row.dialogue, row.turn, code, text, code in suggested) for code in sorted(codes)
            ]
        elif row.kind == "finding" and (judgement := cells["judgement"].lower()):
            own = frozenset({row.code})
            rows.append(JudgedRow(False, row.dialogue, own, row.weight, judgement == "right"))
    return _audit(verdicts.values(), {row.dialogue for row in rows}, {}, tuple(rows), added)


def _audit(
    verdicts: Iterable[Verdict],
    read: Iterable[str],
    true: Mapping[str, frozenset[str]],
    rows: tuple[JudgedRow, ...] | None,
    added: Iterable[AddedError],
) -> Audit:
    names = frozenset(read)
    if not names:
        raise InputRefused("E_EMPTY", "no scored dialogue was read, so there is no rate")
    light = (each.model_copy(update={"probabilities": None}) for each in verdicts if each.status == "scored")
    return Audit(tuple(light), names, true, rows, tuple(added))
