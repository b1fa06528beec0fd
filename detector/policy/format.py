"""The records of a policy file. It is read by `dialint.detector.policy.reading`.

A policy is a list of clauses. Each clause has the text of the guideline it stands for and exactly one rule.
`dialint.detector.policy.evaluate` applies the rules to dialogues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dialint.detector.artifacts import fingerprint
from dialint.detector.errors import InvalidValue
from dialint.detector.records import Record
from dialint.detector.taxonomy import Text

_FIGURE = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})")
_IDENTIFIER = re.compile(r"[+-]?(?:0[0-9][0-9.]*|[0-9](?:\.?[0-9]){14,})")
"""A figure with a leading zero, or of so many digits: an id or a telephone number, not an amount."""
_NAMES = {
    True: frozenset(["yes", "true"]), False: frozenset(["no", "false"]), None: frozenset(["null", "none"])
}  # fmt: skip
"""The names in a policy of the values of JSON that are neither texts nor numbers."""


def number(value: Any) -> Decimal | None:
    """Return a value as an exact number, None if it is none: a plain decimal figure such as -5 or 12.50 is
    one, other spellings such as 1e3 are texts."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, float):  # to 15 digits, as 0.1 + 0.2 is stored as 0.30000000000000004
        return Decimal(f"{value:.15g}") if isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    text = str(value).strip() if isinstance(value, str) or abs(value) < 10**40 else ""
    return Decimal(text) if _FIGURE.fullmatch(text) else None


def match_keys(value: Any) -> frozenset[Any]:
    """Return what a value is compared by; two values are equal if they share a key. Numbers are equal as
    such, ids and texts by their letters, ``true``, ``false`` and ``null`` with their names too."""
    if value is None or isinstance(value, bool):
        return _NAMES[value]
    text = str(value).strip().casefold()
    is_identifier = _IDENTIFIER.fullmatch(text) is not None
    size = None if is_identifier and isinstance(value, (str, int)) else number(value)
    return frozenset([text] if size is None else [size, text] if is_identifier else [size])


def all_match_keys(values: Iterable[Any]) -> frozenset[Any]:
    """Return the keys of all values."""
    return frozenset(key for value in values for key in match_keys(value))


Code = Literal["P1", "P2", "P3", "P4"]
RULES = ("before", "after", "forbid", "only_if", "consent", "limit", "stated")
OPERATORS = (
    "is", "not", "at_least", "at_most", "above", "below", "starts_with", "same_items_as", "other_items_than",
)  # fmt: skip
_CODES: Mapping[str, Code] = {"before": "P1", "after": "P1", "stated": "P3"}
"""The code of a clause by its rule; P2 for all others."""

MAX_FACTS = 50
"""A fact may need the one above it, and so on."""
_REFERENCE = re.compile(r"(?:count\()?[A-Za-z_]\w*+(?:\.\w++)*+\)?")
_NUMBER = re.compile(r"-?\d++(?:\.\d++)?")


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, (str, dict)) else value


def _as_event(value: Any) -> Any:
    return {"call": value} if isinstance(value, (str, list)) else value


def _as_test(value: Any) -> Any:
    return {"is": value} if isinstance(value, (str, list)) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_list)]


def _check_reference(text: str) -> str:
    counts = text.startswith("count(")
    if not _REFERENCE.fullmatch(text) or counts != text.endswith(")"):
        raise InvalidValue("should be NAME, NAME.FIELD or count(NAME.FIELD)")
    return text


def head_of(reference: str) -> str:
    """Return the argument or fact that a reference is about."""
    return reference.removeprefix("count(").removesuffix(")").partition(".")[0]


Reference = Annotated[Text, AfterValidator(_check_reference)]


def _check_operand(text: str) -> str:
    """Checks that an operand is a plain value, or a sum of products of numbers and $references."""
    if "$" in text:
        parts = text.split(" ")
        if len(parts) % 2 == 0:
            raise InvalidValue("a calculation ends with a value, not with + or - or *")
        for number, part in enumerate(parts):
            if number % 2 and part not in ("+", "-", "*"):
                raise InvalidValue("between two values of a calculation should be + or - or *, with blanks")
            if number % 2 == 0 and not _NUMBER.fullmatch(part):
                if not part.startswith("$"):
                    raise InvalidValue(
                        "a calculation is made of numbers and $NAME, $NAME.FIELD, $count(NAME)"
                    )
                _check_reference(part[1:])
    return text


