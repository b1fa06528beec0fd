"""Detects the language of every turn of a dialogue, by py3langid and the record's `language` field.

A turn gets another language than its dialogue only if its own words are clear evidence; other turns inherit
the dialogue's language, turns of agents that of all agents' text. The record's `language` is used unless the
text is clearly in another. A language that cannot be determined is `UNKNOWN`, and the turn is judged: a
dialogue of five English words must not be lost. Error rates by length: `docs/experiments/`, 2026-11-23. Which
codes a release judges in which language is part of the release (`detector/calibration.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dialint.detector.errors import ConfigError
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn, Verdict
from dialint.detector.tool_use import per_dialogue
from dialint.detector.yaml_document import read_packaged

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

UNKNOWN = "und"
"""The ISO 639-3 code of an undetermined language."""
MIN_LETTERS = 10
MIN_LETTERS_OTHER = 4
"""Least letters to detect a language (``hello`` is detected as Breton): in Latin letters, and in other
scripts, which few languages share."""
TURN_AT = 0.9
"""Probability from which a turn's own words override the language of its dialogue."""
DIALOGUE_AT = 0.8
MIXED_LETTERS = 60
MIXED_AT = 0.5
"""Probability from which all words together decide the language of a dialogue, or of its agents; the second
one for so many letters: they are of two languages, and the one with most letters counts."""
IMPOSSIBLE = 1e-4
"""Probability below which a text is not in the language around it, whichever it is in."""
DECLARED_LETTERS = 30
DECLARED_AT = 0.95
"""Letters and probability from which the text overrides the language that the record declares."""
TURN_CHARACTERS = 200
DIALOGUE_CHARACTERS = 1500
"""Characters that are read; more changes nothing and takes longer."""
WIDE_LETTER = 3
"""Letters of an alphabet that a letter of a script without one, such as Chinese, counts for."""
RECENT = 512
"""Texts whose results are cached: a dialogue is read for its coverage and again for its checks."""

_PLACEHOLDER = re.compile(r"\[[^\[\]]{1,40}\]|<[^<>]{1,40}>|\{[^{}]{1,40}\}")
_NO_WORD = re.compile(r"[\d_#/\\|@]|\Awww\.")
"""Characters of links, addresses, numbers and codes that words do not contain."""
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]++")
_OTHER = re.compile(r"[\u0370-\u1dff\u2c00-\ud7ff\uf900-\uffef]++")
_WIDE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    """Return each language's code with its names, the displayed one first."""
    return {code: tuple(names) for code, names in read_packaged("languages.yaml").items()}


@cache
def _codes() -> Mapping[str, str]:
    """Return every code and name of a language, in lower case, with its code."""
    names = {name.casefold(): code for code, names in _table().items() for name in names}
    return names | {code: code for code in _table()}


