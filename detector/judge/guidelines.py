"""Guidelines as text: a Markdown or text file, or a bot's own system turn, read as numbered clauses that a
finding of the judge can cite.

A clause is a list item or a paragraph, with the headings above it. One that begins with a number of its own
("3.2 Refunds") has that as its id; the others are numbered in their order, ``G1``, ``G2``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dialint.detector.errors import ConfigError
from dialint.detector.judge.prompt import Evidence, name_sources
from dialint.detector.judge.reading import Clause
from dialint.detector.policy import Policy, policy_for
from dialint.detector.records import Dialogue

MAX_BYTES = 400_000
MIN_SYSTEM_CHARS = 200
"""A system turn that is shorter is an event of the conversation, no guideline."""
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_ITEM = re.compile(r"(?:[-*+•]|(?P<number>\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]?))\s+(?P<text>\S.*)")


def parse_guideline(text: str, prefix: str = "G") -> tuple[Clause, ...]:
    """The clauses of a text, in their order."""
    headings: dict[int, str] = {}
    blocks: list[tuple[str, list[str]]] = []
    is_open = False
    for raw in text.splitlines():
        line = raw.strip()
        if heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            headings = {own: words for own, words in headings.items() if own < level} | {level: heading[2]}
            is_open = False
        elif not line:
            is_open = False
        elif (item := _ITEM.fullmatch(line)) and not (is_open and raw[:1].isspace() and not item["number"]):
            own = (item["number"] or "").strip("(.)")
            blocks.append((own, [*headings.values(), item["text"]]))
            is_open = True
        elif is_open:
            blocks[-1][1].append(line)
        else:
            blocks.append(("", [*headings.values(), line]))
            is_open = True
    clauses: list[Clause] = []
    seen: set[str] = set()
    for number, (own, words) in enumerate(blocks, 1):
        name = own if own and own not in seen else f"{prefix}{number}"
        seen.add(name)
        clauses.append(Clause(id=name, text=" ".join(words)))
    return tuple(clauses)


def read_guideline(path: Path) -> tuple[Clause, ...]:
    """The clauses of a file.

    Raises:
        ConfigError: E_GUIDELINE; it cannot be read, is no text, is too long, or says nothing.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError("E_GUIDELINE", f"--guideline {path}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise ConfigError(
            "E_GUIDELINE", f"--guideline {path}: {len(content):,} bytes; at most {MAX_BYTES:,} are read"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("E_GUIDELINE", f"--guideline {path}: not a text in UTF-8") from None
    clauses = parse_guideline(text)
    if not clauses:
        raise ConfigError("E_GUIDELINE", f"--guideline {path}: there is no clause in it")
    return clauses


def clauses_of(dialogue: Dialogue) -> tuple[tuple[Clause, ...], Dialogue]:
    """The clauses of a bot's own system turn at the beginning, and the dialogue without that turn; no clauses
    and the dialogue itself where there is none."""
    first = dialogue.turns[0] if dialogue.turns else None
    if first is None or first.role != "system" or len(first.text) < MIN_SYSTEM_CHARS:
        return (), dialogue
    return parse_guideline(first.text, "S"), dialogue.model_copy(update={"turns": dialogue.turns[1:]})


def collect_evidence(
    dialogue: Dialogue,
    policies: Mapping[str, Policy],
    guideline: Sequence[Clause] = (),
    *,
    logs_tools: bool | None = None,
) -> tuple[Evidence, Dialogue]:
    """Collects the evidence for a masked dialogue: the clauses of `guideline`, of its policy and of its own
    system turn; returns the dialogue without that turn too."""
    own, rest = clauses_of(dialogue)
    clauses = [*guideline, *own]
    policy = policy_for(dialogue, policies)
    if policy is not None:
        clauses += [Clause(id=clause.id, text=clause.text) for clause in policy.clauses]
    sources = name_sources(dialogue.sources)
    return Evidence(clauses=tuple(clauses), sources=sources, logs_tools=logs_tools), rest
