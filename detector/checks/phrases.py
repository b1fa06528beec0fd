"""Requests for secrets (V2), blame and insults (T1), and passed over requests for a person (E4), by words.

The words are in ``by_language/*.yaml``, one file for each language, in the notation of
docs/howto/add_a_language.md. A turn is read with the file of its language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.words import RECENT, SENTENCE, patterns, trim
from dialint.detector.languages import UNKNOWN, detect_languages
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue
from dialint.detector.yaml_document import read_packaged

PATTERNS = patterns("phrases")
LANGUAGES = tuple(sorted(path.stem for path in Path(__file__).with_name("by_language").glob("*.yaml")))
QUOTED = re.compile(r"[„“«\"][^„“”«»\"]{1,200}[”“»\"]")
MAX_GAP = 6
"""Most words that … stands for."""
_TOKEN = re.compile(
    r"\s*…\s*|\^ ?| ?\$| ?\?|\s<[^<>]*>(?=(?:\s<[^<>]*>)*\s*(?:[)|?$…]|\Z))|<[^<>]*>\s?"
    r"|[()|]|\s+|[^\s()|<>$?…]+"
)
_LIST = re.compile(r"\b[A-Z]{2,}\b")
_BETWEEN = r"[^\w.!?\n]++"
_WORD = r"\w++(?:['’]\w++){0,2}+"
_GAP = rf"{_BETWEEN}(?:{_WORD}{_BETWEEN}){{0,{MAX_GAP}}}?"
_IDENTIFIER = re.compile(r"(?<![a-z])[a-z]++(?:_[a-z]++)++")
_CLAUSE_END = re.compile(r"[,;:–—(]|\s-\s")
_ANCHORS = {"^": r"\A\W*+", "$": r"\W*+\Z", "?": r"[^\w?]*+\?"}


_FOLDED = str.maketrans("İıſᲀᲁᲂᲃᲄᲅᲆᲇ", "iisвдосттъѣ")
"""Letters that `re.IGNORECASE` equates with others of which they are no capitals."""


@lru_cache(RECENT)
def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDED).lower()


@dataclass(frozen=True)
class PhrasePattern:
    """A phrase as a regular expression, compiled for the first text with a word of each tuple of `needs`: any
    text with the phrase has them."""

    make_text: Callable[[], str]
    needs: list[tuple[str, ...]]

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        text = self.make_text()
        return re.compile(text, re.IGNORECASE)

    def may_match(self, folded: str) -> bool:
        for words in self.needs:
            for word in words:
                if word in folded:
                    break
            else:
                return False
        return True


class PhraseList:
    """A list of phrases, which matches like a pattern with its phrases as alternatives."""

    def __init__(self, phrases: Iterable[PhrasePattern]) -> None:
        self.phrases = tuple(phrases)

    def finditer(self, text: str, end: int | None = None) -> Iterator[re.Match[str]]:
        folded, start = _fold(text), 0
        end = len(text) if end is None else end
        patterns = [each.compiled for each in self.phrases if each.may_match(folded)]
        while matches := [match for each in patterns if (match := each.search(text, start, end))]:
            match = min(matches, key=re.Match.start)
            yield match
            start = match.end()

    def search(self, text: str, end: int | None = None) -> re.Match[str] | None:
        return next(self.finditer(text, end), None)


class Phrases:
    """The lists of a section of a language's file as regular expressions. A match of a list of phrases counts
    unless the section's `not` matches in the same sentence up to the end of the clause."""

    def __init__(self, section: Mapping[str, list[str]]) -> None:
        self.lists = section
        self._compiled: dict[tuple[str, str], PhraseList] = {}

    @cached_property
    def _gap(self) -> str:
        barred = [each for name in ("break", "not") for each in self.lists.get(name, [])]
        plain = [each for each in barred if self.lists.keys().isdisjoint(_LIST.findall(each))]
        never = self._either(plain, self.lists, _GAP)
        return rf"{_BETWEEN}(?:(?!(?:{never})(?!['’]?\w)){_WORD}{_BETWEEN}){{0,{MAX_GAP}}}?"

    def pattern(self, name: str, pronoun: str = "") -> PhraseList:
        """Return a list as a pattern; with `pronoun`, the list of that name takes the place of NAME."""
        if (name, pronoun) not in self._compiled:
            lists = {**self.lists, "NAME": self.lists[pronoun]} if pronoun else self.lists

            def text(start: str, end: str) -> str:
                gap = _GAP if name.isupper() else self._gap
                phrase = self._regex(start, lists, gap) + self._regex(end, lists, gap)
                return rf"(?<!\w){phrase}(?!['’]?\w)"

            self._compiled[name, pronoun] = PhraseList(
                PhrasePattern(partial(text, start, end), _needs(iter(_TOKEN.findall(start + end)), lists))
                for end, starts in _by_end(lists.get(name, []), lists).items()
                for start in starts
            )
        return self._compiled[name, pronoun]

    def read(self, text: str) -> str:
        """Return a text with blanks for what is quoted and for phrases that only look like a denial."""
        text = QUOTED.sub(lambda match: " " * len(match[0]), text)
        for match in self.pattern("harmless").finditer(text):
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
        return text

    def find(self, sentence: str, name: str, pronoun: str = "") -> re.Match[str] | None:
        """Return the first match of a list in a sentence that counts."""
        for match in self.pattern(name, pronoun).finditer(sentence):
            end = _CLAUSE_END.search(sentence, match.end())
            denials = self.pattern("not").finditer(sentence, end.start() if end else None)
            if all(match.start() <= denial.start() and denial.end() <= match.end() for denial in denials):
                return match
        return None

    def _either(self, phrases: Iterable[str], lists: Mapping[str, list[str]], gap: str) -> str:
        """Return a pattern of any of the phrases. Those with the same end share one copy of it."""
        parts = []
        for end, starts in _by_end(phrases, lists).items():
            befores = "|".join(self._regex(start, lists, gap) for start in starts)
            parts.append(f"(?:{befores}){self._regex(end, lists, gap)}")
        return f"(?:{'|'.join(parts)})" if parts else "(?!)"

    def _regex(self, phrase: str, lists: Mapping[str, list[str]], gap: str) -> str:
        result = ""
        for token in _TOKEN.findall(phrase):
            bare = token.strip()
            if not bare:
                result += _BETWEEN
            elif bare == "…":
                result += gap
            elif bare in _ANCHORS:
                result += _ANCHORS[bare]
            elif bare in "()|":
                result += {"(": "(?:"}.get(bare, bare)
            elif bare.startswith("<"):
                inner = f"(?:{self._regex(bare[1:-1], lists, gap)})"
                before = _BETWEEN if token[0] != "<" else ""
                after = _BETWEEN if token[-1] != ">" else ""
                result += f"(?:{before}{inner}{after})?"
            elif bare.isupper() and bare in lists:
                result += self._either(lists[bare], lists, _GAP)
            else:
                word = re.escape(bare).replace("'", "['’]").replace(r"\-", r"[-\s]?")
                result += (
                    word.replace(r"\*", r"\w*?", 1)
                    if word.startswith(r"\*")
                    else word.replace(r"\*", r"\w*+")
                )
        return result


