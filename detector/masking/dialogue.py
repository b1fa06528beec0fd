"""Masks dialogues: runs recognizers and searches for further mentions of names until nothing new matches.

The same value gets the same placeholder in all turns, also where only another turn introduces it as a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import JsonValue

from dialint.detector.errors import ConfigError
from dialint.detector.masking.lexicon import GIVEN_NAMES, NAMES_TOO, OTHER_WORDS, SURE_NAMES
from dialint.detector.masking.spans import (
    BLANK,
    COMBINING,
    KINDS,
    PLACEHOLDER,
    Entity,
    Kind,
    MaskedText,
    View,
    find_placeholders,
    make_view,
    replace_spans,
)
from dialint.detector.plugins import Plugin, plugins
from dialint.detector.records import Dialogue, Turn

RECOGNIZERS = "dialint.recognizers"
_MENTION_WORD = re.compile(r"(?<![\w@.])[^\W\d_]+(?:['-](?!s(?!\w))[^\W\d_]+)*(?![\w@])")
"""A word without a final 's: the name in "Anna's parcel" is Anna."""
_WORD = re.compile(r"\w+")
_KEY = re.compile(r"[A-Za-z_]{1,40}+")
"""A key of an argument, or the name of a tool, that is a name in a program and no value, unless a capital
begins it."""
_NAMES = GIVEN_NAMES | NAMES_TOO
_SENTENCE_START = re.compile(r"(?:^|[.!?\n])\W{0,4}$")


def find_mentions(view: View, names: set[str], *, any_case: bool = False) -> Iterator[Entity]:
    """Mentions of the words `names` in `view`, neighbouring words as one: capitalised, or with an apostrophe
    as "o'brien" has, or in `any_case`. Of a word that is common as well ("Will", "Park") a given name counts
    by itself only where it does not begin a sentence; a surname never."""
    runs: list[list[re.Match[str]]] = []
    for word in _MENTION_WORD.finditer(view.low):
        is_name = any_case or word[0] in SURE_NAMES or view.text[word.start()].isupper() or "'" in word[0]
        if is_name and word[0] in names:
            if not runs or view.low[runs[-1][-1].end() : word.start()].strip(" "):
                runs.append([])
            runs[-1].append(word)
    for run in runs:
        start, (first, *others) = run[0].start(), [word[0] for word in run]
        is_sure = others or (len(first) > 2 and first not in OTHER_WORDS)
        begins = view.text[start].islower() or _SENTENCE_START.search(view.low, max(0, start - 4), start)
        is_key = any_case and view.low.startswith(":", run[-1].end())
        if (is_sure or (first in _NAMES and not begins)) and not is_key:
            yield Entity(start, run[-1].end(), "NAME", " ".join([first, *others]))


Values = dict[str, dict[tuple[int, int], dict[str, Entity]]]
"""Entities by the first word of their values, by where it begins and how long the value is, and by value."""


def find_values(view: View, values: Values) -> Iterator[Entity]:
    """Mentions in `view` of `values`, which only what stands beside them gives away elsewhere."""
    low = view.low
    for word in _WORD.finditer(low) if values else ():
        for (offset, length), entities in values.get(word[0], {}).items():
            start = word.start() - offset
            end = start + length
            around = low[max(0, start - 1) : max(0, start)] + low[end : end + 1]
            item = entities.get(low[max(0, start) : end])
            if item and not any(char.isalnum() or char in "_$€£" for char in around):
                yield Entity(start, end, item.kind, item.key)


def _is_telling(value: str, kind: Kind) -> bool:
    """Returns whether a value in lower case is personal data wherever it stands: no small number, no word."""
    if any(char.isdigit() for char in value):
        return sum(char.isalnum() for char in value) >= 4
    return len(value) >= 6 and (" " in value or (kind == "SECRET" and value not in OTHER_WORDS))


Recognizer = Callable[[View, str], Iterable[Entity]]
"""A function of a view and of the turn before, in lower case, which may request a value. It returns entities
of one of `KINDS`; they may not overlap those of an earlier recognizer."""


def recognizer_plugins() -> Mapping[str, Plugin]:
    """Returns the entry points of the recognizers.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return plugins(RECOGNIZERS)


@cache
def load_recognizers() -> tuple[Recognizer, ...]:
    """Returns dialint's own recognizers, in order of precedence, and those of installed packages in the group
    ``dialint.recognizers``.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return tuple(_checked(entry) for entry in recognizer_plugins().values())


def _checked(entry: Plugin) -> Recognizer:
    """Loads the function of an entry; one of another package must not return entities without a
    placeholder."""
    find: Recognizer = entry.load(Callable)
    if entry.is_own:
        return find

    def find_checked(view: View, before: str) -> Iterator[Entity]:
        for item in find(view, before):
            if item.kind not in KINDS or not 0 <= item.start < item.end <= len(view.text) or not item.key:
                raise ConfigError(
                    "E_PLUGIN", "{origin}: {name} of {group} returns {item}; expected a range of the text, a "
                    "kind of {kinds}, and a key",
                    origin=entry.origin, name=entry.name, group=RECOGNIZERS,
                    item=(item.start, item.end, item.kind), kinds=", ".join(KINDS),
                )  # fmt: skip
            yield item

    return find_checked


