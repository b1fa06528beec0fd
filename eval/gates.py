"""The gates of a promotion: what a candidate must not do worse than the release in use, from reports alone.

Reads what `dialint.eval.run` and `dialint.eval.attack` say of both on the same labelled dialogues, or
`dialint eval judge` of two judges. On every gold set it must be shown that the candidate is no worse: the
lower bound of the paired difference decides, and no bound is nearer to the difference than the rule of three
allows, so a set that is too small to tell blocks. The other gates block what is shown to be bad; where one
tests many codes or groups, by Bonferroni over all of them. Measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from dialint.detector.calibration import MIN_PRECISION, CodeRelease
from dialint.detector.registry import Gate
from dialint.detector.statistics import Z_95, clopper_pearson_upper
from dialint.eval.breakdowns import BINS, MIN_SOURCES, WRITING

ALPHA = 0.05
MARGIN = 0.02
"""Points that the candidate may lose: of precision and recall on a gold set, of a code's figures."""
MAX_GAP = 0.05
"""Between stated probability and frequency, in any bin."""
GROUPS = ("language", "channel", WRITING, "agent turns in the dialogue")
MAX_WRONG_GAP, MAX_RECALL_GAP = 1.0, 0.1
"""Findings on 100 turns of a group that are wrong beyond those of all others, and errors missed beyond
them."""
MAX_SLOWER = 1.5
"""CPU seconds for a dialogue, to those of the release in use."""
Row = Sequence[float | None]
"""A figure, and the ends of its 95 % interval."""
Sets = Mapping[str, Mapping[str, Any]]
"""Name of a gold set to its part of a report of `dialint eval run`."""


def scan_gates(sets: Sets, current: str, codes: Mapping[str, CodeRelease]) -> list[Gate]:
    """The gates on the figures of a scan: `current` is the name of the release in use in the reports, `codes`
    are those of the candidate."""
    return [
        *(_gold(name, content, content["against"][current]) for name, content in sets.items()),
        _each_code(sets, current),
        _calibration(sets, current),
        _contract(sets, codes),
        _fairness(sets, current),
    ]


def _gold(name: str, content: Mapping[str, Any], other: Mapping[str, Any]) -> Gate:
    whole = other["difference"]["whole"]
    lost = content["failed"] + content["not_judged"]
    lost -= other["figures"]["failed"] + other["figures"]["not_judged"]
    rows = {"precision": whole["precision_of_findings"], "recall": whole["recall_of_errors"]}
    if other["figures"]["precision_of_findings"] is None:
        del rows["precision"]  # the release in use finds nothing here
    counts = {f"{lost} dialogues": lost, f"{(n := other['difference']['errors_not_judged'])} errors": n}
    problems = [f"{which} more not judged" for which, n in counts.items() if n > 0]
    return _no_worse(f"gold {name} {content['sha256'][:8]}", rows, content, problems)


def _no_worse(
    name: str, rows: Mapping[str, Mapping[str, Any]], content: Mapping[str, Any], problems: Sequence[str]
) -> Gate:
    """Passed if the lower bound of every paired difference is above minus `MARGIN`; `content` has the numbers
    of dialogues that the figures rest on.

    Where no dialogue of n gets worse, up to 3 / n of all may: resampling cannot see these. Source: Hanley and
    Lippman-Hand 1983, the rule of three.
    """
    measured = []
    for figure, row in rows.items():
        n = content[f"dialogues_with_{'findings' if figure == 'precision' else 'errors'}"]
        measured.append(f"{figure} {_points(row)} on {n} dialogues")
        if row["low"] is None or row["low"] < -MARGIN:
            problems = [*problems, f"{figure} may be worse"]
        elif row["difference"] - clopper_pearson_upper(0, n, 1 - ALPHA) < -MARGIN:
            problems = [*problems, f"too few dialogues to tell that {figure} is no worse"]
    return Gate(name=name, passed=not problems, detail="; ".join([*problems, *measured]))


