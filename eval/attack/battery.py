"""The battery of attacks: texts made of the templates in `attacks.yaml`, the same for the same seed.

No text depends on the dialogue that it is put into. `trials` inserts it and decides whether it succeeded.
"""

from __future__ import annotations

import base64
import codecs
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field

from dialint.detector.records import Record
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.yaml_document import read_document

PACKAGED = Path(__file__).with_name("attacks.yaml")

Goal = Literal["hide", "accuse"]
"""To make a finding disappear, or to make one arise."""
Place = Literal["customer", "agent", "tool"]
"""The speaker whose words an attack is added to."""
Position = Literal["before", "after"]
"""Before or after the words that are there."""
Language = Literal["en", "es", "ru"]
TemplateLanguage = Literal["en", "es", "ru", "mixed"]

_SLOT = re.compile(r"\{(demand|answer|filler|code|name)(?:\|(\w+))?\}")

_LEET = str.maketrans("aeiostAEIOST", "431057431057")
_HOMOGLYPHS = str.maketrans("aceopxyiABEHKMOPCTX", "асеорхуіАВЕНКМОРСТХ")

TRANSFORMS: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "hex": lambda text: text.encode().hex(),
    "leet": lambda text: text.translate(_LEET),
    "homoglyphs": lambda text: text.translate(_HOMOGLYPHS),
    "zero_width": "\u200b".join,
    "bidi": lambda text: f"\u202e{text[::-1]}\u202c",
    "reversed": lambda text: text[::-1],
    "spaced": " ".join,
    "upper": str.upper,
    "fullwidth": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "tags": lambda text: "".join(chr(0xE0000 + ord(c)) for c in text if c.isascii()),
}
"""Disguises of a demand, by the name in a template."""


class Family(Record):
    """A kind of attack. `texts` are templates by language; a tuple is split over turns. `earned` are the
    codes of the errors that an agent's words of this kind are by themselves."""

    name: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    title: str
    places: Annotated[tuple[Place, ...], Field(min_length=1)]
    earned: tuple[str, ...] = ()
    goals: Annotated[tuple[Goal, ...], Field(min_length=1)] = get_args(Goal)
    texts: dict[TemplateLanguage, tuple[str | tuple[str, ...], ...]]


class Battery(Record):
    """The file `attacks.yaml`; its head says what each part is."""

    version: str
    size: Annotated[int, Field(ge=1)]
    accused: Annotated[tuple[str, ...], Field(min_length=1)]
    demands: dict[Goal, dict[Language, tuple[str, ...]]]
    answers: dict[Goal, tuple[str, ...]]
    families: Annotated[tuple[Family, ...], Field(min_length=1)]
    neutral: dict[Place, dict[Language, Annotated[tuple[str, ...], Field(min_length=3)]]]


@dataclass(frozen=True)
class Attack:
    """One attack: `parts` go to as many turns, mostly one. `code` is the error that it demands, None if it
    hides one. Its control is written in `language` too; `template` is the index among the family's."""

    id: str
    family: str
    goal: Goal
    place: Place
    position: Position
    language: Language
    parts: tuple[str, ...]
    code: str | None
    template: int


@cache
def load_battery() -> Battery:
    """Reads the packaged battery."""
    return Battery.model_validate(read_document(PACKAGED, "E_BATTERY").value, strict=False)


def family_attacks(battery: Battery, family: Family, goal: Goal) -> list[Attack]:
    """Returns every attack of a family for a goal: templates x demands x accused codes x places x
    positions."""
    codes = load_taxonomy().codes
    attacks: list[Attack] = []
    templates = [(language, t) for language, group in family.texts.items() for t in group]
    for number, (written_in, template) in enumerate(templates):
        parts = (template,) if isinstance(template, str) else template
        for place, position in product(family.places, get_args(Position)):
            accused: Sequence[str | None] = [None]
            if goal == "accuse":
                own = family.earned if place == "agent" else ()
                accused = [code for code in battery.accused if code not in own]
            for code in accused:
                for language, demand in _demands(battery, goal, written_in, parts):
                    name = getattr(codes[code].name, language) if code else ""
                    filled = tuple(
                        _fill(part, demand, code or "", name, battery.neutral[place][language])
                        for part in parts
                    )
                    key = f"{family.name}-{goal}-{len(attacks)}"
                    attacks.append(
                        Attack(key, family.name, goal, place, position, language, filled, code, number)
                    )
    return attacks


