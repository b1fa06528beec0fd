"""Finds the clauses of a policy that a dialogue breaks.

Deterministic, and careful: a value that the log does not show is unknown, and a clause that depends on an
unknown value is not violated. A tool call counts if it was run and did not fail; those that failed count
where an event says `tried`, and those that were never run count nowhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import cache, cached_property
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any

from dialint.detector.policy.format import Clause, Code, Conditions, Consent, Event, Limit, Policy
from dialint.detector.policy.values import UNKNOWN, Moment, Statements, plain, scalars, test, values_at
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.tool_use import ToolUse, uses_by_turn
from dialint.detector.yaml_document import read_packaged

Values = tuple[str | None, ...]
"""Values as `_comparable` returns them."""


@dataclass(frozen=True)
class Violation:
    """A clause of the policy `policy` that was broken at a turn, by its index in the input."""

    policy: str
    clause: Clause
    code: Code
    turn: int
    why: str
    call: int = 0
    """The number of the call in the turn that broke it, from 0."""


@dataclass(frozen=True)
class Call:
    """A tool call with its place and parsed result."""

    use: ToolUse
    at: Moment
    counts: bool
    """True if it was run and did not fail."""

    @property
    def name(self) -> str:
        return self.use.call.name

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.use.call.arguments

    @cached_property
    def result(self) -> Any:
        """The parsed result; its text if that is no JSON, UNKNOWN without one."""
        if self.use.result is None or not self.counts:
            return UNKNOWN
        return self.use.result.strip() if self.use.value is None else self.use.value


@dataclass(frozen=True)
class Utterance:
    """A message that a clause is about, in the place of a call: it has a moment, but no arguments."""

    at: Moment
    arguments: Mapping[str, Any] = field(default_factory=dict)


class History:
    """A dialogue under a policy: its calls and texts in order. Results that several clauses need are
    cached."""

    def __init__(self, dialogue: Dialogue, policy: Policy) -> None:
        self.dialogue = dialogue
        self.policy = policy
        self.calls: list[Call] = []
        self.texts: dict[str, list[tuple[Moment, str]]] = {}
        """Words of each turn by side: ``agent``, ``customer``, ``tool``."""
        self._patterns: dict[int, tuple[frozenset[str], re.Pattern[str] | None]] = {}
        self._calls_of_fact: dict[tuple[str, Sequence[str]], dict[Values, list[Call]]] = {}
        self._facts: dict[tuple[str, Moment], Any] = {}
        place = {turn.index: position for position, turn in enumerate(dialogue.turns)}
        for uses in uses_by_turn(dialogue).values():
            for number, use in enumerate(uses, 1):
                done = not use.failed or policy.tools.results == "no"
                self.calls.append(Call(use, (place[use.turn], number), done))
        for position, turn in enumerate(dialogue.turns):
            side = "agent" if turn.role in JUDGED_ROLES else turn.role
            if turn.text.strip():
                self.texts.setdefault(side, []).append(((position, 0), turn.text))

    def matches(self, event: Event) -> Iterator[tuple[Moment, Call | None]]:
        """Yield the moments at which an event happens, in order, with the call if it is one."""
        results: list[tuple[Moment, Call | None]] = []
        for side, phrases in (("agent", event.says), ("customer", event.customer_says)):
            plain_phrases = [plain(phrase) for phrase in phrases]
            for moment, text in self.texts.get(side, ()) if phrases else ():
                words = plain(text)
                if any(phrase in words for phrase in plain_phrases):
                    results.append((moment, None))
        for call in self.calls if event.call else ():
            runs = call.counts or (event.tried == "yes" and call.use.was_run)
            if runs and self.is_match(call.name, event.call) and self.holds(event.with_, call) is True:
                results.append((call.at, call))
        yield from sorted(results, key=itemgetter(0))

    def is_match(self, name: str, patterns: Sequence[str]) -> bool:
        """Return whether a tool has one of the names, fits one of the patterns, or is of one of the groups,
        which stand in the policy."""
        if id(patterns) not in self._patterns:
            tools = self.policy.tools
            groups = {"read": tools.read, "write": tools.write, "other": tools.other}
            wild = [each for each in patterns if not set(each).isdisjoint("*?[")]
            plain_names = set(patterns).difference(wild)
            names = frozenset(tool for each in plain_names for tool in groups.get(each, (each,)))
            either = re.compile("|".join(map(translate, wild))) if wild else None
            self._patterns[id(patterns)] = names, either
        names, either = self._patterns[id(patterns)]
        return name in names or (either is not None and either.match(name) is not None)

    def holds(self, conditions: Conditions, call: Call | Utterance) -> bool | None:
        """Return whether all conditions hold at a call or message; None if unknown."""
        results = [
            test(self.value(reference, call), how, lambda other: self.value(other, call))
            for reference, how in conditions.items()
        ]
        if False in results:
            return False
        return None if None in results else True

    def value(self, reference: str, call: Call | Utterance) -> Any:
        """Return the value of NAME, NAME.FIELD or count(...): of a fact, or of an argument of the call."""
        if reference.startswith("count("):
            value = self.value(reference[len("count(") : -1], call)
            return len(value) if isinstance(value, (list, dict)) else UNKNOWN
        head, _, rest = reference.partition(".")
        is_fact = head in self.policy.facts
        return values_at(self.fact(head, call) if is_fact else call.arguments.get(head, UNKNOWN), rest)

    def fact(self, name: str, call: Call | Utterance) -> Any:
        """Return the latest result before `call` of the tools of a fact, for the same key. A message has no
        argument that could say which one it is about, so there it must be the only one."""
        if (name, call.at) not in self._facts:
            self._facts[name, call.at] = self._find_fact(name, call)
        return self._facts[name, call.at]

    def _find_fact(self, name: str, call: Call | Utterance) -> Any:
        arguments: list[str] = []
        values: list[str | None] = []
        for argument, reference in self.policy.facts[name].key.items():
            if isinstance(call, Call) or reference.partition(".")[0] in self.policy.facts:
                arguments.append(argument)
                values.append(_comparable(self.value(reference, call)))
                continue
            of_argument = self._grouped(name, (*arguments, argument))
            group = self._grouped(name, tuple(arguments)).get(tuple(values), [])
            n_before = bisect_left(group, call.at, key=attrgetter("at"))
            if n_before:
                own = _comparable(_field(group[0], argument))
                same = of_argument.get((*values, own), [])
                if own is None or bisect_left(same, call.at, key=attrgetter("at")) < n_before:
                    return UNKNOWN
        group = self._grouped(name, tuple(arguments)).get(tuple(values), [])
        n_before = bisect_left(group, call.at, key=attrgetter("at"))
        return group[n_before - 1].result if n_before and None not in values else UNKNOWN

    def _grouped(self, name: str, arguments: Sequence[str]) -> dict[Values, list[Call]]:
        """Return the calls of a fact that count, in order, by their values of some arguments."""
        if (name, arguments) not in self._calls_of_fact:
            groups: dict[Values, list[Call]] = {}
            for call in self.calls:
                if call.counts and self.is_match(call.name, self.policy.facts[name].call):
                    values = tuple(_comparable(_field(call, argument)) for argument in arguments)
                    groups.setdefault(values, []).append(call)
            self._calls_of_fact[name, arguments] = groups
        return self._calls_of_fact[name, arguments]

    def retried(self, call: Call) -> str | None:
        """Return why a call needs a new consent: it failed with other amounts since the customer spoke."""
        before = self._failed_before.get(call.at)
        amounts = _amounts(call.arguments)
        if before is None or not amounts or _amounts(before.arguments) in ([], amounts):
            return None
        return "the customer had agreed to another amount, which the tool refused"

    def unseen(self, call: Call) -> str | None:
        """Return why nobody can have agreed to a call: its object was looked up only afterwards."""
        for name, value in call.arguments.items():
            first = self._first_calls.get((name, _comparable(value)), call.at)
            if first < call.at and self._turns_before(first) == self._turns_before(call.at):
                return f"{name} was looked up only after the customer's last words"
        return None

    def _turns_before(self, moment: Moment) -> int:
        return bisect_left(self.texts.get("customer", []), moment, key=itemgetter(0))

    @cached_property
    def _first_calls(self) -> dict[tuple[str, str | None], Moment]:
        """The moment of the first look-up of each value of an id, if no other call had it before."""
        first: dict[tuple[str, str | None], Call] = {}
        for call in self.calls:
            for name, value in call.arguments.items() if call.counts else ():
                if name.endswith(("_id", "Id", "ID")) and isinstance(value, str):
                    first.setdefault((name, _comparable(value)), call)
        return {key: call.at for key, call in first.items() if call.name in self.policy.tools.read}

    @cached_property
    def _failed_before(self) -> dict[Moment, Call]:
        """The last call of the same tool before each one that failed since the customer spoke."""
        customer = [moment for moment, _ in self.texts.get("customer", ())]
        failed: dict[tuple[str, int], Call] = {}
        results: dict[Moment, Call] = {}
        for call in self.calls:
            key = call.name, bisect_left(customer, call.at)
            if call.counts and key in failed:
                results[call.at] = failed[key]
            elif call.use.was_run and not call.counts:
                failed[key] = call
        return results

    @cached_property
    def statements(self) -> Statements:
        """All messages and results, to be searched for values."""
        texts = [entry for side in ("customer", "agent", "tool") for entry in self.texts.get(side, ())]
        return Statements(sorted(texts, key=itemgetter(0)))


def _amounts(value: Any, name: str = "") -> list[float]:
    """Return the amounts among the arguments of a call, sorted."""
    if isinstance(value, dict):
        return sorted(amount for key, each in value.items() for amount in _amounts(each, key))
    if isinstance(value, list):
        return sorted(amount for each in value for amount in _amounts(each, name))
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and "amount" in name.casefold()
    return [float(value)] if is_amount else []


def _field(call: Call, name: str) -> Any:
    value = call.arguments.get(name, UNKNOWN)
    return values_at(call.result, name) if value is UNKNOWN else value


def _comparable(value: Any) -> str | None:
    """Return a value as keys are compared; None if it is unknown."""
    return None if value is UNKNOWN else str(value).strip().lstrip("#").casefold()


def violations(dialogue: Dialogue, policy: Policy) -> tuple[Violation, ...]:
    """Return every clause of `policy` that a dialogue breaks, in the order of its turns."""
    history = History(dialogue, policy)
    results = [
        Violation(policy.policy, clause, code, dialogue.turns[moment[0]].index, why, max(0, moment[1] - 1))
        for clause in policy.clauses
        for moment, code, why in _break(clause, history)
    ]
    return tuple(sorted(results, key=lambda result: result.turn))


def _break(clause: Clause, history: History) -> Iterator[tuple[Moment, Code, str]]:
    """Yield where a clause is broken, as which code, and why."""
    subjects = list(history.matches(clause.on))
    if excused := [moment for event in clause.unless for moment, _ in history.matches(event)]:
        first = min(excused)
        subjects = [(moment, call) for moment, call in subjects if moment <= first]
    code = clause.violation_code
    if clause.before is not None:
        yield from _missing_before(clause, history, subjects)
    elif clause.after is not None:
        for event in clause.after:
            last = max((moment for moment, _ in history.matches(event)), default=(-1, 0))
            for moment, call in subjects[-1:]:
                if last <= moment:
                    yield moment, code, f"after {_name(call)} {describe(event)} never followed"
    elif clause.limit is not None:
        for moment, why in _over_limit(clause.limit, subjects, history):
            yield moment, code, why
    elif clause.consent is not None:
        acts = {moment[0] for moment, _ in subjects}
        problems = consent_problems(history.dialogue, clause.consent, acts)
        for moment, call in subjects:
            if call is not None and (
                problem := problems[moment[0]] or history.retried(call) or history.unseen(call)
            ):
                yield moment, code, f"{call.name} was called and {problem}"
    else:
        for moment, call in subjects:
            if problem := _why_wrong(clause, call or Utterance(moment), history):
                yield moment, code, problem


def _why_wrong(clause: Clause, call: Call | Utterance, history: History) -> str | None:
    """Return why one call or message breaks a clause on single ones, None if it does not. `stated` is about
    calls only."""
    happened = f"{call.name} was called" if isinstance(call, Call) else "said what must not be said"
    if clause.forbid is not None:
        for conditions in clause.forbid:
            if history.holds(conditions, call) is True:
                return f"{happened}{_values(conditions, call, history)}"
    elif clause.only_if is not None:
        if all(history.holds(conditions, call) is False for conditions in clause.only_if):
            seen = {
                reference: test for conditions in clause.only_if for reference, test in conditions.items()
            }
            return f"{happened}{_values(seen, call, history)}"
    elif clause.stated is not None and isinstance(call, Call):
        for reference in clause.stated:
            for value in scalars(history.value(reference, call)):
                if not history.statements.has(value, call.at):
                    return f"{happened} with a value of {reference} that nobody stated"
    return None


def _missing_before(
    clause: Clause, history: History, subjects: Sequence[tuple[Moment, Call | None]]
) -> Iterator[tuple[Moment, Code, str]]:
    """Yield each required step once: at the first subject before which it is missing."""
    for event in clause.before or ():
        words: list[Moment] = []
        steps: dict[Values, Moment] = {}
        for moment, step in history.matches(event):
            if step is None:
                words.append(moment)
            else:
                steps.setdefault(tuple(_comparable(_field(step, own)) for own in event.same), moment)
        for moment, call in subjects:
            if call is None:
                fitting = [*words[:1], *islice(steps.values(), 1)]
            else:
                key = tuple(_comparable(history.value(theirs, call)) for theirs in event.same.values())
                if None in key:
                    continue
                fitting = [*words[:1], *([steps[key]] if key in steps else ())]
            if not any(other < moment for other in fitting):
                code: Code = clause.code or ("P4" if fitting else "P1")
                came = "came only later" if fitting else "is missing"
                yield moment, code, f"before {_name(call)} {describe(event)} {came}"
                break


def _over_limit(
    limit: Limit, subjects: Sequence[tuple[Moment, Call | None]], history: History
) -> Iterator[tuple[Moment, str]]:
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for moment, call in subjects:
        most = f"at most {limit.at_most}"
        if call is not None and limit.items is not None:
            values = map(str, scalars(history.value(limit.items, call)))
            n = sum(fnmatchcase(value, limit.like) for value in values)
            if n > limit.at_most:
                yield moment, f"{n} values of {limit.items} in one call, {most}"
        elif call is not None and limit.different is not None:
            for value in map(str, scalars(history.value(limit.different, call))):
                if value not in seen:
                    seen.add(value)
                    if len(seen) > limit.at_most:
                        yield moment, f"{call.name} for {len(seen)} values of {limit.different}, {most}"
        else:
            key = "" if limit.per is None or call is None else str(history.value(limit.per, call))
            counts[key] += 1
            if counts[key] > limit.at_most:
                yield moment, f"{_name(call)}, {counts[key]} times by now, {most}"


def _values(conditions: Conditions, call: Call | Utterance, history: History) -> str:
    """Values that a decision was made on, as ``with order.status delivered``; short ones without digits, so
    that no personal data are quoted."""
    parts = []
    for reference in conditions:
        value = history.value(reference, call)
        text = str(value)
        if (
            isinstance(value, (str, int, float))
            and len(text) <= 20
            and (isinstance(value, int) or text.replace("_", "").isalpha())
        ):
            parts.append(f"{reference} {text}")
    return f" with {', '.join(parts)}" if parts else ""


def _name(call: Call | None) -> str:
    return "this was said" if call is None else call.name


def describe(event: Event) -> str:
    if event.call:
        return " or ".join(event.call)
    side, phrases = ("the agent's", event.says) if event.says else ("the customer's", event.customer_says)
    return f"{side} “{phrases[0]}”" + (" or the like" if len(phrases) > 1 else "")


_SENTENCE_END = re.compile(r"(?<=[.!?？])\s|\n")
_LAST_WORDS = 200
"""Characters at the end of a message that its last request stands in."""


def consent_problems(dialogue: Dialogue, words: Consent, acts: Collection[int] = ()) -> list[str | None]:
    """Return what is missing of a customer's consent to an act, by the position of the turn it is done in:
    nobody asked, the customer had not answered, refused, or only now said what to do. None if nothing is.

    The act needs a message of the agent that asks, and after it one of the customer that does not refuse. A
    customer who orders the act in plain words after a question of the agent has agreed, so the customer's
    words need not be a yes; an answer to an offer of more help, after an act, is none. Who agreed once has
    not refused by a no to another question, and has agreed while the agent asks for details, until one of the
    `acts`, the positions of turns, is done.
    """
    packaged = _load_packaged()
    asks, requests = _plain_all(words.asks or packaged.asks), _plain_all(words.requests or packaged.requests)
    yes, no = _plain_all(words.yes or packaged.yes), _plain_all(words.no or packaged.no)
    own = words if words.asks else packaged
    offers, agrees = _plain_all(words.offers or own.offers), _plain_all(words.agrees or own.agrees)
    is_requested = waiting = answered = agreed = is_order = has_consent = is_done = False
    question = ""
    problems: list[str | None] = []
    for position, turn in enumerate(dialogue.turns):
        states = {
            "nobody asked the customer to confirm it": not is_requested,
            "the customer had not answered yet": not answered,
            "the customer had refused": not agreed,
            "the customer was not asked to confirm this order": is_order and not has_consent,
        }
        problems.append(next((problem for problem, holds in states.items() if holds), None))
        has_consent, is_done = has_consent and position not in acts, is_done or position in acts
        if not turn.text.strip():
            continue
        if turn.role in JUDGED_ROLES:
            waiting = _asks(turn.text, asks, requests)
            is_requested, answered = is_requested or waiting, answered and not waiting
            question, is_order = turn.text, False
            has_consent = has_consent and not _has(plain(turn.text), offers)
            is_done = is_done and not _is_specific(question, offers, waiting)
        elif turn.role == "customer" and is_requested:
            text = plain(turn.text)
            agreed = agreed or not (waiting and text.startswith(no) and not _has(text, yes))
            answered = True
            is_offered = is_done and _has(plain(question[-_LAST_WORDS:]), offers)  # a yes is to more help
            agrees_now = not is_offered and _has(text, agrees)
            has_consent = has_consent or (waiting and agrees_now and not text.startswith(no))
            is_order = bool(question and agrees) and not agrees_now
            is_order &= turn.text.rstrip().endswith(("?", "？")) or not _is_specific(
                question, offers, waiting
            )
            question = ""
    return problems


def _plain_all(phrases: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(plain, phrases))


def _has(text: str, phrases: Sequence[str]) -> bool:
    return any(phrase in text for phrase in phrases)


def _is_specific(text: str, offers: Sequence[str], asks: bool) -> bool:
    """Return whether a message of the agent asks for more than what the customer would like: its end offers
    help, or it has no question and does not ask for consent (`asks`)."""
    end = plain(text[-_LAST_WORDS:])
    if asks and not _has(end, offers):
        return True
    questions = (
        sentence for sentence in _SENTENCE_END.split(text) if sentence.rstrip().endswith(("?", "？"))
    )
    return any(not _has(plain(each), offers) for each in questions)


def _asks(text: str, phrases: Sequence[str], requests: Sequence[str]) -> bool:
    """Return whether a sentence that is a question or a request has one of the phrases."""
    for sentence in _SENTENCE_END.split(text):
        words = plain(sentence)
        asks = sentence.rstrip().endswith(("?", "？")) or _has(words, requests)
        if asks and _has(words, phrases):
            return True
    return False


@cache
def _load_packaged() -> Consent:
    return Consent.model_validate(read_packaged("policy/consent.yaml"), strict=False)