Operands = Annotated[tuple[Text, ...], BeforeValidator(_as_list), Field(min_length=1)]


class Test(Record):
    """A test of a value; all operators in it must hold, for a list for every item."""

    __test__ = False  # not a test of pytest's

    is_: Operands | None = Field(default=None, alias="is")
    not_: Operands | None = Field(default=None, alias="not")
    at_least: Text | None = None
    at_most: Text | None = None
    above: Text | None = None
    below: Text | None = None
    starts_with: Texts | None = None
    same_items_as: Text | None = None
    other_items_than: Text | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """The operands of all operators, which the value is compared with."""
        values = [getattr(self, _FIELD.get(name, name)) for name in OPERATORS]
        return tuple(
            each for value in values for each in ((value,) if isinstance(value, str) else value or ())
        )

    @cached_property
    def is_any(self) -> frozenset[Any]:
        """The keys of the plain operands of `is`."""
        return all_match_keys(operand for operand in self.is_ or () if "$" not in operand)

    @cached_property
    def not_any(self) -> frozenset[Any]:
        """The keys of the plain operands of `not`."""
        return all_match_keys(operand for operand in self.not_ or () if "$" not in operand)

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """The operands of `starts_with`, in lower case."""
        return tuple(start.casefold() for start in self.starts_with or ())

    @model_validator(mode="after")
    def _check(self) -> Test:
        if all(getattr(self, _FIELD.get(name, name)) is None for name in OPERATORS):
            raise InvalidValue("should have one of {names}", names=", ".join(OPERATORS))
        for operand in self.operands:
            _check_operand(operand)
        return self


_FIELD = {"is": "is_", "not": "not_"}

Conditions = dict[str, Annotated[Test, BeforeValidator(_as_test)]]
"""Tests by the reference whose value they are of; all must hold."""


def _check_some(conditions: Conditions) -> Conditions:
    if not conditions:
        raise InvalidValue("should have a condition")
    return conditions


def _check_conditions(conditions: Conditions) -> None:
    for reference in conditions:
        try:
            _check_reference(reference)
        except InvalidValue as error:
            raise InvalidValue(
                "{reference!r}: {problem}", reference=reference[:40], problem=error.text
            ) from None


class Event(Record):
    """Something that happens in a dialogue: a tool call, words of the agent, or words of the customer; any of
    the names and phrases will do. `same` maps arguments of this call to those of the call that the clause is
    about, whose values must be equal."""

    call: Texts = ()
    says: Texts = ()
    customer_says: Texts = ()
    with_: Conditions = Field(default_factory=dict, alias="with")
    same: dict[str, Reference] = Field(default_factory=dict)
    tried: Literal["yes", "no"] = "no"

    @model_validator(mode="after")
    def _check(self) -> Event:
        if not (self.call or self.says or self.customer_says):
            raise InvalidValue("should have call, says or customer_says")
        if (self.with_ or self.same) and not self.call:
            raise InvalidValue("with and same are about the arguments of a call")
        _check_conditions(self.with_)
        return self


Events = Annotated[tuple[Annotated[Event, BeforeValidator(_as_event)], ...], BeforeValidator(_as_list)]
Alternatives = Annotated[
    tuple[Annotated[Conditions, AfterValidator(_check_some)], ...],
    BeforeValidator(_as_list),
    Field(min_length=1),
]


class Limit(Record):
    """At most so many: calls (`per` value of an argument, or in the whole dialogue), `different` values of an
    argument over all calls, or `items` of an argument in one call that are `like` a pattern."""

    at_most: Annotated[int, Field(ge=0)]
    per: Reference | None = None
    different: Reference | None = None
    items: Reference | None = None
    like: Text = "*"

    @model_validator(mode="after")
    def _check(self) -> Limit:
        if sum(value is not None for value in (self.per, self.different, self.items)) > 1:
            raise InvalidValue("should have at most one of per, different, items")
        return self