def _by_end(phrases: Iterable[str], lists: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the beginnings of phrases by their ends: from the first list of words on, else all of it."""
    starts: dict[str, list[str]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        word = next((each for each in _LIST.finditer(phrase) if each[0] in lists), None)
        is_outer = word and phrase.count("(", 0, word.start()) == phrase.count(")", 0, word.start())
        place = word.start() if word and is_outer else 0
        starts.setdefault(phrase[place:], []).append(phrase[:place])
    return starts


def _needs(tokens: Iterator[str], lists: Mapping[str, list[str]]) -> list[tuple[str, ...]]:
    """Return tuples of words: a text with the phrase has one word of each. Reads up to the parenthesis that
    closes the phrase."""
    choices: list[list[tuple[str, ...]]] = [[]]
    for token in tokens:
        bare = token.strip()
        if bare == ")":
            break
        if bare == "|":
            choices.append([])
        elif bare == "(":
            choices[-1] += _needs(tokens, lists)
        elif bare.isupper() and bare in lists:
            needs = [_needs(iter(_TOKEN.findall(phrase)), lists) for phrase in lists[bare]]
            choices[-1] += _one_of(needs)
        elif bare not in ("", "…", *_ANCHORS) and bare[0] != "<":
            word = _fold(max(re.split(r"[*'-]", bare), key=len))
            choices[-1] += [(word,)] if word else []
    return choices[0] if len(choices) == 1 else _one_of(choices)


def _one_of(needs: list[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """Return the needs of a text that has one of several phrases: the rarest words of each."""
    if not all(needs):
        return []
    rarest = [min(need, key=lambda words: len(words) / len(min(words, key=len)) ** 2) for need in needs]
    return [tuple(dict.fromkeys(word for words in rarest for word in words))]


@cache
def load_phrases(language: str) -> Mapping[str, Phrases]:
    """Return the sections of a language by name; none of a language without a file."""
    if language not in LANGUAGES:
        return {}
    sections = read_packaged(f"checks/by_language/{language}.yaml")
    return {name: Phrases(section) for name, section in sections.items()}


def phrases_of(dialogue: Dialogue, turn: Turn, section: str, context: CheckContext) -> Phrases | None:
    """Return the section of the turn's language; of the most probable language if it is unknown, else of
    English. None for other languages, and where the language's file has no such section."""
    language = detect_languages(dialogue, context.languages)[1][turn.index]
    if language == UNKNOWN:
        language = detect_languages(dialogue, LANGUAGES)[1][turn.index]
    return load_phrases("en" if language == UNKNOWN else language).get(section)


_POSTAL_PIN = re.compile(r"\bpin ?code\b", re.IGNORECASE)


@per_dialogue
def _delivery_positions(dialogue: Dialogue) -> frozenset[int]:
    return frozenset(n for n, turn in enumerate(dialogue.turns) if PATTERNS.delivery.search(turn.text))


def _is_postal_code(name: str, dialogue: Dialogue, position: int) -> bool:
    """Return whether the secret of this `name`, requested in the turn at `position`, is the postal code of an
    address in India: a PIN code beside talk of delivery, there or in the two turns before."""
    nearby = range(position - 2, position + 1)
    return _POSTAL_PIN.search(name) is not None and not _delivery_positions(dialogue).isdisjoint(nearby)


def find_request(text: str, phrases: Phrases) -> tuple[int, int] | None:
    """Return the offsets of the first sentence that requests a secret for the agent."""
    if phrases.pattern("NAME").search(text) is None:
        return None
    has_name, spans = False, _sentences(text)
    text = phrases.read(text)
    for (start, end), after in zip(spans, [*spans[1:], (0, 0)], strict=False):
        sentence = text[start:end]
        if (
            phrases.find(sentence, "tell_me")
            or (
                (match := phrases.find(sentence, "tell_me", "IT") or phrases.find(sentence, "tell_it"))
                and (has_name or phrases.pattern("NAME").search(sentence, match.start()))
            )
            or (
                phrases.find(sentence, "ask")
                and not any(
                    phrases.pattern("elsewhere").search(text[slice(*span)]) for span in ((start, end), after)
                )
            )
        ):
            return start, end
        has_name = phrases.find(sentence, "NAME") is not None
    return None


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the sentences, without outer blanks."""
    return [trim(text, *match.span()) for match in SENTENCE.finditer(text)]


def _argument_names(dialogue: Dialogue) -> str:
    """Return the names of all arguments of the tool calls, as words."""
    calls = [call for turn in dialogue.turns for call in turn.tool_calls]
    return " ".join(re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", json.dumps(call.arguments)) for call in calls)


def _secrets(dialogue: Dialogue, context: CheckContext, for_tool: bool) -> Iterator[Hit]:
    demanded: dict[Phrases, bool] = {}
    for position, turn in enumerate(dialogue.turns):
        if turn.role not in JUDGED_ROLES:
            continue
        phrases = phrases_of(dialogue, turn, "secret", context)
        span = None if phrases is None else find_request(turn.text, phrases)
        if phrases is None or span is None:
            continue
        pattern = phrases.pattern("NAME")
        name = pattern.search(turn.text)
        if name and _is_postal_code(name[0], dialogue, position):
            continue
        if phrases not in demanded:
            demanded[phrases] = pattern.search(_argument_names(dialogue)) is not None
        if demanded[phrases] is for_tool:
            yield Hit(turn.index, *span, "the agent asks for a secret")


@check(V2=Evidence(9, 9), languages=LANGUAGES)
def asks_secret(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who requests a password, a PIN, a one-time code, a full card number, check digits or a
    photo of a card. Requests to enter them on a page, a device or at a branch do not count."""
    return _secrets(dialogue, context, for_tool=False)


@check(V2=Evidence(39, 40, "suggestion"), languages=LANGUAGES)
def asks_secret_for_tool(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Suggest requests for a secret that the agent's own tool demands as an argument."""
    return _secrets(dialogue, context, for_tool=True)


@check(T1=Evidence(8, 11), languages=LANGUAGES)
def insult(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an agent who blames, insults or dismisses the customer in words that he did not use himself.

    Of 10 hits in the written test set 7 were right, and the one in 5,264 real dialogues (2026-11-29)."""
    customer_text = " ".join(turn.text.casefold() for turn in dialogue.turns if turn.role == "customer")
    words = frozenset(_WORDS.findall(customer_text))
    for turn in dialogue.turns:
        if turn.role not in JUDGED_ROLES:
            continue
        phrases = phrases_of(dialogue, turn, "rude", context)
        if phrases is not None and (span := _find_rude(turn.text, phrases, words)) is not None:
            yield Hit(turn.index, *span, "the agent blames or insults the customer")


_WORDS = re.compile(_WORD)


def _find_rude(text: str, phrases: Phrases, customer: frozenset[str]) -> tuple[int, int] | None:
    plain = phrases.read(text)
    for start, end in _sentences(text):
        match = phrases.find(plain[start:end], "phrases")
        if match is not None:
            insults = {word[0].casefold() for word in phrases.pattern("INSULT").finditer(match[0])}
            if insults.isdisjoint(customer):
                return start, end
    return None


@check(E4=Evidence(1, 3), languages=LANGUAGES)
def passes_over_person(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the first answer to a request for a person that neither hands over nor offers to, explains no
    wait, and asks nothing that is needed for it. An answer for which the customer thanks served him."""
    is_pending, reply = False, list[Turn]()
    for turn in dialogue.turns:
        if turn.role in JUDGED_ROLES and is_pending:
            reply.append(turn)
        elif turn.role == "customer" and turn.text.strip():
            spoken = next((each for each in reply if each.text.strip()), None)
            if spoken is not None:
                if not _takes_up(dialogue, reply, context) and not _has(dialogue, turn, "thanks", context):
                    break
                is_pending, reply = False, []
            is_pending = is_pending or asks_for_person(dialogue, turn, context)
    spoken = next((each for each in reply if each.text.strip()), None)
    if spoken is not None and not _takes_up(dialogue, reply, context):
        yield Hit(spoken.index, 0, len(spoken.text), "the customer asked for a person")


def _takes_up(dialogue: Dialogue, reply: list[Turn], context: CheckContext) -> bool:
    calls = [call.name for turn in reply for call in turn.tool_calls]
    calls += [name for turn in reply for name in _IDENTIFIER.findall(turn.text)]
    return PATTERNS.hand_over.search(" ".join(calls)) is not None or any(
        _has(dialogue, turn, "gives", context)
        or ("?" in turn.text and _has(dialogue, turn, "accepts", context))
        for turn in reply
    )


def asks_for_person(dialogue: Dialogue, turn: Turn, context: CheckContext) -> bool:
    """Return whether a customer's turn asks for a person, in its language."""
    return _has(dialogue, turn, "wants", context)


def _has(dialogue: Dialogue, turn: Turn, name: str, context: CheckContext) -> bool:
    """Return whether a turn has a phrase of a list of the section `person`."""
    phrases = phrases_of(dialogue, turn, "person", context)
    return phrases is not None and any(
        phrases.find(sentence, name) for sentence in SENTENCE.findall(phrases.read(turn.text))
    )
