"""Guesses the meanings of columns or paths of a log of unknown shape.

By their names in several languages (``columns.yaml``), else by their values: long texts, few different words
for speakers, times, repeated ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.log_format import FIELDS, read_rating
from dialint.detector.ingest.mapping import MEANINGS, parse_route, paths_of
from dialint.detector.ingest.readers.columns import MAX_NOTE_WORDS
from dialint.detector.ingest.times import DateOrderDetector, Order, TimeFormat, time_column
from dialint.detector.ingest.tree_mapping import value_at
from dialint.detector.ingest.words import (
    ANY_ROLE,
    BLANK,
    column_names,
    dialect_of,
    is_internal,
    is_note_type,
    is_public_column,
    normalize_name,
    speaker_roles,
)

N_VALUES = 2000
MAX_WORDS = 12
"""Most different words in a column of speakers."""
NAME_SCORE, PARTIAL_NAME_SCORE = 3.0, 1.5
LIKELY = 0.9
"""Least `_score_content` of a guess that no name supports."""
LONGEST_NAME = 80
"""Most characters of the name of a person, a team or a channel."""
LONG_TEXT = 12
"""Least mean number of characters of message texts."""
RECIPIENTS = frozenset(("recipient", "receiver", "to", "recipients"))
"""Keys that hold the recipient of a message."""
GUIDELINES = ("guideline", "policy", "policies", "instruction", "prompt", "knowledge", "richtlinie")
"""Parts of keys of texts for agents; keys below them name no person, team or channel."""
ORDER = (
    "text", "role", "time", "id", "private", "type", "order", "author", "agent", "team", "channel",
    "language", "rating",
)  # fmt: skip


def values_of(records: Sequence[Any]) -> dict[str, list[Any]]:
    """The values at each path, in order; the keys of flat records are paths as they are."""
    results: dict[str, list[Any]] = {}
    if all(map(_is_flat, records)):
        for key, value in (item for record in records for item in record.items()):
            results.setdefault(key, []).append(value)
        return results
    for path in paths_of(records):
        keys = parse_route(path) if "[" in path else (path,)
        results[path] = list(islice(_reach(records, keys), N_VALUES))
    return results


def _is_flat(record: object) -> bool:
    return isinstance(record, dict) and not any(isinstance(cell, dict | list) for cell in record.values())


def _reach(values: Sequence[Any], keys: Sequence[str]) -> Iterator[Any]:
    for value in values:
        below = value_at(value, keys[0])
        if len(keys) == 1:
            yield below
        elif isinstance(below, list):
            yield from _reach(below, keys[1:])


@dataclass(frozen=True)
class Guess:
    """The guessed meanings of the columns or paths of a log. `fields` maps meanings to paths, `by_content`
    lists those that no name supports, `words` are the speakers with their roles (None if unknown)."""

    fields: dict[str, str]
    by_content: list[str]
    words: dict[str, str | None]


def guess_meanings(records: Sequence[Any], config: ReadConfig) -> Guess:
    """Guesses the meanings of the paths in some records by their names and values."""
    values = values_of(records)
    fields: dict[str, str] = {}
    by_content: list[str] = []
    for meaning in ORDER:
        ranked = []
        for rank, (path, cells) in enumerate(values.items()):
            if path not in fields.values() and _fits(path, meaning, fields):
                name = _score_name(path, meaning)
                content = _score_cells(meaning, path, cells, values, fields)
                if content >= 0 and (name > 0 or content >= LIKELY):
                    ranked.append((name + content, -rank, path, name))
        if ranked:
            _, _, path, name = max(ranked)
            fields[meaning] = path
            if name < NAME_SCORE - 1:
                by_content.append(meaning)
    if "time" in fields:
        near = [name for name in values if _score_name(name, "time") > 0]
        others = [name for name in near if name not in fields.values() and _fits(name, "time", fields)]
        fields["time"] = time_path(values, (fields["time"], *others))
    words = speaker_words(values.get(fields.get("role", ""), []), config)
    unknown = [word for word, role in words.items() if role is None]
    sides = {role for role in words.values() if role}
    if len(unknown) == 1 and len(sides & {"customer", "agent"}) == 1:  # the counterpart
        words[unknown[0]] = "agent" if "customer" in sides else "customer"
    ordered = {meaning: fields[meaning] for meaning in MEANINGS if meaning in fields}
    return Guess(ordered, by_content, words)


def time_path(values: Mapping[str, Sequence[Any]], names: Sequence[str]) -> str:
    """The path of the time among some that may hold it, or a day and its clock, joined (`time_column`)."""
    columns = {name: DateOrderDetector() for name in names}
    for name, times in columns.items():
        for value in values.get(name, ()):
            times.add(value)
    return time_column(columns)


def _score_cells(
    meaning: str, path: str, cells: list[Any], values: dict[str, list[Any]], fields: dict[str, str]
) -> float:
    """`_score_content` of the cells at a path, beside those of the other paths."""
    filled = [one for one in cells if one not in (None, "")]
    if meaning == "id" and _splits_sides(cells, values.get(fields.get("role", ""), [])):
        return -1.0
    if meaning == "order" and not all(map(is_number, filled)):
        return -1.0
    content = _score_content(meaning, filled)
    is_outside = path.count("[]") < fields.get("text", "").count("[]")
    is_unique = len(set(map(str, filled))) == len(cells) > 2
    return LIKELY if meaning == "id" and content >= 0 and is_outside and is_unique else content


def _fits(path: str, meaning: str, fields: dict[str, str]) -> bool:
    """Returns whether a path is in the list of the text or one around it; the text may be anywhere."""
    if any(map(str.isdecimal, path.split(".")[:-1])):  # one of many records, by its number
        return False
    if meaning == "text":
        return True
    if meaning in ("role", "author") and not RECIPIENTS.isdisjoint(_keys(path)):
        return False
    if "text" not in fields:
        return False
    lists, text = path.split("[]")[:-1], fields["text"].split("[]")[:-1]
    if meaning in ("role", "time", "private", "order", "author", "type"):
        return lists == text
    return lists == text[: len(lists)]


def _keys(path: str) -> list[str]:
    return [normalize_name(key.replace("[]", "")) for key in path.replace("[].", ".").split(".")]


def _score_name(path: str, meaning: str) -> float:
    """Score of a path's name for a meaning: 0, or up to `NAME_SCORE`."""
    keys = _keys(path)
    if meaning in FIELDS and any(part in key for key in keys for part in GUIDELINES):
        return 0.0
    usual = column_names()[meaning]
    whole = normalize_name(path)
    for rank, name in enumerate((keys[-1], "".join(keys[-2:]), whole)):
        if name in usual and name:
            return NAME_SCORE - 0.01 * usual.index(name) - 0.1 * rank
    if meaning == "id" and keys[-1] in ("id", "nr", "number", "uuid", "key", "no"):
        return PARTIAL_NAME_SCORE
    near = meaning != "rating" and any(len(name) > 4 and name in keys[-1] for name in usual)
    return PARTIAL_NAME_SCORE / 2 if near else 0.0


