"""Which codes a release may judge on each turn, by language, and what is reported as not judged.

A code is judged on a turn only if the release covers the turn's language and, where the turn's words alone do
not show the error, that of the customer's turn before; a code of dialogue scope needs the dialogue's language
too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dialint.detector.calibration import POLICY_CHECK, CheckPrecision
from dialint.detector.checks import Check
from dialint.detector.languages import detect_languages
from dialint.detector.records import Dialogue, NotJudged
from dialint.detector.release import ReleaseInfo
from dialint.detector.taxonomy import Taxonomy


@dataclass(frozen=True)
class TurnCoverage:
    """Which codes a release may judge on a turn: by the model, by exact checks and which, and the language
    that decides about each."""

    scanned: frozenset[str]
    checked: Mapping[str, tuple[CheckPrecision, ...]]
    language: Mapping[str, str]
    is_judged: bool
    """Whether the model may judge any code; if the release has no model for any, a check."""


class LanguageCoverage:
    """The codes that a release may judge, by language; computed once for each combination of languages."""

    def __init__(self, info: ReleaseInfo, taxonomy: Taxonomy, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._info = info
        self._context_free = {code for code, entry in taxonomy.codes.items() if entry.context_free}
        self._by_languages: dict[tuple[str, str, str], TurnCoverage] = {}

    def turns(self, dialogue: Dialogue, forced: tuple[str, ...]) -> dict[int, TurnCoverage]:
        """The coverage of each turn of a dialogue, by its index."""
        whole, languages = detect_languages(dialogue, forced)
        results: dict[int, TurnCoverage] = {}
        last: str | None = None
        for turn in dialogue.turns:
            own = languages[turn.index]
            key = (own, last or own, whole)
            if key not in self._by_languages:
                self._by_languages[key] = self._turn(*key)
            results[turn.index] = self._by_languages[key]
            last = own if turn.role == "customer" else last
        return results

    def _turn(self, own: str, customer: str, whole: str) -> TurnCoverage:
        """Of a turn in the language `own`; the others are the customer's before it and the dialogue's."""
        scanned, checked, languages = set(), dict[str, tuple[CheckPrecision, ...]](), {}
        for code, how in self._info.codes.items():
            with_context = (own,) if code in self._context_free else (own, customer)
            languages[code] = own
            if how.scan is not None:
                needed = (*with_context, *((whole,) if code in self._info.dialogue_codes else ()))
                lacking = next((each for each in needed if not how.scan.covers(each)), None)
                languages[code] = own if lacking is None else lacking
                if lacking is None:
                    scanned.add(code)
            rules = [self._checks[check.name] for check in how.checks]
            checks = tuple(
                check
                for check, rule in zip(how.checks, rules, strict=True)
                if all(map(rule.covers, with_context))
            )
            if checks:
                checked[code] = checks
            elif how.scan is None:  # named is the language that no check covers
                covered = [all(rule.covers(name) for rule in rules) for name in with_context]
                languages[code] = with_context[covered.index(False)] if False in covered else own
        has_model = any(how.scan is not None for how in self._info.codes.values())
        return TurnCoverage(frozenset(scanned), checked, languages, bool(scanned if has_model else checked))

    def gaps(
        self, coverage: Mapping[int, TurnCoverage], turns: Sequence[int], without_policy: Collection[str]
    ) -> tuple[NotJudged, ...]:
        """The codes that were not judged, by the language that is why, and on which of `turns`.
        `without_policy`: codes on which the check of policies has no rules here."""
        results: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for turn in turns:
            own = coverage[turn]
            missing: dict[str, tuple[list[str], list[str]]] = {}
            for code, how in self._info.codes.items():
                if code in own.scanned or (how.scan is None and code in own.checked):
                    continue
                is_checked = any(
                    check.name != POLICY_CHECK or code not in without_policy
                    for check in own.checked.get(code, ())
                )
                missing.setdefault(own.language[code], ([], []))[is_checked].append(code)
            for language, (codes, check_only) in missing.items():
                results.setdefault((language, tuple(codes), tuple(check_only)), []).append(turn)
        return tuple(
            NotJudged(language=language, turns=tuple(turns), codes=codes, check_only=check_only)
            for (language, codes, check_only), turns in sorted(results.items())
        )