class Consent(Record):
    """Words by which an agent asks for consent, and by which a customer gives or refuses it; the packaged
    ones where left out. An agent asks in a question, or in a sentence with one of `requests`. `offers` are
    questions for a wish, not for consent; a customer's order in an answer to one, without any word of
    `agrees`, is no consent. With own `asks` this holds only for own `agrees`."""

    asks: Texts = ()
    requests: Texts = ()
    yes: Texts = ()
    no: Texts = ()
    offers: Texts = ()
    agrees: Texts = ()


def _as_consent(value: Any) -> Any:
    if isinstance(value, str) and value not in ("yes", "true"):
        raise InvalidValue("should be yes, or a mapping with {names}", names=", ".join(Consent.model_fields))
    return {} if isinstance(value, str) else value


class Clause(Record):
    """One rule with the text of the guideline. `on` is the event the rule is about; it does not apply after
    an event of `unless`."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    text: Text
    code: Code | None = None
    on: Annotated[Event, BeforeValidator(_as_event)]
    unless: Events = ()
    before: Events | None = None
    after: Events | None = None
    forbid: Alternatives | None = None
    only_if: Alternatives | None = None
    consent: Annotated[Consent, BeforeValidator(_as_consent)] | None = None
    limit: Limit | None = None
    stated: Annotated[tuple[Reference, ...], BeforeValidator(_as_list), Field(min_length=1)] | None = None

    @property
    def rule(self) -> str:
        return next(name for name in RULES if getattr(self, name) is not None)

    @property
    def violation_code(self) -> Code:
        """The code of its violations. A step that comes too late is P4 whatever this says, unless the file
        sets `code`."""
        return self.code or _CODES.get(self.rule, "P2")

    @model_validator(mode="after")
    def _check(self) -> Clause:
        rules = [name for name in RULES if getattr(self, name) is not None]
        if self.before == () or self.after == ():
            raise InvalidValue("before and after need an event")
        if not rules:
            raise InvalidValue("should have exactly one of {rules}", rules=", ".join(RULES))
        if len(rules) > 1:
            raise InvalidValue(
                "should have exactly one of {rules}, found {found}",
                rules=", ".join(RULES), found=" and ".join(rules),
            )  # fmt: skip
        if not self.on.call and rules[0] not in ("before", "after", "forbid", "limit"):
            raise InvalidValue("{rule} is about a call, so on needs one", rule=rules[0])
        for conditions in (*(self.forbid or ()), *(self.only_if or ())):
            _check_conditions(conditions)
        return self


class Fact(Record):
    """A fact of the log: the latest result of one of the tools in `call` for the same key. `key` maps an
    argument of those tools, or a field of their result, to a reference."""

    call: Annotated[Texts, Field(min_length=1)]
    key: dict[str, Reference] = Field(default_factory=dict)


class Tools(Record):
    """The tools of the log: `read` look something up, `write` change something, `other` do neither. `results`
    is whether the log has their results; without them every call counts as done."""

    read: Texts = ()
    write: Texts = ()
    other: Texts = ()
    results: Literal["yes", "no"] = "yes"


class Policy(Record):
    """A policy file. `source` says where its rules come from."""

    policy: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    source: Text | None = None
    tools: Tools = Tools()
    facts: dict[str, Fact] = Field(default_factory=dict, max_length=MAX_FACTS)
    clauses: Annotated[tuple[Clause, ...], Field(min_length=1)]

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of the rules, the same for any layout of the file; keys of later versions of dialint
        that a file does not use leave it as it is."""
        return fingerprint(self.model_dump(mode="json", by_alias=True, exclude_defaults=True))

    @property
    def codes(self) -> tuple[Code, ...]:
        codes = {clause.violation_code for clause in self.clauses}
        if any(clause.before and clause.code is None for clause in self.clauses):
            codes.add("P4")
        return tuple(sorted(codes))

    @model_validator(mode="after")
    def _check(self) -> Policy:
        names = {*self.tools.read, *self.tools.write, *self.tools.other}
        if len(names) != sum(map(len, (self.tools.read, self.tools.write, self.tools.other))):
            raise InvalidValue("tools: a tool stands twice")
        for name, fact in self.facts.items():
            for reference in fact.key.values():
                head = head_of(reference)
                if head in self.facts and list(self.facts).index(head) >= list(self.facts).index(name):
                    raise InvalidValue(
                        "facts.{name}: a key may refer to a fact above it only, not to {head}",
                        name=name,
                        head=head,
                    )
        return self
