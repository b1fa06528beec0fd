"""Gives roles to speakers that a log only names: diarised calls, chats of two people.

By the options, else by the name itself (``Leo (Agent)``), else by the first turns: one speaker alone greets
as an agent does. Of two speakers one may be known, and the other is the other side. Anything less is refused
with what has to be typed; a role is never given by who speaks first.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from dialint.detector.errors import Message
from dialint.detector.ingest.column_words import normalize_name, speaker_roles
from dialint.detector.ingest.mapping import ANY_ROLE
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.phrases import fold, phrases
from dialint.detector.records import JUDGED_ROLES, Role

FIRST_TURNS = 3
"""Turns of a speaker in which a greeting counts."""
MAX_NAMED = 6
"""Speakers that a message names."""


def roles_of(
    turns: Sequence[tuple[str, str]], options: Mapping[str, Role], path: str, warnings: Counter[str]
) -> dict[str, Role]:
    """The role of every speaker of `turns`, speaker and text of each. `W_ROLE_GUESSED` is counted where the
    first turns or the other speaker decide.

    Raises:
        BadRecord: E_ROLE, a speaker may be anyone.
    """
    first: dict[str, list[str]] = {}
    for name, text in turns:
        if len(first.setdefault(name, [])) < FIRST_TURNS:
            first[name].append(text)
    names = list(first)
    results: dict[str, Role] = {}
    for name in names:
        role = options.get(name) or _by_name(name) or options.get(ANY_ROLE)
        if role is not None:
            results[name] = role
    missing = [name for name in names if name not in results]
    if not any(role in JUDGED_ROLES for role in results.values()) and len(missing) > 1:
        greeting = [name for name in missing if any(map(_is_greeting, first[name]))]
        if len(greeting) == 1:
            results[greeting[0]] = "agent"
    people = [name for name in names if results.get(name) not in ("system", "tool")]
    rest = [name for name in people if name not in results]
    if len(people) == 2 and len(rest) == 1:
        other = next(results[name] for name in people if name in results)
        results[rest[0]] = "agent" if other == "customer" else "customer"
    still = [name for name in names if name not in results]
    if still:
        example = " ".join(
            f"--role {shlex.quote(f'{name}={role}')}"
            for name, role in zip(
                still[:2], ("customer", "agent") if len(still) > 1 else ("agent",), strict=False
            )
        )
        shown = ", ".join(repr(name[:40]) for name in still[:MAX_NAMED])
        found = Message("speakers that may be anyone: {names}", names=shown)
        expected = Message("who is who, such as {example}", example=example)
        if len(people) == 1:
            found = Message("one speaker, {names}, in place of two sides", names=shown)
            expected = Message("speakers told apart; {example} only if one side says it all", example=example)
        raise BadRecord("E_ROLE", path, found, expected)
    if missing:
        warnings["W_ROLE_GUESSED"] += 1
    return results


def _by_name(name: str) -> Role | None:
    """The role that a name says: ``Agent``, ``Agent 2``, ``Leo (Agent)``, ``Customer - Ann``."""
    words = [name, *re.findall(r"\(([^()]{1,40})\)", name), *re.split(r"\s[-\u2013|]\s", name)]
    roles = {
        role
        for word in words
        if (role := speaker_roles().get(normalize_name(re.sub(r"[ _]?\d{1,3}$", "", word))))
    }
    return roles.pop() if len(roles) == 1 else None


def _is_greeting(text: str) -> bool:
    folded = fold(text)
    return any(greeting in folded for greeting in phrases("agent_greetings"))