def _score_content(meaning: str, values: list[Any]) -> float:
    """Score of values for a meaning: below 0 they cannot have it, from 1 on they are likely to."""
    if not values:
        return -1.0
    texts = [one for one in values if isinstance(one, str)]
    words = Counter(str(one) for one in values)
    if meaning == "text":
        if len(texts) < 0.8 * len(values):
            return -1.0
        length = sum(map(len, texts)) / len(texts)
        spaced = sum(" " in one.strip() for one in texts) / len(texts)
        is_time = sum(TimeFormat().parse(one) is not None for one in texts[:50]) > 0.8 * len(texts[:50])
        return -1.0 if is_time else (1 + min(length / 60, 1.5)) * spaced if length >= LONG_TEXT else 0.0
    if meaning == "time":
        sample = values[:200]
        return 2.0 if sum(map(_is_time, sample)) > 0.9 * len(sample) else -1.0
    if meaning == "role":
        n_roles = sum(n for word, n in words.items() if normalize_name(word) in speaker_roles())
        if len(words) > MAX_WORDS:
            return -1.0 if n_roles < 0.5 * len(values) else 0.0
        few = 0.9 if 2 <= len(words) <= 4 and len(values) > 8 else 0.0
        return 2.5 * n_roles / len(values) or few
    if meaning == "id":
        if any(isinstance(one, bool | float | dict | list) for one in values):
            return -1.0
        if texts and sum(" " in one for one in texts) > 0.5 * len(values):
            return -1.0
        return 1.2 if 1 < len(words) <= 0.7 * len(values) else 0.6 if len(words) > 1 else 0.0
    is_name = meaning in ("agent", "author", "team", "channel", "type")
    if is_name and any(len(one) > LONGEST_NAME for one in words):
        return -1.0
    if meaning == "rating":
        return 0.0 if all(map(read_rating, values)) else -1.0
    if meaning == "language":
        return 0.5 if all(len(word) in (2, 5) or word.isalpha() for word in words) else -1.0
    if meaning == "type" and 1 < len(words) <= MAX_NOTE_WORDS and any(map(is_note_type, words)):
        return NAME_SCORE
    if meaning in ("channel", "team", "type"):
        return 0.0 if len(words) <= MAX_NOTE_WORDS else -1.0
    return 0.0


def _splits_sides(ids: Sequence[Any], speakers: Sequence[Any]) -> bool:
    """Returns whether each id belongs to one speaker, so that it identifies a speaker or a message."""
    if len(ids) != len(speakers) or len(set(map(str, speakers))) < 2:
        return False
    pairs = set(zip(map(str, ids), map(str, speakers), strict=True))
    return len(pairs) == len(set(map(str, ids)))


def is_number(value: object) -> bool:
    """Returns whether a cell is a number, or the digits of one."""
    return isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdecimal())


def _is_time(value: object) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return 1e9 <= value < 4e9 or 1e12 <= value < 4e12
    if isinstance(value, str):
        return len(value) >= 8 and any(TimeFormat(order=order).parse(value) for order in get_args(Order))
    return hasattr(value, "isoformat")


def speaker_words(values: Sequence[Any], config: ReadConfig) -> dict[str, str | None]:
    """The most frequent speakers and their roles."""
    counts = Counter(_word(one) for one in values)
    options = config.mapped.roles
    dialect = dialect_of(counts.keys() - options.keys())
    return {
        word: options.get(word)
        or dialect.get(word if word == BLANK else normalize_name(word))
        or speaker_roles().get(normalize_name(word))
        or options.get(ANY_ROLE)
        for word, _ in counts.most_common(MAX_WORDS)
    }


def _word(value: object) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if text.strip() else BLANK


def unknown_privacy_words(path: str | None, values: dict[str, list[Any]], config: ReadConfig) -> list[str]:
    """The words of the privacy column at `path` whose meaning is unknown."""
    if path is None:
        return []
    public, own = is_public_column(path.rpartition(".")[2]), config.mapped.privacy
    words = dict.fromkeys(str(one) for one in values.get(path, []) if one not in (None, ""))
    return [word for word in words if is_internal(word, public=public, user_words=own) is None][:MAX_WORDS]