@dataclass
class _TextMasking:
    """A text being masked, and its entities so far, in order, with offsets of the original."""

    text: str
    entities: list[Entity] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entities = find_placeholders(self.text)
        self.update_view()

    def update_view(self) -> None:
        """Rebuilds the view, with all entities cut out."""
        self.view = make_view(self.text, [(item.start, item.end) for item in self.entities])

    def add(self, candidates: Iterator[Entity]) -> bool:
        """Adds the candidates that overlap no entity; returns whether there was one."""
        selected: list[Entity] = []
        text = self.view.text
        covered = bytearray(0)
        for item in candidates:
            covered = covered or bytearray(len(text))
            if 1 not in covered[item.start : item.end] and BLANK not in text[item.start : item.end]:
                covered[item.start : item.end] = b"\1" * (item.end - item.start)
                selected.append(item)
        for item in selected:
            start, end = self.view.origin(item.start, item.end)
            accents = COMBINING.match(self.text, end)
            end = accents.end() if accents else end
            self.entities.append(item._replace(start=start, end=end))
        if selected:
            self.entities.sort()
            self.update_view()
        return bool(selected)

    def search(self, before: str) -> bool:
        """Runs all recognizers until nothing new matches; returns whether anything matched."""
        changed = False
        while self.add(item for find in load_recognizers() for item in find(self.view, before)):
            changed = True
        return changed


def mask_text(text: str) -> MaskedText:
    """Replaces personal data in `text` by placeholders, numbered by kind in order of appearance."""
    return _mask([text], 1, 1)[0]


def mask_dialogue(dialogue: Dialogue) -> tuple[Dialogue, tuple[MaskedText, ...]]:
    """Replaces personal data in a dialogue by placeholders; returns the masked text of each turn too.

    The same value gets the same placeholder in all turns, also where only another one gives it away. Sources
    that are texts, the names of tools and the arguments of their calls are masked like turns; sources that
    are ids, other ids, authors and metadata stay. Masking is idempotent, so that nobody has to trust
    `Dialogue.masked`.
    """
    turns, n_written = dialogue.turns, _n_written(dialogue)
    masked = _mask(_texts(dialogue), len(turns), n_written)
    sources, masked_arguments = iter(masked[len(turns) :]), iter(masked[n_written:])
    changes = {
        "turns": tuple(
            _with_masked(turn, after.text, masked_arguments)
            for turn, after in zip(dialogue.without_edits().turns, masked, strict=False)
        ),
        "sources": tuple(next(sources).text if " " in source else source for source in dialogue.sources),
        "masked": True,
    }
    return dialogue.model_copy(update=changes), tuple(masked[: len(turns)])


def mask_words(dialogue: Dialogue, words: Iterable[str]) -> dict[str, str]:
    """Masks texts about a dialogue, such as reasons. They are masked like its sources, its names in lower
    case too."""
    distinct, texts = list(dict.fromkeys(words)), _texts(dialogue)
    masked = _mask([*texts, *distinct], len(dialogue.turns), _n_written(dialogue))
    return {each: after.text for each, after in zip(distinct, masked[len(texts) :], strict=True)}


def _n_written(dialogue: Dialogue) -> int:
    """Returns the number of turns and of sources that are texts."""
    return len(dialogue.turns) + sum(" " in source for source in dialogue.sources)


def _texts(dialogue: Dialogue) -> list[str]:
    """Returns the texts of a dialogue that are masked: turns, sources, names and arguments of calls."""
    texts = [turn.text for turn in dialogue.turns] + [source for source in dialogue.sources if " " in source]

    def collect(text: str) -> str:
        texts.append(text)
        return text

    for call in (call for turn in dialogue.turns for call in turn.tool_calls):
        _map_texts({call.name: call.arguments}, collect)
    return texts


def _map_texts(value: JsonValue, mask: Callable[[str], str], key: str = "") -> JsonValue:
    """Masks the texts and numbers in `value`, each after its key, which gives context, and the keys that are
    no plain words."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        after = mask(f"{key}: {value}").removeprefix(f"{key}: ")
        return value if after == str(value) else after
    if isinstance(value, dict):
        results: dict[str, JsonValue] = {}
        for name, item in value.items():
            is_key = _KEY.fullmatch(name) is not None
            masked = name if is_key and not name[0].isupper() else mask(name)
            results[masked] = _map_texts(item, mask, name if is_key else "")
        return results
    return [_map_texts(item, mask, key) for item in value] if isinstance(value, list) else value


def _with_masked(turn: Turn, text: str, arguments: Iterator[MaskedText]) -> Turn:
    """Replaces the text of `turn`, and its calls' arguments by the next of the masked `arguments`."""
    changes: dict[str, Any] = {} if turn.text == text else {"text": text}
    if turn.tool_calls:
        calls = []
        for call in turn.tool_calls:
            after: Any = _map_texts({call.name: call.arguments}, lambda _: next(arguments).text)
            ((name, values),) = after.items()
            calls.append(call.model_copy(update={"name": name, "arguments": values}))
        changes["tool_calls"] = tuple(calls)
    return turn.model_copy(update=changes) if changes else turn


