"""``dialint codes``: the taxonomy on the screen, and all that is known of one code or category.

It shows what the file says, and how the embedded release covers each code: by its scan, by exact checks, by
the team's policies, or not at all, so that it needs a judge. It judges nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from dialint.detector.calibration import (
    NEEDS_JUDGE,
    POLICY_CHECK,
    CodeRelease,
    describe_coverage,
    group_by_coverage,
)
from dialint.detector.languages import language_name
from dialint.detector.release import EMBEDDED, load_coverage
from dialint.detector.taxonomy import Code, Taxonomy, load_taxonomy

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

PIPE_WIDTH = 100
"""Columns of the output where no terminal says how wide it is."""

Language = Literal["en", "es", "ru"]
Coverage: TypeAlias = Mapping[str, CodeRelease]


@dataclass(frozen=True, kw_only=True)
class CodesConfig:
    """Which taxonomy is shown, and how."""

    taxonomy: Annotated[
        Path | None, Parameter(help="A taxonomy file of your own in place of the packaged one.")
    ] = None
    language: Annotated[Language, Parameter(help="The language of the names.")] = "en"
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="Write JSON; the same shape with and without CODE.")
    ] = False


def codes(
    code: str | None = None, /, *, config: Annotated[CodesConfig, Parameter(name="*")] | None = None
) -> None:
    """Show the errors dialint knows, or everything about one code or category.

    Parameters
    ----------
    code
        A code such as C1, or the letter of a category such as C. All of them if left out.
    """
    config = config or CodesConfig()
    taxonomy = load_taxonomy(config.taxonomy)
    chosen = taxonomy.select(code) if code is not None else tuple(taxonomy.codes.values())
    covered = load_coverage(EMBEDDED, taxonomy) or {}
    if config.as_json:
        sys.stdout.write(json.dumps(as_json(taxonomy, chosen, covered), indent=2) + "\n")
    elif code is not None:
        _show(*_details(taxonomy, chosen, covered, config.language))
    else:
        _show(_table(taxonomy, covered, config.language), f"\n{_summary(taxonomy, covered)}")


def as_json(taxonomy: Taxonomy, chosen: Sequence[Code], covered: Coverage) -> dict[str, Any]:
    """Return the taxonomy cut down to the `chosen` codes, in the shape of its file; each code has how the
    embedded release covers it (`covered_by`, `languages`, `checks`) where there is one."""
    categories = []
    for category in taxonomy.categories:
        listed: list[dict[str, Any]] = []
        for code in category.codes:
            if code in chosen:
                how = covered.get(code.code)
                coverage = {
                    "covered": how is not None,
                    "covered_by": list(how.covered_by) if how else [],
                    "languages": list(_languages(how)),
                    "checks": [check.model_dump(mode="json") for check in how.checks] if how else [],
                }
                listed.append(code.model_dump(mode="json") | coverage)
        if listed:
            categories.append({**category.model_dump(mode="json", exclude={"codes"}), "codes": listed})
    return {
        "version": taxonomy.version,
        "severities": [level.model_dump(mode="json") for level in taxonomy.severities],
        "categories": categories,
    }


def _languages(how: CodeRelease | None) -> tuple[str, ...]:
    return how.scan.languages if how and how.scan else ()


def _show(*parts: RenderableType) -> None:
    """Print to standard output, coloured only on a terminal, no line with blanks at its end."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def _columns(**options: Any) -> Table:
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), **options)


def _table(taxonomy: Taxonomy, covered: Coverage, language: Language) -> Table:
    from rich.text import Text

    table = _columns(header_style="bold")
    for heading in ("code", "name", "severity", "scope", "needs", "covered by"):
        table.add_column(heading, no_wrap=heading == "code")
    for category in taxonomy.categories:
        table.add_row(category.code, Text(getattr(category.name, language), "bold"))
        for code in category.codes:
            row = [
                code.code,
                getattr(code.name, language),
                _severities(code),
                code.scope,
                ", ".join(code.needs),
                describe_coverage(covered, code.code),
            ]
            table.add_row(*(Text(cell) for cell in row))
    return table


