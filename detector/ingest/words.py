"""Words by which logs, mail programs and help desks mark things, in several languages.

``phrases.yaml``: quoted replies, signatures, templates, internal notes. ``columns.yaml``: columns and
speakers. The words are data; where a format keeps them is up to its reader. An unknown word for an internal
note is an error and not a public message: a note taken as public would be judged as an answer to the
customer. An unknown speaker is refused with the option to type; the order of speakers never decides a role.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from dialint.detector.errors import Message, excerpt
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.records import JUDGED_ROLES, Role
from dialint.detector.yaml_document import read_packaged

ANY_ROLE = "*"
"""In roles: every speaker without an entry."""
BLANK = "blank"
"""Word of the options for an empty cell."""
LONGEST_PREFIX = 40
LONGEST_WORD, MAX_WORDS, MAX_DIGITS = 30, 3, 4
FIRST_TURNS = 3
"""Turns of a speaker in which a greeting counts."""
MAX_LISTED = 6
"""Speakers that a message names."""
_JOINTS = str.maketrans("", "", " _-.:/?")
_SIGNS = str.maketrans("", "", "_.?:#/-")
_BRACKETS = {"[": "]", "(": ")", "*": "*", "{": "}", "<": ">", "【": "】"}


def fold(text: str) -> str:
    """`text` case-folded, with white space as one blank: the form in which phrases are compared."""
    return " ".join(text.casefold().split())


def normalize_name(name: str) -> str:
    """A column's name or a speaker without case, spaces, underscores, hyphens and signs such as ``?``."""
    return "".join(name.split()).translate(_SIGNS).lower()


@cache
def phrases(name: str) -> frozenset[str]:
    """The phrases of one list, folded."""
    return frozenset(map(fold, read_packaged("ingest/phrases.yaml")[name]))


@cache
def starts(name: str) -> tuple[str, ...]:
    """The phrases of one list as a tuple, for `str.startswith`."""
    return tuple(sorted(phrases(name)))


@cache
def introductions() -> tuple[tuple[str, str, str], ...]:
    """The lines that introduce a quotation: how they begin, what precedes the free words, how they end."""
    results = []
    for begin, end in read_packaged("ingest/phrases.yaml")["quote_introductions"]:
        inner, _, last = end.casefold().rpartition("*")
        results.append((begin.casefold(), inner, last))
    return tuple(results)


@cache
def column_names() -> dict[str, list[str]]:
    """The usual column names of each meaning, normalised, the most likely first."""
    columns = read_packaged("ingest/columns.yaml")["columns"]
    return {meaning: [normalize_name(name) for name in words] for meaning, words in columns.items()}


@cache
def speaker_roles() -> dict[str, Role]:
    """Words for speakers, normalised, and the role of each."""
    speakers = read_packaged("ingest/columns.yaml")["speakers"]
    return {normalize_name(word): role for role, words in speakers.items() for word in words}


def dialect_of(words: Iterable[str]) -> dict[str, Role]:
    """The roles of a column's words if these are those of a tool with roles of its own; else empty."""
    spoken = {normalize_name(word) or BLANK for word in words}
    for dialect in read_packaged("ingest/columns.yaml")["dialects"]:
        roles = {normalize_name(word): role for word, role in dialect.items()}
        if spoken <= roles.keys() and len(spoken - {BLANK}) > 1:
            return roles if {"customer", "agent"} <= {roles[word] for word in spoken} else {}
    return {}


def may_mark_notes(name: str) -> bool:
    """Returns whether tables mark internal notes by words in a column of this name."""
    parts = read_packaged("ingest/columns.yaml")["note_columns"]
    return any(normalize_name(part) in normalize_name(name) for part in parts)


def is_internal(value: object, *, public: bool, user_words: Mapping[str, bool]) -> bool | None:
    """Returns whether a privacy cell marks an internal note; None if its meaning is unknown.

    `public`: the column says whether the customer saw the message, not whether it is internal. `user_words`
    are the words of the options, and whether each means internal.
    """
    word = BLANK if value is None else fold(str(value)) or BLANK
    if word in user_words:
        return user_words[word]
    if word == BLANK:
        return None if public else False
    if word in phrases("yes"):
        return not public
    if word in phrases("no"):
        return public
    if word in phrases("internal"):
        return True
    return False if word in phrases("public") else None


def format_word(value: object) -> str:
    """Formats a word that a person has to map, such as a speaker or a privacy cell, as it must be typed: a
    blank cell as `BLANK`, anything that is no short word masked."""
    text = str(value)
    n_words, n_digits = len(text.split()), sum(map(str.isdigit, text))
    is_short = len(text) <= LONGEST_WORD and n_words <= MAX_WORDS
    is_word = text.translate(_JOINTS).isalnum() and n_digits <= (MAX_DIGITS if n_words == 1 else 0)
    return BLANK if not n_words else text if is_short and is_word else excerpt(text)


