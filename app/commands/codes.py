"""``dialint codes``: prints the taxonomy, or the details of one code or category.

Includes how the embedded release covers each code: by its scan, by exact checks, by the team's policies, or
not at all, so that it needs a judge.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from cyclopts import Parameter

from dialint.app.output import print_line, print_table
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
    from rich.text import Text

Language = Literal["en", "es", "ru"]
Coverage: TypeAlias = Mapping[str, CodeRelease]


def codes(
    code: str | None = None,
    /,
    *,
    taxonomy: Path | None = None,
    language: Language = "en",
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> None:
    """Show the errors dialint knows, or everything about one code or category.

    Parameters
    ----------
    code
        A code such as C1, or the letter of a category such as C. All of them if left out.
    taxonomy
        A taxonomy file of your own in place of the packaged one.
    language
        The language of the names.
    as_json
        Write JSON; the same shape with and without CODE.
    """
    loaded = load_taxonomy(taxonomy)
    chosen = loaded.select(code) if code is not None else tuple(loaded.codes.values())
    covered = load_coverage(EMBEDDED, loaded) or {}
    if as_json:
        sys.stdout.write(json.dumps(describe_codes(loaded, chosen, covered), indent=2) + "\n")
    elif code is not None:
        from rich.text import Text

        for number, entry in enumerate(chosen):
            category = next(each for each in loaded.categories if entry in each.codes)
            names = getattr(entry.name, language), getattr(category.name, language)
            gap = "\n" if number else ""
            print_line(f"{gap}{entry.code}  {names[0]}  [{category.code} {names[1]}]")
            lines = _describe(entry, loaded, covered.get(entry.code))
            print_table((), [(Text(label, "dim"), value) for label, value in lines])
    else:
        headings = ("code", "name", "severity", "scope", "needs", "covered by")
        print_table(headings, _rows(loaded, covered, language))
        print_line("")
        print_table((), [(line,) for line in _summary(loaded, covered)])


def describe_codes(taxonomy: Taxonomy, chosen: Sequence[Code], covered: Coverage) -> dict[str, Any]:
    """Returns the taxonomy reduced to the `chosen` codes, in the shape of its file, each code with its
    coverage by the embedded release (`covered`, `covered_by`, `languages`, `checks`)."""
    categories = []
    for category in taxonomy.categories:
        listed: list[dict[str, Any]] = []
        for code in category.codes:
            if code in chosen:
                own = covered.get(code.code)
                coverage = {
                    "covered": bool(own and own.covered_by),
                    "covered_by": list(own.covered_by) if own else [],
                    "languages": list(_languages(own)),
                    "checks": [check.model_dump(mode="json") for check in own.checks] if own else [],
                }
                listed.append(code.model_dump(mode="json") | coverage)
        if listed:
            categories.append({**category.model_dump(mode="json", exclude={"codes"}), "codes": listed})
    return {
        "version": taxonomy.version,
        "severities": [level.model_dump(mode="json") for level in taxonomy.severities],
        "categories": categories,
    }


def _languages(coverage: CodeRelease | None) -> tuple[str, ...]:
    return coverage.scan.languages if coverage and coverage.scan else ()


def _rows(taxonomy: Taxonomy, covered: Coverage, language: Language) -> Iterator[tuple[str | Text, ...]]:
    from rich.text import Text

    for category in taxonomy.categories:
        yield Text(category.code, "bold"), Text(getattr(category.name, language), "bold")
        for code in category.codes:
            needs, coverage = ", ".join(code.needs), describe_coverage(covered, code.code)
            yield code.code, getattr(code.name, language), _severities(code), code.scope, needs, coverage


def _summary(taxonomy: Taxonomy, covered: Coverage) -> list[str]:
    languages = sorted({language for each in covered.values() for language in _languages(each)})
    in_languages = f" in {' and '.join(map(language_name, languages))}" if languages else ""
    n_covered = sum(bool(each.covered_by) for each in covered.values())
    lines = [
        f"Taxonomy {taxonomy.version}: {len(taxonomy.categories)} categories, {len(taxonomy.codes)} codes, "
        f"{n_covered} covered by the embedded release{in_languages}. One of them in full: dialint codes "
        f"{next(iter(taxonomy.codes))}"
    ]
    if covered:
        groups = group_by_coverage(taxonomy.codes, covered)
        lines += [f"{name}: {' '.join(codes)}" for name, codes in groups.items()]
    return lines


def _describe(code: Code, taxonomy: Taxonomy, coverage: CodeRelease | None) -> list[tuple[str, str]]:
    """Returns (label, text) rows about `code` and its coverage."""
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
    if coverage is None:
        return [*lines, ("coverage", f"{NEEDS_JUDGE}: not covered by the embedded release")]
    means = ", ".join(f"covered ({name})" for name in coverage.covered_by)
    lines.append(("coverage", f"{means or f'{NEEDS_JUDGE}: probabilities only'}, by the embedded release"))
    if coverage.scan is not None and "scan" in coverage.covered_by:
        threshold, natural = coverage.scan.threshold, coverage.scan.natural
        facts = ["suggestions only" if threshold is None else f"findings from probability {threshold:.2f}"]
        if natural is not None:
            facts.append(f"on real dialogues {natural.right} of {natural.flagged} were right there")
        lines.append(("scan", f"the model, {'; '.join(facts)}"))
    for check in coverage.checks:
        kind = "policy" if check.name == POLICY_CHECK else "check"
        advice = "; needs dialint score --policy FILE" if kind == "policy" else ""
        right = f"right in {100 * check.precision:.0f} % of its hits" if check.is_measured else "not measured"
        lines.append((kind, f"'{check.name}', {right}, {check.report}s{advice}"))
    if languages := _languages(coverage):
        names = ", ".join(map(language_name, languages))
        lines.append(("languages", f"{names}; in others only exact checks that cover them"))
    return lines


def _severities(code: Code) -> str:
    """Returns the usual severity, then the others it may have: ``S3 (S2 S4)``."""
    others = " ".join(severity for severity in code.severities if severity != code.severity)
    return f"{code.severity} ({others})" if others else code.severity