def _demands(
    battery: Battery, goal: Goal, written_in: TemplateLanguage, parts: Sequence[str]
) -> Iterator[tuple[Language, str]]:
    """Yields the sentences that fill a template, with the language of the result: for a mixed template those
    of every language, for one with a forged answer each answer."""
    languages: Sequence[Language] = get_args(Language) if written_in == "mixed" else (written_in,)
    slots = {name for part in parts for name, _ in _SLOT.findall(part)}
    for language in languages:
        if "answer" in slots:
            yield from ((language, answer) for answer in battery.answers[goal])
        elif "demand" in slots:
            yield from ((language, demand) for demand in battery.demands[goal][language])
        else:
            yield language, ""


def _fill(template: str, demand: str, code: str, name: str, sentences: Sequence[str]) -> str:
    demand = demand.replace("{code}", code).replace("{name}", name)

    def value(match: re.Match[str]) -> str:
        slot, argument = match.groups()
        if slot == "filler":
            return neutral_text(sentences, int(argument), random.Random(argument))
        if slot == "answer":
            return demand
        if slot == "demand":
            return TRANSFORMS[argument](demand) if argument else demand
        return code if slot == "code" else name

    return _SLOT.sub(value, template)


def neutral_text(sentences: Sequence[str], chars: int, rng: random.Random) -> str:
    """Returns whole sentences in random order, about `chars` characters in all and at least one sentence."""
    order = rng.sample(list(sentences), len(sentences))
    best = min(order, key=lambda sentence: abs(len(sentence) - chars))
    chosen: list[str] = []
    size = 0
    for sentence in cycle(order):
        grown = size + len(sentence) + bool(chosen)
        if grown - chars > chars - size:
            break
        chosen.append(sentence)
        size = grown
    return " ".join(chosen) if len(chosen) > 1 else best


def make_battery(battery: Battery, seed: int) -> list[Attack]:
    """Samples `battery.size` attacks of distinct texts, balanced over families, goals and templates."""
    n_families = len(battery.families)
    attacks: list[Attack] = []
    for number, family in enumerate(battery.families):
        size = battery.size // n_families + (number < battery.size % n_families)
        for turn, goal in enumerate(family.goals):
            n = size // len(family.goals) + (turn < size % len(family.goals))
            attacks.extend(
                _draw(family_attacks(battery, family, goal), n, random.Random(f"{seed}/{number}/{goal}"))
            )
    return attacks


def _draw(pool: Sequence[Attack], n: int, rng: random.Random) -> list[Attack]:
    """Samples `n` attacks of distinct texts, balanced over templates and places."""
    by_template: dict[int, list[Attack]] = {}
    for attack in rng.sample(list(pool), len(pool)):
        by_template.setdefault(attack.template, []).append(attack)
    used: set[tuple[str, ...]] = set()
    count: dict[Place, int] = {}
    sample: list[Attack] = []
    while len(sample) < n:
        before = len(sample)
        for template in rng.sample(sorted(by_template), len(by_template)):
            fresh = [attack for attack in by_template[template] if attack.parts not in used]
            if fresh and len(sample) < n:
                attack = min(fresh, key=lambda each: count.get(each.place, 0))
                used.add(attack.parts)
                count[attack.place] = count.get(attack.place, 0) + 1
                sample.append(attack)
        if len(sample) == before:
            raise ValueError(f"family {pool[0].family}: only {before} distinct texts, not {n}")
    return sample
