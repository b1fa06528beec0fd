"""Correct support dialogues in other languages than English, written here: `correct_dialogues/*.txt` holds a few dozen
for each language; the others are drawn from them with other wordings and facts (names, numbers, days, towns)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from dialint.detector.records import Dialogue, Turn

FOLDER = Path(__file__).with_name("correct_dialogues")
FACTS = yaml.safe_load((FOLDER / "facts.yaml").read_text(encoding="utf-8"))


def dialogues(language: str, n: int, *, declared: str | None = None) -> Iterator[Dialogue]:
    """`n` dialogues, no two the same; the first ones are those of the file with its first wordings."""
    blocks = _blocks((FOLDER / f"{language}.txt").read_text(encoding="utf-8"))
    draw = random.Random(language)
    seen: set[str] = set()
    for attempt in range(100 * n):
        if len(seen) == n:
            return
        block = blocks[attempt % len(blocks)]
        facts = {name: draw.choice(values) for name, values in (FACTS["all"] | FACTS[language]).items()}
        first = attempt < len(blocks)
        lines = [(role, draw.choice(words[:1] if first else words)) for role, words in block]
        texts = [
            (role, re.sub(r"\{(\w+)\}", lambda slot, facts=facts: facts[slot[1]], text))
            for role, text in lines
        ]
        whole = "\n".join(text for _, text in texts)
        if whole in seen:
            continue
        seen.add(whole)
        yield Dialogue(
            id=f"{language}-{len(seen)}",
            language=declared,
            turns=tuple(
                Turn(index=index, role="customer" if role == "K" else "agent", text=text)
                for index, (role, text) in enumerate(texts)
            ),
        )

    raise AssertionError(f"{language}: {len(seen)} different dialogues, {n} are wanted")


def _blocks(text: str) -> list[list[tuple[str, list[str]]]]:
    """The dialogues of a file: role letter and wordings of each line."""
    blocks: list[list[tuple[str, list[str]]]] = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            blocks.append([(line[0], line[3:].split(" // ")) for line in lines])
    return blocks
