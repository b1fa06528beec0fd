"""``dialint diff A.jsonl B.jsonl``: compares the findings of two runs.

Reads finished outputs of `dialint score`; the order of dialogues does not matter. Findings are matched by
dialogue, code and the words of the quote, then by dialogue, code and turn; of a matched pair the changed
fields are printed, except probability and reason. Suggestions are listed only if they are a finding in the
other run. Exit codes: 0, 1 `--fail-on` found a new finding, 2 the input is wrong, 3 there is none, but
something that A judged was not judged in B.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from dialint.app.output import print_line, print_table
from dialint.detector.records import Severity

if TYPE_CHECKING:
    from dialint.detector.records import Finding, Verdict

COMPARED = ("turn", "severity", "fault", "quote")


def quote_words(quote: str) -> str:
    """Returns a quote without case, punctuation, and the numbers of placeholders (`[NAME_2]`): the key by
    which quotes of two runs are matched."""
    return " ".join(re.findall(r"[^\W_]+", re.sub(r"_\d+\b", "", quote.casefold()))) or quote


class Side(NamedTuple):
    """A finding or a suggestion of one run."""

    kind: str
    finding: Finding


@dataclass(frozen=True)
class FindingChange:
    """A difference between two runs: a finding that is new, gone or changed."""

    before: Side | None
    after: Side | None

    @property
    def name(self) -> str:
        return "new" if self.before is None else "gone" if self.after is None else "changed"

    @property
    def finding(self) -> Finding:
        """The finding of the second run, or of the first if it is gone."""
        side = self.after or self.before
        assert side is not None
        return side.finding

    @property
    def details(self) -> list[str]:
        """The changed values, as ``name before -> after``."""
        if self.before is None or self.after is None:
            return []
        pairs = [("", self.before.kind, self.after.kind)]
        pairs += [
            (f"{name} ", str(getattr(self.before.finding, name)), str(getattr(self.after.finding, name)))
            for name in COMPARED
        ]
        return [f"{name}{before} -> {after}" for name, before, after in pairs if before != after]

    @property
    def is_reported(self) -> bool:
        """True if a side is a finding and something differs."""
        kinds = [side.kind for side in (self.before, self.after) if side]
        return "finding" in kinds and (self.name != "changed" or bool(self.details))

    def fails(self, fail_on: Severity) -> bool:
        """Returns whether only the second run has a finding at least as severe as `fail_on`."""
        before, after = (
            side is not None and side.kind == "finding" and side.finding.severity <= fail_on
            for side in (self.before, self.after)
        )
        return after and not before

    def as_json(self, dialogue: str) -> dict[str, Any]:
        sides = {
            name: side and {"kind": side.kind, **side.finding.model_dump(mode="json")}
            for name, side in (("before", self.before), ("after", self.after))
        }
        return {"dialogue_id": dialogue, "change": self.name, **sides}


def compare(before: Verdict | None, after: Verdict) -> list[FindingChange]:
    """Returns the changes between two verdicts on a dialogue."""
    left, right = _sides(before), _sides(after)
    changes: list[FindingChange] = []
    for has_quote, has_turn in ((True, True), (True, False), (False, True)):

        def key(side: Side, has_quote: bool = has_quote, has_turn: bool = has_turn) -> Hashable:
            finding = side.finding
            return finding.code, has_quote and quote_words(finding.quote), has_turn and finding.turn

        by_key: dict[Hashable, list[Side]] = defaultdict(list)
        for side in left:
            by_key[key(side)].append(side)
        unmatched = []
        for side in right:
            matches = by_key[key(side)]
            changes.append(FindingChange(matches.pop(0), side)) if matches else unmatched.append(side)
        left, right = [side for sides in by_key.values() for side in sides], unmatched
    changes += [*(FindingChange(side, None) for side in left), *(FindingChange(None, side) for side in right)]
    return [each for each in changes if each.is_reported]


def _sides(verdict: Verdict | None) -> list[Side]:
    if verdict is None:
        return []
    kinds = (("finding", verdict.findings), ("suggestion", verdict.suggestions))
    return [Side(kind, finding) for kind, findings in kinds for finding in findings]


def diff(
    before: Path,
    after: Path,
    /,
    *,
    fail_on: Severity | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Show what two runs of `dialint score` find differently: new, gone and changed findings.

    Parameters
    ----------
    before, after
        Finished outputs of `dialint score`.
    fail_on
        Exit with 1 if a finding this severe or more severe is new, and with 3 if none is, but a dialogue that
        was judged before is missing, or was not judged as a whole.
    as_json
        Write JSON.
    """
    from dialint.app.scoring.reports import visible
    from dialint.detector.languages import describe_gaps
    from dialint.detector.verdict_files import read_verdicts

    totals: dict[str, Counter[str]] = defaultdict(Counter)
    versions: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    first: dict[str, Verdict] = {}
    for verdict in read_verdicts(before):
        first[verdict.dialogue_id] = verdict
        versions[0][_version(verdict)] += 1
        for finding in verdict.findings:
            totals[finding.code]["before"] += 1
    n_before, n_after = len(first), 0
    changed: dict[str, list[FindingChange]] = {}
    lost: dict[str, str] = {}
    for verdict in read_verdicts(after):
        n_after += 1
        versions[1][_version(verdict)] += 1
        for finding in verdict.findings:
            totals[finding.code]["after"] += 1
        earlier = first.pop(verdict.dialogue_id, None)
        if earlier is not None and earlier.quality is not None and verdict.quality is None:
            lost[verdict.dialogue_id] = verdict.failure or describe_gaps(verdict)
        if verdict.status == "scored" and (changes := compare(earlier, verdict)):
            changed[verdict.dialogue_id] = changes
    lost |= {name: "missing" for name, verdict in first.items() if verdict.quality is not None}
    for change in (change for changes in changed.values() for change in changes):
        totals[change.finding.code][change.name] += 1
    columns = ("before", "after", "new", "gone", "changed")
    codes = {code: {name: totals[code][name] for name in columns} for code in sorted(totals)}
    notes = [] if set(versions[0]) == set(versions[1]) else [
        f"made with {' and '.join(sorted(versions[0]))} before, {' and '.join(sorted(versions[1]))} after"
    ]  # fmt: skip
    if as_json:
        report = {
            "kind": "diff",
            "dialogues": {"before": n_before, "after": n_after},
            "changes": [each.as_json(name) for name, changes in changed.items() for each in changes],
            "lost": lost,
            "codes": codes,
            "notes": notes,
        }
        sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    else:
        for name, changes in changed.items():
            print_line("\n".join([visible(name), *_lines(changes)]))
        for name, why in lost.items():
            print_line(f"{visible(name)}\n  not judged any more: {why}")
        if codes:
            print_table(("code", *columns), [(code, *map(str, row.values())) for code, row in codes.items()])
        print_line("; ".join([f"{n_before:,} dialogues before, {n_after:,} after", *notes]))
    if fail_on is None:
        return 0
    if any(each.fails(fail_on) for changes in changed.values() for each in changes):
        return 1
    return 3 if lost else 0


def _version(verdict: Verdict) -> str:
    team = f", overrides {verdict.overrides[:8]}" if verdict.overrides else ""
    return f"{verdict.release}, taxonomy {verdict.taxonomy}{team}"


def _lines(changes: Sequence[FindingChange]) -> Iterator[str]:
    from dialint.app.scoring.reports import finding_lines, visible
    from dialint.detector.taxonomy import load_taxonomy

    taxonomy = load_taxonomy()
    for change in changes:
        head, *more = finding_lines(change.finding, taxonomy)
        yield f"  {change.name:<8}{head}"
        details = more if change.name == "new" else map(visible, change.details)
        yield from (f"          {line}" for line in details)