def _mask(texts: Sequence[str], n_turns: int, n_written: int) -> list[MaskedText]:
    """Masks each text. The first `n_turns` are consecutive turns, so that each may answer the one before;
    after the first `n_written`, in what programs wrote, names count in any case."""
    maskings = [_TextMasking(text) for text in texts]
    stale = list(range(len(maskings)))
    names: set[str] = set()
    values: Values = {}
    while stale:
        changed = {
            i for i in stale if maskings[i].search(maskings[i - 1].view.low if 0 < i < n_turns else "")
        }
        entities = [(masking.text, item) for masking in maskings for item in masking.entities]
        new_names = {item.key for _, item in entities if item.kind == "NAME" and item.key[0] != "["}
        words = {word for name in new_names for word in name.split()}
        new_values = _telling_values(entities)
        positions = range(len(maskings)) if (new_names, new_values) != (names, values) else sorted(changed)
        for i in positions:
            masking = maskings[i]
            if words and masking.add(find_mentions(masking.view, words, any_case=i >= n_written)):
                changed.add(i)
            if new_values and masking.add(find_values(masking.view, new_values)):
                changed.add(i)
        names, values = new_names, new_values
        stale = sorted(changed | {i + 1 for i in changed if i + 1 < n_turns})
    placeholders = _Numbering(maskings)
    return [
        replace_spans(masking.text, masking.entities, [placeholders.name(item) for item in masking.entities])
        for masking in maskings
    ]


def _telling_values(entities: Iterable[tuple[str, Entity]]) -> Values:
    """Returns the values that are masked somewhere, each given with its text, and tell something everywhere;
    long ones first."""
    values: dict[str, Entity] = {}
    for text, item in entities:
        if item.kind != "NAME" and item.key[0] != "[":
            value = make_view(text[item.start : item.end], ()).low
            if _is_telling(value, item.kind):
                values.setdefault(value, item)
    groups: Values = {}
    for value, item in sorted(values.items(), key=lambda entry: -len(entry[0])):
        if word := _WORD.search(value):
            group = groups.setdefault(word[0], {})
            group.setdefault((word.start(), len(value)), {})[value] = item
    return groups


class _Numbering:
    """Placeholders by kind and value; numbering continues after placeholders already in the texts."""

    def __init__(self, maskings: Sequence[_TextMasking]) -> None:
        self._last: dict[Kind, int] = {}
        self._names: dict[tuple[Kind, str], str] = {}
        for masking in maskings:
            for item in masking.entities:
                if match := PLACEHOLDER.fullmatch(item.key):
                    self._names[item.kind, item.key] = item.key
                    self._last[item.kind] = max(self._last.get(item.kind, 0), int(match[2]))
        keys = {item.key for masking in maskings for item in masking.entities if item.kind == "NAME"}
        self._people: dict[str, str] = {}
        for person in sorted(keys, key=lambda key: (-len(_name_parts(key)), key)):
            for part in _name_parts(person):
                self._people.setdefault(part, person)
        phones = {item.key for masking in maskings for item in masking.entities if item.kind == "PHONE"}
        self._phones = {phone[-9:]: phone for phone in sorted(phones, key=lambda phone: (len(phone), phone))}

    def name(self, item: Entity) -> str:
        """The placeholder of an entity."""
        by_kind = {"NAME": self._person, "PHONE": self._phone}
        key = by_kind[item.kind](item.key) if item.kind in by_kind else item.key
        placeholder = self._names.get((item.kind, key))
        if placeholder is None:
            number = self._last[item.kind] = self._last.get(item.kind, 0) + 1
            placeholder = self._names[item.kind, key] = f"[{item.kind}_{number}]"
        return placeholder

    def _person(self, key: str) -> str:
        """The longest name of the dialogue that `key` is part of: "anna" is "anna kowalska"."""
        parts = _name_parts(key)
        person = self._people.get(parts[0], key)
        return person if set(parts) <= set(_name_parts(person)) else key

    def _phone(self, key: str) -> str:
        """The longest number of the dialogue that ends in `key` without its leading zeros: with the prefix of
        the country."""
        national = key.lstrip("0")
        longest = self._phones.get(national[-9:], key)
        return longest if longest.endswith(national) else key


def _name_parts(key: str) -> list[str]:
    """The words of a name without accents, those of a double name apart."""
    plain = "".join(char for char in unicodedata.normalize("NFD", key) if not unicodedata.combining(char))
    return plain.replace("-", " ").split() or [key]
