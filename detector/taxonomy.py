"""The error taxonomy, read from one versioned YAML file; no code is hard-wired in the program.

A team may use its own file with ``--taxonomy``; it must have the same schema.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from dialint.detector.errors import ConfigError, InvalidValue, Message
from dialint.detector.records import Fault, Finding, Record, Scope, Severity
from dialint.detector.yaml_document import Document, first_error, parse_document, read_document

PACKAGED = Path(__file__).with_name("taxonomy.yaml")

Need = Literal["timestamps", "sources", "policy", "actions"]
Detail = Literal["auto", "full", "short"]
"""The parts of a code's entry to include: the definition and examples, or its test alone. auto: all of it,
and tests where the room is short."""


def _no_control_characters(text: str) -> str:
    if any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text):
        raise InvalidValue("must not hold control characters")
    return text


Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_no_control_characters)
]
"""Not blank, and nothing in it steers a terminal."""
MIN_WORD = 4
"""Least letters of a word of a name by which codes are suggested."""


class Names(Record):
    """A name in the three languages of the product."""

    en: Text
    es: Text
    ru: Text


class SeverityLevel(Record):
    """The weight of a severity: `penalty` points off 100 for each finding, or `auto_fail`."""

    code: Severity
    name: Names
    meaning: Text
    penalty: Annotated[float, Field(ge=0, le=100)]
    auto_fail: bool = False


class Code(Record):
    """One kind of error, present or absent. `severities` are all severities it may have, `severity` the usual
    one; `needs` is what must be present for the code to apply; `context_free`: the words of the turn alone
    show the error, so that the same words are the same error; `answers_customer`: the turn is wrong as an
    answer to the customer's last turn."""

    code: Annotated[str, Field(pattern=r"^[A-Z][0-9]+$")]
    name: Names
    definition: Text
    test: Text
    example: Text
    counter_example: Text
    severity: Severity
    severities: Annotated[tuple[Severity, ...], Field(min_length=1)]
    scope: Scope
    fault: Fault = "agent"
    needs: tuple[Need, ...] = ()
    context_free: bool = False
    answers_customer: bool = False


class Category(Record):
    """A group of codes. In an `exclusive` category exactly one code applies to every judged turn; in all
    others each code is present or absent by itself."""

    code: Annotated[str, Field(pattern=r"^[A-Z]$")]
    name: Names
    codes: Annotated[tuple[Code, ...], Field(min_length=1)]
    exclusive: bool = False


class WaitLimits(Record):
    """The minutes that a customer may wait in `channels`: for the first answer, for another one, and after
    "one moment". What takes longer than `longest` is closing time, or a customer who comes back."""

    channels: Annotated[tuple[Text, ...], Field(min_length=1)]
    first_answer: Annotated[float, Field(gt=0)]
    silence: Annotated[float, Field(gt=0)]
    moment: Annotated[float, Field(gt=0)]
    longest: Annotated[float, Field(gt=0)]


Scorecard = dict[str, Annotated[float, Field(ge=0, le=100)] | Literal["auto_fail"]]
"""The cost of an error by its code or severity: points off 100, or the whole dialogue."""


