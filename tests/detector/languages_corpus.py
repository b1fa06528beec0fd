"""Correct support dialogues in other languages than English, written here: `correct_dialogues/*.txt` holds a few dozen
for each language; the others are drawn from them with other wordings and facts (names, numbers, days, towns)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from dialint.detector.records import Dialogue, Turn

FOLDER = Path(__file__).with_name("correct_dialogues")
SHARED = {
    "order": ("A-20417", "7781 0932", "DE4410", "#55021", "904-1127"),
    "number": ("1048 22", "77 310 556", "K-90312", "20451177"),
    "amount": ("12,90", "49", "86,50", "119", "230"),
    "product": ("Lumo X2", "Kallor 4", "Trivia 12", "Nordan S"),
}
FACTS = {
    "de": {
        "name": ("Brandt", "Yilmaz", "Schönfelder", "Krüger", "Novak"),
        "day": ("Montag", "Dienstag", "Mittwoch", "Freitag", "Samstag"),
        "date": ("3. Mai", "17. August", "1. Dezember", "28. Februar"),
        "city": ("Hannover", "Leipzig", "Graz", "Freiburg", "Köln"),
    },
    "es": {
        "name": ("Herrera", "Ibáñez", "Romero", "Quintana", "Vidal"),
        "day": ("lunes", "martes", "miércoles", "viernes", "sábado"),
        "date": ("3 de mayo", "17 de agosto", "1 de diciembre", "28 de febrero"),
        "city": ("Zaragoza", "Rosario", "Sevilla", "Bogotá", "Valencia"),
    },
    "fr": {
        "name": ("Lefèvre", "Moreau", "Benali", "Girard", "Dupuis"),
        "day": ("lundi", "mardi", "mercredi", "vendredi", "samedi"),
        "date": ("3 mai", "17 août", "1er décembre", "28 février"),
        "city": ("Rennes", "Lyon", "Genève", "Lille", "Nantes"),
    },
    "ru": {
        "name": ("Соколова", "Ким", "Орлов", "Белова", "Гусев"),
        "day": ("понедельник", "вторник", "четверг", "воскресенье"),
        "date": ("3 мая", "17 августа", "1 декабря", "28 февраля"),
        "city": ("Казань", "Томск", "Самара", "Алматы", "Минск"),
    },
}


def dialogues(language: str, n: int, *, declared: str | None = None) -> Iterator[Dialogue]:
    """`n` dialogues, no two the same; the first ones are those of the file with its first wordings."""
    blocks = _blocks((FOLDER / f"{language}.txt").read_text(encoding="utf-8"))
    draw = random.Random(language)
    seen: set[str] = set()
    for attempt in range(100 * n):
        if len(seen) == n:
            return
        block = blocks[attempt % len(blocks)]
        facts = {name: draw.choice(values) for name, values in (SHARED | FACTS[language]).items()}
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
