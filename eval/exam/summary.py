"""Figures as a report holds them: plain numbers, rounded, None where there is nothing to measure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialint.detector.statistics import percentile_interval
from dialint.eval.exam.figures import MACRO, Examined
from dialint.eval.truth import Results, n_judged, sources_of


def described(examined: Examined, results: Results) -> dict[str, Any]:
    """The figures as a report holds them, each with its 95 % interval under the name ``..._95``."""
    scored = [verdict for _, verdict in results if verdict.status == "scored"]
    covered = [code for code in examined.present if code in examined.covered]
    whole = {name: _whole(name, values) for name, values in examined.whole.items()}
    macro: dict[str, Any] = {}
    for name in MACRO:
        for suffix, codes in (("", examined.present), ("_covered", covered)):
            macro |= with_interval(f"macro_{name}{suffix}", examined.macro(name, codes))
    return {
        "dialogues": len(results),
        "source_dialogues": len(sources_of(results)),
        "failed": sum(verdict.status == "failed" for _, verdict in results),
        "not_judged": sum(verdict.status == "not_judged" for _, verdict in results),
        "judged_turns": sum(map(n_judged, scored)),
        "turns_not_judged": sum(
            len(verdict.probabilities or {}) - (n_judged(verdict) if verdict.status == "scored" else 0)
            for _, verdict in results
        ),
        **{key: value for row in whole.values() for key, value in row.items()},
        **macro,
        "codes": {code: _row(examined, code) for code in examined.codes},
    }


def _whole(name: str, values: np.ndarray) -> dict[str, Any]:
    """A figure of the whole set; nothing judged is nothing flagged."""
    figure = with_interval(name, values)
    return figure | {name: figure[name] or 0.0} if name.endswith("turns") else figure


def _row(examined: Examined, code: str) -> dict[str, Any]:
    rows = examined.rows[code]
    row: dict[str, Any] = {
        "n_errors": int(rows.truth.sum()),
        "n": len(rows.truth),
        "flagged": int(rows.flagged.sum()),
        "covered": code in examined.covered,
        "n_pairs": len(examined.pairs[code].errors),
    }
    for name, values in examined.codes[code].items():
        row |= with_interval(name, values)
    return row


def with_interval(name: str, values: np.ndarray) -> dict[str, Any]:
    """A figure under its name, and its 95 % interval under the name ``..._95``."""
    value, *bounds = shown(values)
    return {name: value, f"{name}_95": bounds}


def number(value: float) -> float | None:
    """Four decimals, None for NaN."""
    return None if np.isnan(value) else round(float(value), 4)


def shown(values: np.ndarray) -> list[float | None]:
    """A figure and the ends of its interval, from its values of shape (1 + rounds,)."""
    return [number(value) for value in (values[0], *percentile_interval(values))]
