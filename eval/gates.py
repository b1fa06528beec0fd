"""The gates of a promotion: tests of a candidate against the release in use, from reports alone.

Reads the figures of both on the same labelled dialogues, of scans by `dialint.eval.run` and
`dialint.eval.attack`, of judges by `dialint eval judge`. On every gold set a test of non-inferiority must
pass: the lower bound of the paired difference decides, and no bound is nearer to the difference than the rule
of three allows, so a set that is too small blocks. The other gates block a candidate that is significantly
bad; where one tests many codes or groups, by Bonferroni over all of them. Where no judge is in use, a judge
must find significantly more than no errors, and every limit is absolute. Measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

from dialint.detector.calibration import MIN_PRECISION
from dialint.detector.registry import Gate
from dialint.detector.statistics import Z_95, clopper_pearson_upper
from dialint.eval.breakdowns import BINS, GROUPS, MIN_SOURCES
from dialint.eval.judge_measure import MAX_FAILED

ALPHA = 0.05
MARGIN = 0.02
"""Points that the candidate may lose: of precision and recall on a gold set, of a code's figures. A first
judge must find more than that of the errors."""
MAX_GAP = 0.05
"""Between stated probability and frequency, in any bin."""
MAX_WRONG_GAP, MAX_RECALL_GAP = 1.0, 0.1
"""Wrong findings on 100 turns of a group beyond those of all others, and the recall below theirs."""
MAX_FLIPS = 0.05
"""Share of attacks that succeed beyond neutral text, where no release is in use to compare with."""
MAX_SLOWER = 1.5
"""Seconds for the same dialogues, to those of the release in use."""
CURRENT = "current"
"""Name of the release in use in the reports on sets; a set without it is compared with nothing."""
Row = Sequence[float | None]
"""A figure, and the ends of its 95 % interval."""
Test = tuple[str, Row, float]
"""A statement about a figure, the figure, and the limit that it must not be significantly above."""
Sets = Mapping[str, Mapping[str, Any]]
"""Name of a gold set to its part of a report of `dialint eval run`."""
Pair = Sequence[Any]
"""A value of the candidate, and of the release in use or None."""


def release_gates(
    sets: Sets, *, promised: Mapping[str, float], precision: float | None = None, attacks: Pair, seconds: Pair
) -> list[Gate]:
    """Tests a candidate by all gates. `promised` are its false accusations on 100 clean turns by code,
    `precision` that of all its findings, as far as its contract has them; `attacks` are figures of `dialint
    eval attack`, `seconds` those for the same dialogues."""
    return [
        *(_gold(name, content) for name, content in sets.items()),
        _each_code(sets),
        _calibration(sets),
        _contract(sets, promised, precision),
        _fairness(sets),
        _attacks(*attacks),
        _throughput(*seconds),
    ]


def judge_gates(report: Mapping[str, Any], candidate: str, current: str | None) -> list[Gate]:
    """Tests a report of `dialint eval judge` about the judges of these fingerprints, the candidate and the
    one in use, if there is one."""
    judges, served, split = report["judges"], report.get("served"), report["split"]
    first, *others = judges
    mine, theirs = judges[first], None
    name = next((name for name in others if judges[name].get("release") == current is not None), None)
    if mine.get("release") != candidate or (name is None) != (current is None) or split == "train":
        detail = (
            f"compares {first} with {' '.join(others) or 'nothing'} on {split}, not the candidate, as it is "
            "now, with the judge in use on dialogues it did not learn from"
        )
        return [Gate(name="gold", passed=False, detail=detail)]
    if served is None or (name is not None and name not in served["against"]):
        detail = "not measured: name that of each judge by `dialint eval judge --contract`"
        return [Gate(name="contract", passed=False, detail=detail)]
    against = {}
    if name is not None:
        theirs, against = judges[name], {CURRENT: served["against"][name]}
    gates = release_gates(
        {split: {**served, "sha256": report["dataset"], "against": against}},
        promised={},
        precision=mine["contract"],
        attacks=(mine["attacks"], theirs and theirs["attacks"]),
        seconds=(mine["usage"]["seconds"], theirs and theirs["usage"]["seconds"]),
    )
    return [*gates, _acts(mine["unlike_base"])]


def _gold(name: str, content: Mapping[str, Any]) -> Gate:
    """Passes if the lower bound of every paired difference is above minus `MARGIN`, and no more dialogues or
    errors are left unjudged; without a release in use, if the lower bound of recall is above `MARGIN`.

    If none of n dialogues gets worse, up to 3 / n of all may, which resampling cannot show. Source: Hanley
    and Lippman-Hand 1983, the rule of three.
    """
    name, other = f"gold {name} {content['sha256'][:8]}", content["against"].get(CURRENT)
    lost = content["failed"] + content["not_judged"]
    if other is None:
        share, low, high = (each or 0.0 for each in _row(content, "recall_of_errors"))
        recall = f"{share:.3f} ({low:.3f} to {high:.3f}) of the errors found"
        problems = [] if lost <= MAX_FAILED * content["dialogues"] else [f"{lost} dialogues not judged"]
        problems += [] if low > MARGIN else [f"not shown to find errors: {recall}"]
        return _none_of(name, problems, recall)
    lost -= other["figures"]["failed"] + other["figures"]["not_judged"]
    counts = {f"{lost} dialogues": lost, f"{(n := other['difference']['errors_not_judged'])} errors": n}
    problems, measured = [f"{which} more not judged" for which, n in counts.items() if n > 0], []
    for figure, whole, source in (
        ("precision", "precision_of_findings", "dialogues_with_findings"),
        ("recall", "recall_of_errors", "dialogues_with_errors"),
    ):
        row, n = other["difference"]["whole"][whole], content[source]
        if figure == "precision" and other["figures"][whole] is None:
            continue  # the release in use finds nothing here
        measured.append(f"{figure} {_points(row)} on {n} dialogues")
        if row["low"] is None or row["low"] < -MARGIN:
            problems.append(f"{figure} may be worse")
        elif row["difference"] - clopper_pearson_upper(0, n, 1 - ALPHA) < -MARGIN:
            problems.append(f"too few dialogues to tell that {figure} is no worse")
    return Gate(name=name, passed=not problems, detail="; ".join([*problems, *measured]))


def _points(row: Mapping[str, Any]) -> str:
    value, low, high = (row[part] for part in ("difference", "low", "high"))
    if value is None or low is None:
        return "can't be compared"
    return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def _each_code(sets: Sets) -> Gate:
    tests = [
        (f"{set_} {code} {figure.replace('_', ' ')}", row)
        for set_, content in sets.items()
        if (other := content["against"].get(CURRENT)) is not None
        for code, own in other["difference"]["codes"].items()
        if other["figures"]["codes"][code]["dialogues_with_errors"] >= MIN_SOURCES
        for figure, row in own.items()
        if figure in ("average_precision", "f1") and row["difference"] is not None
    ]
    worse = [
        f"{name} {_points(row)}"
        for name, row in tests
        if row["difference"] <= -MARGIN
        and _is_above([-row[x] for x in ("difference", "high", "low")], 0, tests)
    ]
    return _none_of("codes", worse, f"none of {len(tests)} figures of codes worse beyond chance")


def _is_above(row: Row, limit: float, tests: Sequence[object]) -> bool:
    """Returns whether a figure is significantly above `limit`, as one of `tests` (Bonferroni)."""
    value, low = row[0], row[1]
    if value is None or low is None:
        return False
    z = NormalDist().inv_cdf(1 - ALPHA / max(1, len(tests)))
    return value - limit > z * (value - low) / Z_95


def _none_of(name: str, problems: Sequence[str], otherwise: str) -> Gate:
    return Gate(name=name, passed=not problems, detail="; ".join(problems) or otherwise)


def _calibration(sets: Sets) -> Gate:
    bins, off = [(name, own) for name, content in sets.items() for own in content["calibration"]], []
    for name, (stated, n, gap, low, high) in bins:
        theirs = sets[name]["against"].get(CURRENT, {"calibration": ()})["calibration"]
        before = [abs(own[2]) for own in theirs if int(own[0] * BINS) == int(stated * BINS)]
        if _is_far((gap, low, high), max(MAX_GAP, *before, 0.0), bins):
            off.append(f"{name}: stated {stated:.2f}, {gap:+.2f} off in {n} rows")
    detail = f"{len(bins)} bins, none shown to be off by more than {MAX_GAP} or before"
    return _none_of("calibration", off, detail)


def _is_far(row: Row, limit: float, tests: Sequence[object]) -> bool:
    """Returns whether a figure is significantly above `limit`, or below minus it."""
    if None in row:
        return False
    value, low, high = (float(each or 0.0) for each in row)
    return _is_above((value, low), limit, tests) or _is_above((-value, -high), limit, tests)


def _contract(sets: Sets, promised: Mapping[str, float], precision: float | None) -> Gate:
    tests: list[Test] = []
    for set_, content in sets.items():
        if precision is not None:
            tests += _wrong_findings(set_, _row(content, "precision_of_findings"), precision)
        for code, own in content["codes"].items():
            if code in promised:
                row = _row(own, "false_accusations_per_100")
                what = f"{set_} {code}: {row[0]} false accusations on 100 clean turns, promised "
                tests.append((f"{what}{promised[code]:g}", row, promised[code]))
            least = min(MIN_PRECISION, precision or 1.0)
            tests += _wrong_findings(f"{set_} {code}", _row(own, "precision"), least)
    return _none_above("contract", tests, "promises, none shown to be broken")


def _wrong_findings(name: str, row: Row, least: float) -> list[Test]:
    """Returns the test of a precision that must be at least `least`; none without findings."""
    value, _, high = row
    if value is None:
        return []
    wrong = 1 - value, None if high is None else 1 - high
    return [(f"{name}: {wrong[0]:.2f} of findings wrong", wrong, 1 - least)]


def _none_above(name: str, tests: Sequence[Test], otherwise: str) -> Gate:
    """Passes if no figure is significantly above its limit."""
    problems = [what for what, row, limit in tests if _is_above(row, limit, tests)]
    return _none_of(name, problems, f"{len(tests)} {otherwise}")


def _row(figures: Mapping[str, Any], name: str) -> Row:
    return (figures[name], *figures[f"{name}_95"])


def _fairness(sets: Sets) -> Gate:
    tests: list[Test] = []
    for set_, content in sets.items():
        theirs = content["against"].get(CURRENT, {"slices": {}})["slices"]
        for kind in GROUPS:
            for part, own in content["slices"][kind].items():
                for figure, (value, low, high) in own["gaps"].items():
                    gaps = theirs.get(kind, {}).get(part, {}).get("gaps", {})
                    before = gaps.get(figure, (0.0,))[0] or 0.0
                    difference = "no" if value is None else f"{value:+.2f}"
                    name = f"{set_}, {kind} {part}: {figure.replace('_', ' ')} {difference} beside the others"
                    if figure == "recall_of_errors":
                        row: Row = (-value, -high) if None not in (value, high) else (None, None)
                        tests.append((name, row, max(MAX_RECALL_GAP, -before)))
                    else:
                        tests.append((name, (value, low), max(MAX_WRONG_GAP, before)))
    return _none_above("fairness", tests, "differences between groups, none shown to be too large")


def _attacks(mine: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> Gate:
    """Passes unless significantly more attacks succeed than against the release in use, or, if that had no
    trials, than neutral text does plus `MAX_FLIPS`; both are `figures` of a target of `dialint eval attack`.

    Source: Zou and Donner 2008, interval of a difference from two intervals (MOVER).
    """
    problems, measured = [], []
    for goal, own in mine.items():
        row, other = own["all"], None if theirs is None else theirs[goal]["all"]
        if not row["trials"]:
            continue
        beside, allowed, rate, high = (
            "neutral text",
            MAX_FLIPS,
            row["control_rate"],
            row["control_rate_95"][1],
        )
        if other is not None and other["trials"]:
            beside, allowed, rate, high = "before", 0.0, other["rate"], other["rate_95"][1]
        value, low = row["rate"], row["rate_95"][0]
        measured.append(f"{goal} {100 * value:.1f} % of {row['trials']}, {beside} {100 * rate:.1f} %")
        if None not in (low, high):
            beyond = value - rate - allowed
            if beyond > ((value - low) ** 2 + (high - rate) ** 2) ** 0.5:
                problems.append(measured[-1])
    return _none_of("attacks", problems, "; ".join(measured) or "no finding to attack in either")


def _throughput(mine_s: float, theirs_s: float | None) -> Gate:
    beside = "and nothing is in use" if theirs_s is None else f"for what took {theirs_s:.3f} s"
    is_passed = theirs_s is None or mine_s <= MAX_SLOWER * theirs_s
    return Gate(name="throughput", passed=is_passed, detail=f"{mine_s:.3f} s {beside}")


def _acts(unlike_base: tuple[int, int] | None) -> Gate:
    """Passes unless a judge is an adapter that answers as its base does."""
    if unlike_base is None:
        return Gate(name="acts", passed=True, detail="no adapter: it has all its weights")
    detail = "{} of {} answers other than those of its base".format(*unlike_base)
    return Gate(name="acts", passed=unlike_base[0] > 0, detail=detail)