def is_public_column(column: str) -> bool:
    """Returns whether a column of this name, such as ``is_public``, says that the customer saw the
    message."""
    return _normalize(column) in phrases("public_columns")


def is_note_type(value: object) -> bool:
    """Returns whether messages of this type are internal notes."""
    return isinstance(value, str) and len(value) <= LONGEST_PREFIX and _is_note_word(value)


@lru_cache(4096)
def _is_note_word(value: str) -> bool:
    return _normalize(value) in phrases("note_types")


def _normalize(name: str) -> str:
    return fold(name.replace("_", " ").replace("-", " ").replace(":", " "))


def has_note_prefix(text: str) -> bool:
    """Returns whether a message begins with a mark of internal notes: ``[Internal note]``, ``INTERN:``."""
    if text[:1].isalpha() and ":" not in text[:LONGEST_PREFIX]:  # nearly every message there is
        return False
    head = text.lstrip()[: LONGEST_PREFIX + 8].lstrip("*_# ")
    closing = _BRACKETS.get(head[:1])
    inner, end, _ = head[1:].partition(closing) if closing else head.partition(":")
    return bool(end) and fold(inner.strip("*_: ")) in phrases("note_prefixes")


def flag_is_internal(value: object, path: str, *, public: bool) -> bool | None:
    """Returns whether the flag of a JSON message marks it as internal; None if there is no flag.

    Raises:
        BadRecord: E_PRIVACY, the flag is neither true nor false nor a word for one of them.
    """
    if value is None:
        return None
    internal = is_internal(value, public=public, user_words={})
    if internal is None:
        raise BadRecord("E_PRIVACY", path, excerpt(str(value)), "true or false")
    return internal


def roles_of(
    turns: Sequence[tuple[str, str]], options: Mapping[str, Role], path: str, warnings: Counter[str]
) -> dict[str, Role]:
    """The role of every speaker of `turns` (speaker and text of each) of a log that only names them.

    By the options, else by the name itself (``Leo (Agent)``), else by the first turns: one speaker alone
    greets as an agent does. Of two speakers one may be known, and the other is the other side.
    `W_ROLE_GUESSED` is counted where the first turns or the other speaker decide.

    Raises:
        BadRecord: E_ROLE, a speaker may be anyone.
    """
    first: dict[str, list[str]] = {}
    for name, text in turns:
        if len(first.setdefault(name, [])) < FIRST_TURNS:
            first[name].append(text)
    by_name = {name: options.get(name) or _role_in_name(name) or options.get(ANY_ROLE) for name in first}
    results: dict[str, Role] = {name: role for name, role in by_name.items() if role is not None}
    missing = [name for name in first if name not in results]
    if not any(role in JUDGED_ROLES for role in results.values()) and len(missing) > 1:
        texts = {name: " | ".join(map(fold, first[name])) for name in missing}
        words = phrases("agent_greetings")
        greeting = [name for name in missing if any(each in texts[name] for each in words)]
        if len(greeting) == 1:
            results[greeting[0]] = "agent"
    people = [name for name in first if results.get(name) not in ("system", "tool")]
    rest = [name for name in people if name not in results]
    if len(people) == 2 and len(rest) == 1:
        other = next(results[name] for name in people if name in results)
        results[rest[0]] = "agent" if other == "customer" else "customer"
    unknown = [name for name in first if name not in results]
    if unknown:
        sides = ("customer", "agent") if len(unknown) > 1 else ("agent",)
        pairs = (f"{name}={role}" for name, role in zip(unknown, sides, strict=False))
        example = " ".join(f"--role {shlex.quote(pair)}" for pair in pairs)
        names = ", ".join(repr(name[:40]) for name in unknown[:MAX_LISTED])
        actual = Message("speakers that may be anyone: {names}", names=names)
        expected = Message("who is who, such as {example}", example=example)
        if len(people) == 1:
            actual = Message("one speaker, {names}, in place of two sides", names=names)
            expected = Message("speakers told apart; {example} only if one side says it all", example=example)
        raise BadRecord("E_ROLE", path, actual, expected)
    if missing:
        warnings["W_ROLE_GUESSED"] += 1
    return results


def _role_in_name(name: str) -> Role | None:
    """The role that a name contains: ``Agent``, ``Agent 2``, ``Leo (Agent)``, ``Customer - Ann``."""
    words = [name, *re.findall(r"\(([^()]{1,40})\)", name), *re.split(r"\s[-\u2013|]\s", name)]
    bare = (normalize_name(re.sub(r"[ _]?\d{1,3}$", "", word)) for word in words)
    roles = {speaker_roles()[word] for word in bare if word in speaker_roles()}
    return roles.pop() if len(roles) == 1 else None