def _summary(taxonomy: Taxonomy, covered: Coverage) -> str:
    languages = sorted({language for how in covered.values() for language in _languages(how)})
    in_languages = f" in {' and '.join(map(language_name, languages))}" if languages else ""
    lines = [
        f"Taxonomy {taxonomy.version}: {len(taxonomy.categories)} categories, {len(taxonomy.codes)} codes, "
        f"{len(covered)} covered by the embedded release{in_languages}. One of them in full: dialint codes "
        f"{next(iter(taxonomy.codes))}"
    ]
    if covered:
        groups = group_by_coverage(taxonomy.codes, covered)
        lines += [f"{name}: {' '.join(codes)}" for name, codes in groups.items()]
    return "\n".join(lines)


def _details(
    taxonomy: Taxonomy, chosen: Sequence[Code], covered: Coverage, language: Language
) -> Iterator[RenderableType]:
    from rich.text import Text

    for number, code in enumerate(chosen):
        category = next(each for each in taxonomy.categories if code in each.codes)
        if number:
            yield ""
        names = getattr(code.name, language), getattr(category.name, language)
        yield Text(f"{code.code}  {names[0]}  [{category.code} {names[1]}]", "bold")
        grid = _columns(show_header=False)
        grid.add_column(no_wrap=True)
        grid.add_column()
        for label, value in _lines(code, taxonomy, covered):
            grid.add_row(Text(label, "dim"), Text(value))
        yield grid


def _lines(code: Code, taxonomy: Taxonomy, covered: Coverage) -> list[tuple[str, str]]:
    """Label and text of every line about `code`, in the order a labeler wants them."""
    meaning = {level.code: f"{level.name.en}: {level.meaning}" for level in taxonomy.severities}
    lines = [
        ("definition", code.definition),
        ("test", code.test),
        ("an error", code.example),
        ("not an error", code.counter_example),
        ("severity", f"{_severities(code)}  {meaning[code.severity]}"),
        ("scope", code.scope),
        ("usual fault", code.fault),
        ("needs", ", ".join(code.needs) or "the text alone"),
    ]
    return lines + _coverage_details(covered.get(code.code))


def _coverage_details(how: CodeRelease | None) -> list[tuple[str, str]]:
    """How a code is covered, with checks and languages."""
    if how is None:
        return [("coverage", f"{NEEDS_JUDGE}: not covered by the embedded release")]
    means = ", ".join(f"covered ({name})" for name in how.covered_by) or f"{NEEDS_JUDGE}: probabilities only"
    lines = [("coverage", f"{means}, by the embedded release")]
    if how.scan is not None and "scan" in how.covered_by:
        threshold, natural = how.scan.threshold, how.scan.natural
        facts = ["suggestions only" if threshold is None else f"findings from probability {threshold:.2f}"]
        if natural is not None:
            facts.append(f"on real dialogues {natural.right} of {natural.flagged} were right there")
        lines.append(("scan", f"the model, {'; '.join(facts)}"))
    for check in how.checks:
        kind = "policy" if check.name == POLICY_CHECK else "check"
        advice = "; needs dialint score --policy FILE" if kind == "policy" else ""
        lines.append(
            (kind, f"'{check.name}', right in {check.precision:.0%} of its hits, {check.report}s{advice}")
        )
    if languages := _languages(how):
        names = ", ".join(map(language_name, languages))
        lines.append(("languages", f"{names}; in others only exact checks that cover them"))
    return lines


def _severities(code: Code) -> str:
    """The usual severity, then the others it may get: ``S3 (S2 S4)``."""
    others = " ".join(severity for severity in code.severities if severity != code.severity)
    return f"{code.severity} ({others})" if others else code.severity