class Taxonomy(Record):
    """All categories, codes and severities of one version. `decision_rules` say which code takes a fault that
    several fit, and on which turn it is listed; without `waits` those of the packaged one hold. `scorecards`
    has, by team, what counts there in place of the severities' own penalties; a code comes before its
    severity."""

    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$")]
    severities: tuple[SeverityLevel, ...]
    decision_rules: tuple[Text, ...] = ()
    waits: tuple[WaitLimits, ...] = ()
    scorecards: dict[str, Scorecard] = Field(default_factory=dict, exclude_if=lambda value: not value)
    categories: Annotated[tuple[Category, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Taxonomy:
        if sorted(level.code for level in self.severities) != sorted(get_args(Severity)):
            raise InvalidValue(
                "severities: each of {names} must stand there once", names=", ".join(get_args(Severity))
            )
        seen: set[str] = set()
        for category in self.categories:
            if category.code in seen:
                raise InvalidValue("category {code} stands twice", code=category.code)
            seen.add(category.code)
            if category.exclusive and any(code.scope == "dialogue" for code in category.codes):
                raise InvalidValue(
                    "category {code}: exclusive codes are of turns, not of dialogues", code=category.code
                )
            for code in category.codes:
                if code.code in seen:
                    raise InvalidValue("code {code} stands twice", code=code.code)
                if not code.code.startswith(category.code):
                    raise InvalidValue(
                        "code {code} does not belong to category {category}",
                        code=code.code, category=category.code,
                    )  # fmt: skip
                if code.severity not in code.severities:
                    raise InvalidValue(
                        "code {code}: its usual severity is not among its severities", code=code.code
                    )
                seen.add(code.code)
        for team, scorecard in self.scorecards.items():
            for name in scorecard.keys() - {*seen, *get_args(Severity)}:
                raise InvalidValue(
                    "scorecard of {team}: {name} is neither a code nor a severity", team=team, name=name
                )
        return self

    def fits(self, version: str) -> bool:
        """Return whether what was made for a `version` of the taxonomy can be used with this one: the major
        version is the same, so the set of codes is."""
        return version.partition(".")[0] == self.version.partition(".")[0]

    @cached_property
    def codes(self) -> dict[str, Code]:
        """Every code by its name, in file order."""
        return {code.code: code for category in self.categories for code in category.codes}

    def rivals(self, code: str) -> tuple[str, ...]:
        """Return the codes of which exactly one holds, `code` among them; none if it excludes no other."""
        for category in self.categories:
            names = tuple(each.code for each in category.codes)
            if category.exclusive and code in names:
                return names
        return ()

    @cached_property
    def _levels(self) -> dict[str, SeverityLevel]:
        return {level.code: level for level in self.severities}

    def select_codes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the codes of `names`, each once: codes or categories, several with commas.

        Raises:
            ConfigError: as `select`.
        """
        parts = ",".join(names).split(",") if names else []
        return tuple(dict.fromkeys(code.code for part in parts for code in self.select(part)))

    def select(self, name: str) -> tuple[Code, ...]:
        """Return the code called `name`, or all codes of that category; upper and lower case are equal.

        Raises:
            ConfigError: neither; the message suggests the most similar names.
        """
        wanted = name.strip().upper()
        for category in self.categories:
            results = tuple(code for code in category.codes if wanted in (code.code, category.code))
            if results:
                return results
        near = self._nearest(name.strip())
        problem = Message(
            "no code or category {name!r} in taxonomy {version} ({categories})",
            name=name[:20], version=self.version,
            categories=", ".join(category.code for category in self.categories),
        )  # fmt: skip
        if near:
            problem = Message("{problem}; did you mean {names}?", problem=problem, names=" or ".join(near))
        raise ConfigError("E_CODE", "{problem}; `dialint codes` lists them", problem=problem)

    def _nearest(self, name: str) -> list[str]:
        """At most three codes or categories whose code or name in any language is like `name`."""
        entries: list[Category | Code] = [*self.categories, *self.codes.values()]
        spellings: dict[str, str] = {}
        for entry in entries:
            names = (entry.name.en, entry.name.es, entry.name.ru)
            words = [word for each in names for word in each.split() if len(word) >= MIN_WORD]
            for spelling in (entry.code, *names, *words):
                spellings.setdefault(spelling.casefold(), f"{entry.code} ({entry.name.en})")
        cutoff = 0.5 if len(name) < MIN_WORD else 0.7
        close = get_close_matches(name.casefold(), list(spellings), n=6, cutoff=cutoff)
        return list(dict.fromkeys(spellings[spelling] for spelling in close))[:3]

    def quality(self, findings: tuple[Finding, ...], team: str | None) -> float:
        """Quality of a dialogue of a team, 0 to 100: 100 less each finding's penalty, 0 on an auto-fail."""
        return self.quality_of(((finding.code, finding.severity) for finding in findings), team)

    def quality_of(self, errors: Iterable[tuple[str, str]], team: str | None) -> float:
        """As `quality`, of errors by their codes and severities."""
        return max(0.0, round(100.0 - sum(self.cost_of(*error, team) for error in errors), 1))

    def cost_of(self, code: str, severity: str, team: str | None) -> float:
        """Return how many points off 100 an error costs a dialogue of a team: all of them on an auto-fail."""
        level = self._levels[severity]
        scorecard = self.scorecards.get(team or "", {})
        usual = 100.0 if level.auto_fail else level.penalty
        cost = scorecard.get(code, scorecard.get(severity, usual))
        return 100.0 if isinstance(cost, str) else cost


@cache
def load_taxonomy(path: Path | None = None) -> Taxonomy:
    """Return the taxonomy at `path`, or the packaged one.

    Raises:
        ConfigError: the file is missing, not YAML, or not of the taxonomy's shape; one line says where.
    """
    return _validate(read_document(path or PACKAGED, "E_TAXONOMY"))


def parse_taxonomy(text: str) -> Taxonomy:
    """Return the taxonomy in a text.

    Raises:
        ConfigError: it is not YAML or not of the taxonomy's shape; one line says where.
    """
    return _validate(parse_document(text, Path("taxonomy"), "E_TAXONOMY"))


def _validate(document: Document) -> Taxonomy:
    try:
        return Taxonomy.model_validate(document.value, strict=False)
    except ValidationError as error:
        raise ConfigError("E_TAXONOMY", first_error(error, document)) from None
