"""Renders a report as one HTML page: no script but our own, no network, light and dark. The templates
``page.html.jinja`` and ``page_parts.html.jinja`` escape every text of a dialogue."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.calibration import format_probability
from dialint.detector.statistics import round_interval
from dialint.detector.taxonomy import load_taxonomy
from dialint.eval.breakdowns import Excerpt

if TYPE_CHECKING:
    from jinja2 import Environment

AROUND = 280
"""Characters before and after the evidence, and of an earlier turn's end."""
STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
SIZE, LEFT, TOP = 200, 34, 8
"""Side of the plotted square and its margins, in SVG units."""
Difference = tuple[str, float, float | None, float | None]
"""Name, value, and the ends of its interval."""


def page(report: Mapping[str, Any], excerpts: Mapping[str, Sequence[Excerpt]] | None) -> str:
    """Renders a report of `dialint.eval.run`; `excerpts` has the text of the worst mistakes of each set, or
    is None to leave dialogue text out."""
    environment = _environment()
    header = environment.from_string(
        "<h1>{{ release }}</h1>"
        '<p class="dim">How well it finds labelled errors. Small figures are 95 % intervals over '
        "{{ rounds }} draws of whole source dialogues. Fingerprint {{ fingerprint[:16] }}.</p>"
        '<nav aria-label="Sets">{% for name in sets %}<a href="#{{ name | anchor }}">{{ name }}</a>'
        "{% endfor %}</nav>"
    ).render(report)
    main = environment.get_template("page.html.jinja").render(sets=report["sets"], excerpts=excerpts)
    footer = (
        "Made by dialint eval run. Injected errors are not natural ones: these figures say what the "
        "detector does on errors of these kinds, not how often agents err."
    )
    return document(report["release"], header, main, footer)


def document(title: str, header: str, main: str, footer: str, script: str = "") -> str:
    """Renders a whole page; `title` and `footer` are text, `header` and `main` escaped HTML. The page runs
    `script` and no other."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{POLICY}; script-src 'sha256-{digest}'" if script else POLICY
    style = STYLE.read_text(encoding="utf-8")
    return _part("document", title, style, policy, header, main, footer, script)


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Renders a table; `rows` are whole cells of escaped HTML."""
    from markupsafe import Markup

    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return _part("table", caption, headings, Markup(body))


def turns(excerpt: Excerpt) -> str:
    """Renders the turns with the evidence marked, long ones cut."""
    *before, (role, text) = excerpt.turns
    start, end = excerpt.start, max(excerpt.start, excerpt.end)
    quote = text[start:end] if end - start <= 2 * AROUND else _start(text[start : start + AROUND] + " ")
    earlier = [(who, _end(words)) for who, words in before]
    return _part("turns", earlier, role, _end(text[:start]), quote, _start(text[end:]))


def _end(text: str) -> str:
    return text if len(text) <= AROUND else "… " + text[-AROUND:]


def _start(text: str) -> str:
    return text if len(text) <= AROUND else text[:AROUND] + " …"


def _part(name: str, *arguments: object) -> str:
    """Renders a macro of ``page_parts.html.jinja``."""
    return str(getattr(_environment().get_template("page_parts.html.jinja").module, name)(*arguments))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    names = load_taxonomy().codes
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "width": SIZE + LEFT + 12, "height": SIZE + TOP + 34,
        "x": lambda value: round(LEFT + SIZE * value, 1),
        "y": lambda value: round(TOP + SIZE * (1 - value), 1),
    }  # fmt: skip
    environment.filters |= {
        "anchor": lambda name: "set-" + "".join(char if char.isalnum() else "-" for char in name),
        "code_differences": _code_differences,
        "interval": _interval,
        "macro_differences": _macro_differences,
        "number": _number,
        "probability": format_probability,
        "reach": lambda row: max(abs(row[1] if end is None else end) for end in row[1:]),
        "short": _short,
        "title_of": lambda code: names[code].name.en if code in names else "",
        "turns": lambda excerpt: Markup(turns(excerpt)),
        "two_lines": _two_lines,
    }
    return environment


def _macro_differences(against: Mapping[str, Any]) -> list[Difference]:
    rows = [
        (f"{_short(name)}, {label}", other["difference"][scope]["average_precision"])
        for label, scope in (("all codes", "macro"), ("covered codes", "macro_covered"))
        for name, other in against.items()
    ]
    return [(name, *row.values()) for name, row in rows if row["difference"] is not None]


def _code_differences(other: Mapping[str, Any]) -> list[Difference]:
    rows = ((code, row["average_precision"]) for code, row in other["difference"]["codes"].items())
    return [(code, *row.values()) for code, row in rows if row["difference"] is not None]


def _short(name: str) -> str:
    """Returns the last part of a folder's path."""
    return name.rstrip("/").rpartition("/")[2]


def _two_lines(heading: str) -> list[str]:
    """Splits a long heading into two lines."""
    words = heading.split(" ")
    half = (len(words) + 1) // 2
    return (
        [heading] if len(heading) < 13 or len(words) < 2 else [" ".join(words[:half]), " ".join(words[half:])]
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"


def _interval(bounds: Sequence[float | None]) -> str:
    low, high = bounds
    if low is None or high is None:
        return ""
    low, high = round_interval(low, high, 2)
    return f"{low:.2f} to {high:.2f}"