def _points(row: Mapping[str, Any]) -> str:
    value, low, high = (row[part] for part in ("difference", "low", "high"))
    if value is None or low is None:
        return "can't be compared"
    return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def _each_code(sets: Sets, current: str) -> Gate:
    tests = [
        (f"{set_} {code} {figure.replace('_', ' ')}", row)
        for set_, content in sets.items()
        for code, own in content["against"][current]["difference"]["codes"].items()
        if content["against"][current]["figures"]["codes"][code]["dialogues_with_errors"] >= MIN_SOURCES
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
    """Whether a figure is shown to be above `limit`, as one of so many tests."""
    value, low = row[0], row[1]
    if value is None or low is None:
        return False
    z = NormalDist().inv_cdf(1 - ALPHA / max(1, len(tests)))
    return value - limit > z * (value - low) / Z_95


def _none_of(name: str, problems: Sequence[str], otherwise: str) -> Gate:
    return Gate(name=name, passed=not problems, detail="; ".join(problems) or otherwise)


def _calibration(sets: Sets, current: str) -> Gate:
    bins, off = [(name, own) for name, content in sets.items() for own in content["calibration"]], []
    for name, (stated, n, gap, low, high) in bins:
        theirs = sets[name]["against"][current]["calibration"]
        before = [abs(own[2]) for own in theirs if int(own[0] * BINS) == int(stated * BINS)]
        if _is_far((gap, low, high), max(MAX_GAP, *before, 0.0), bins):
            off.append(f"{name}: stated {stated:.2f}, {gap:+.2f} off in {n} rows")
    detail = f"{len(bins)} bins, none shown to be off by more than {MAX_GAP} or before"
    return _none_of("calibration", off, detail)


def _is_far(row: Row, limit: float, tests: Sequence[object]) -> bool:
    """Whether a figure is shown to be above `limit`, or below minus it."""
    if None in row:
        return False
    value, low, high = (float(each or 0.0) for each in row)
    return _is_above((value, low), limit, tests) or _is_above((-value, -high), limit, tests)


def _contract(sets: Sets, codes: Mapping[str, CodeRelease]) -> Gate:
    tests: list[tuple[str, Row, float]] = []
    for set_, content in sets.items():
        for code, own in content["codes"].items():
            scan = codes[code].scan if code in codes else None
            if scan is not None and scan.contract is not None:
                promise = scan.contract.false_accusations_per_100
                row = _row(own, "false_accusations_per_100")
                name = f"{set_} {code}: {row[0]} false accusations on 100 clean turns, promised {promise:g}"
                tests.append((name, row, promise))
            if own["precision"] is not None:
                high = own["precision_95"][1]
                wrong = (1 - own["precision"], None if high is None else 1 - high)
                tests.append((f"{set_} {code}: {wrong[0]:.2f} of findings wrong", wrong, 1 - MIN_PRECISION))
    broken = [name for name, row, limit in tests if _is_above(row, limit, tests)]
    return _none_of("contract", broken, f"{len(tests)} promises, none shown to be broken")


def _row(figures: Mapping[str, Any], name: str) -> Row:
    return (figures[name], *figures[f"{name}_95"])


def _fairness(sets: Sets, current: str) -> Gate:
    tests: list[tuple[str, Row, float]] = []
    for set_, content in sets.items():
        for kind in GROUPS:
            theirs = content["against"][current]["slices"][kind]
            for part, own in content["slices"][kind].items():
                for figure, (value, low, high) in own["gaps"].items():
                    before = theirs.get(part, {}).get("gaps", {}).get(figure, (0.0,))[0] or 0.0
                    difference = "no" if value is None else f"{value:+.2f}"
                    name = f"{set_}, {kind} {part}: {figure.replace('_', ' ')} {difference} beside the others"
                    if figure == "recall_of_errors":
                        row: Row = (-value, -high) if None not in (value, high) else (None, None)
                        tests.append((name, row, max(MAX_RECALL_GAP, -before)))
                    else:
                        tests.append((name, (value, low), max(MAX_WRONG_GAP, before)))
    unfair = [name for name, row, limit in tests if _is_above(row, limit, tests)]
    return _none_of(
        "fairness", unfair, f"{len(tests)} differences between groups, none shown to be too large"
    )


def attack_gate(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Gate:
    """More attacks succeed than against the release in use; both are `figures` of a target of `dialint eval
    attack`.

    Source: Zou and Donner 2008, interval of a difference from two intervals (MOVER).
    """
    problems, measured = [], []
    for goal, own in mine.items():
        rows = [each["all"] for each in (own, theirs[goal])]
        if not all(row["trials"] for row in rows):
            continue
        (mine_rate, (low, _)), (rate, (_, high)) = ((row["rate"], row["rate_95"]) for row in rows)
        measured.append(f"{goal} {100 * mine_rate:.1f} % of {rows[0]['trials']}, before {100 * rate:.1f} %")
        if (
            None not in (low, high)
            and mine_rate - rate > ((mine_rate - low) ** 2 + (high - rate) ** 2) ** 0.5
        ):
            problems.append(measured[-1])
    return _none_of("attacks", problems, "; ".join(measured) or "no finding to attack in either")


def throughput_gate(mine_s: float, theirs_s: float) -> Gate:
    """CPU seconds for the same dialogues."""
    detail = f"{mine_s:.3f} s of CPU time for what took {theirs_s:.3f} s"
    return Gate(name="throughput", passed=mine_s <= MAX_SLOWER * theirs_s, detail=detail)


def judge_gates(
    report: Mapping[str, Any], is_candidate: Callable[[str], bool], is_current: Callable[[str], bool]
) -> list[Gate]:
    """The gates on a report of `dialint eval judge`, which must compare the candidate with the judge in use,
    by their names there."""
    first, *others = report["judges"]
    if not is_candidate(first) or len(others) != 1 or not is_current(others[0]) or report["split"] == "train":
        detail = (
            f"compares {first} with {' '.join(others) or 'nothing'} on {report['split']}, not the candidate "
            "with the judge in use on dialogues it did not learn from"
        )
        return [Gate(name="gold", passed=False, detail=detail)]
    (difference,) = report["differences"].values()
    mine, theirs = (report["judges"][name] for name in (first, others[0]))
    if "contract_kept" not in report:
        detail = "the report has no figures by code: make it again by `dialint eval judge`"
        return [Gate(name="gold", passed=False, detail=detail)]
    sets = {report["split"]: {"against": {"": {"difference": difference, "figures": theirs}}}}
    rows = {name: difference[name] for name in ("precision", "recall")}
    lost = mine["readable"] < theirs["readable"]
    allowed = max(MAX_GAP, theirs["calibration_error"] or 0.0)
    error = _row(mine, "calibration_error")
    off = (
        [f"calibration error {error[0]:.3f}, allowed {allowed:.3f}"] if _is_above(error, allowed, ()) else []
    )
    return [
        _no_worse(f"gold {report['split']}", rows, mine, ["more unreadable answers"] if lost else []),
        _each_code(sets, ""),
        _none_of("calibration", off, f"error not shown to be over {allowed:.3f}"),
        _contract_kept(mine["name"], report["contract_kept"]),
        _acts(mine["unlike_base"]),
    ]


def _contract_kept(name: str, kept: Mapping[str, Any] | None) -> Gate:
    """Findings by a contract of other dialogues: all of them right as often as it says, and those of each
    code as often as any finding must be."""
    if kept is None or kept["judge"] != name:
        whose = "none" if kept is None else f"of {kept['judge']}"
        return Gate(
            name="contract", passed=False, detail=f"{whose}: name it by `dialint eval judge --contract`"
        )
    precision, codes = kept["precision"], kept["codes"]
    broken = [
        f"{code or 'all codes'}: {1 - own['precision']:.2f} of {own['findings']} findings wrong"
        for code, own in codes.items()
        if _is_above(
            (1 - own["precision"], 1 - own["precision_95"][1]),
            1 - min(precision, MIN_PRECISION if code else 1.0),
            codes,
        )
    ]
    held = f"{len(codes)} promises, none shown to be broken" if codes else "accuses of nothing"
    return _none_of("contract", broken, held)


def _acts(unlike_base: tuple[int, int] | None) -> Gate:
    """An adapter that answers as its base does is none, whatever its figures are."""
    if unlike_base is None:
        return Gate(name="acts", passed=True, detail="no adapter: it has all its weights")
    detail = "{} of {} answers other than those of its base".format(*unlike_base)
    return Gate(name="acts", passed=unlike_base[0] > 0, detail=detail)
