"""The worst mistakes in words: the turn with its evidence marked, and the two turns before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dialint.detector.calibration import format_probability
from dialint.eval.exam.worst import Told

HEADINGS = {
    "accused wrongly": "Accused most surely, and wrongly",
    "not seen": "Errors that were least seen",
}


AROUND = 280
"""Characters shown before and after the evidence, and of an earlier turn's end."""


def cases(places: Sequence[Mapping[str, Any]], told: Sequence[Told] | None) -> str:
    """Both lists; without `told` only where each mistake stands."""
    parts = []
    for kind, heading in HEADINGS.items():
        numbers = [number for number, place in enumerate(places) if place["kind"] == kind]
        if numbers:
            shown = "".join(_case(places[n], None if told is None else told[n]) for n in numbers)
            parts.append(f"<h3>{escape(heading)}</h3>{shown}")
    return "".join(parts)


def _case(place: Mapping[str, Any], told: Told | None) -> str:
    probability = escape(format_probability(place["probability"]))
    head = (
        f'<p class="head"><b>{escape(place["code"])}</b> with probability {probability} '
        f'<span class="dim">turn {place["turn"]} of {escape(place["dialogue"])}</span></p>'
    )
    return f'<article class="case">{head}{"" if told is None else turns(told)}</article>'


def turns(told: Told) -> str:
    """The turns with the evidence marked, long ones cut."""
    *before, (role, text) = told.turns
    lines = "".join(
        f'<p class="dim"><span class="who">{escape(who)}</span>{escape(_end(words))}</p>'
        for who, words in before
    )
    start, end = told.start, max(told.start, told.end)
    quote = text[start:end] if end - start <= 2 * AROUND else _start(text[start : start + AROUND] + " ")
    marked = f"<mark>{escape(quote)}</mark>" if quote else ""
    return (
        f'{lines}<p><span class="who">{escape(role)}</span>{escape(_end(text[:start]))}{marked}'
        f"{escape(_start(text[end:]))}</p>"
    )


def _end(text: str) -> str:
    return text if len(text) <= AROUND else "… " + text[-AROUND:]


def _start(text: str) -> str:
    return text if len(text) <= AROUND else text[:AROUND] + " …"