@cache
def _identifier() -> LanguageIdentifier:
    """py3langid, restricted to the languages of `languages.yaml`; the first call takes 0.5 s and 60 MB."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(_table()))
    return identifier


def language_name(code: str) -> str:
    """``German`` for ``de``; the code itself if it has no name."""
    return "unknown" if code == UNKNOWN else _table().get(code, (code,))[0]


def language_code(text: str | None) -> str | None:
    """Return the code of a log's word for a language (``de-AT``, ``deu``, ``Deutsch``: ``de``); None for
    words that name no language. An unknown code of two or three letters is returned as it is."""
    whole = (text or "").strip().casefold()
    first = re.split(r"[-_\s]", whole)[0]
    for name in (whole, first):
        if name in _codes():
            return _codes()[name]
    plain = first.isascii() and first.isalpha() and len(first) in (2, 3)
    return first if plain and first not in (UNKNOWN, "mul", "zxx", "mis") else None


def parse_languages(names: Iterable[str]) -> tuple[str, ...]:
    """Return the languages of an option such as ``en,de``, each once, in alphabetical order.

    Raises:
        ConfigError: a name of no language that can be detected.
    """
    results: set[str] = set()
    for name in (part for group in names for part in group.split(",")):
        code = language_code(name)
        if code is None or code not in _table():
            raise ConfigError("E_LANGUAGE", f"--languages {name!r}: expected some of {' '.join(_table())}")
        results.add(code)
    return tuple(sorted(results))


def describe_gaps(verdict: Verdict) -> str:
    """Return a text about the part of a dialogue that was not judged, with the reason; empty if all was."""
    names = " and ".join(dict.fromkeys(language_name(gap.language) for gap in verdict.not_judged))
    texts = []
    if verdict.status == "not_judged":
        texts.append(f"not judged: {names}")
    elif verdict.judged_share is not None:
        texts.append(f"{100 * verdict.judged_share:.0f} % judged, the rest is {names}")
    elif names:
        codes = sorted({code for gap in verdict.not_judged for code in (*gap.codes, *gap.check_only)})
        texts.append(f"{' '.join(codes)} not judged: {names}")
    if verdict.judge is not None:
        texts += [f"{' '.join(codes)} not judged: {code}" for code, codes in verdict.judge.failures.items()]
    if verdict.status == "scored" and verdict.quality is None and not texts:
        texts.append(f"{' '.join(verdict.no_policy)} not judged: no policy applies")
    return "; ".join(texts)


@lru_cache(RECENT)
def language_words(text: str) -> str:
    """Return the words of `text` that indicate its language: no links, addresses, placeholders, numbers or
    codes, and none of another script than that of most letters (a quoted title)."""
    if text.isupper():
        text = text.lower()
    tokens = _PLACEHOLDER.sub(" ", text).split()
    words = " ".join(
        token for token in tokens if not _NO_WORD.search(token) and not (token.isupper() and len(token) > 1)
    )
    if not words.isascii():
        other = sum(map(len, _OTHER.findall(words))) + (WIDE_LETTER - 1) * len(_WIDE.findall(words))
        latin = sum(map(len, _LATIN.findall(words)))
        if latin and other:
            words = " ".join((_OTHER if latin > other else _LATIN).sub(" ", words).split())
    return words


def _letters(words: str) -> int:
    return sum(map(str.isalpha, words)) + (WIDE_LETTER - 1) * len(_WIDE.findall(words))


def _probabilities(words: str, among: tuple[str, ...]) -> dict[str, float]:
    """Return the probability of each language, or of those `among` them, the most probable first.

    Source: naive Bayes scores at a temperature of the root of the bytes are py3langid's own normalisation.
    """
    scores = [(code, score) for code, score in _identifier().rank(words) if not among or code in among]
    best = scores[0][1]
    temperature = math.sqrt(len(words.encode(errors="replace")))
    shares = {code: math.exp(max((score - best) / temperature, -700.0)) for code, score in scores}
    total = sum(shares.values())
    return {code: share / total for code, share in shares.items()}


@lru_cache(RECENT)
def _language(words: str, expected: str, enough: float, among: tuple[str, ...]) -> str:
    """Return the language of `words` if its probability is `enough`, or if they cannot be in the `expected`
    one."""
    other = bool(words) and not words.isascii() and _OTHER.search(words) is not None
    if _letters(words) < (MIN_LETTERS_OTHER if other else MIN_LETTERS):
        return expected
    result = _probabilities(words, among)
    best = next(iter(result))
    if result[best] >= enough or (other if expected == UNKNOWN else result.get(expected, 1.0) < IMPOSSIBLE):
        return best
    return expected


def detect_language(text: str, declared: str | None = None, among: tuple[str, ...] = ()) -> str:
    """Return the detected language of a text if it is clear, else the `declared` one, else `UNKNOWN`."""
    words = language_words(text[:DIALOGUE_CHARACTERS])
    if declared is None:
        enough = DIALOGUE_AT if _letters(words) < MIXED_LETTERS else MIXED_AT
        return _language(words, UNKNOWN, enough, among)
    enough = DECLARED_AT if _letters(words) >= DECLARED_LETTERS else math.inf
    return _language(words, declared, enough, among)


def detect_languages(dialogue: Dialogue, forced: tuple[str, ...] = ()) -> tuple[str, dict[int, str]]:
    """Return the language of the dialogue, and of each turn by its index.

    `forced`: a single language is used as is; of several, detection chooses among these.
    """
    results = _by_forced(dialogue)
    if forced not in results:
        results[forced] = _detect_turns(dialogue, forced)
    return results[forced]


_Languages = tuple[str, dict[int, str]]
_by_forced: Callable[[Dialogue], dict[tuple[str, ...], _Languages]] = per_dialogue(lambda dialogue: {})


def _detect_turns(dialogue: Dialogue, forced: tuple[str, ...]) -> _Languages:
    if len(forced) == 1:
        return forced[0], {turn.index: forced[0] for turn in dialogue.turns}
    declared = language_code(dialogue.language)
    if forced and declared not in forced:
        declared = None
    whole = detect_language(_join(dialogue.turns), declared, forced)
    inherited = {
        judged: detect_language(
            _join([turn for turn in dialogue.turns if (turn.role in JUDGED_ROLES) is judged]),
            None if whole == UNKNOWN else whole,
            forced,
        )
        for judged in (True, False)
    }
    return whole, {
        turn.index: _language(
            language_words(turn.text[:TURN_CHARACTERS]), inherited[turn.role in JUDGED_ROLES], TURN_AT, forced
        )
        for turn in dialogue.turns
    }


def _join(turns: Iterable[Turn]) -> str:
    """Return the beginnings of the turns, joined, without those of tools and systems."""
    parts: list[str] = []
    size = 0
    for turn in turns:
        if turn.role not in ("system", "tool") and size < DIALOGUE_CHARACTERS:
            parts.append(turn.text[:TURN_CHARACTERS])
            size += len(parts[-1])
    return "\n".join(parts)
