"""Flow charts of procedures: the steps that an outcome requires, and where a dialogue's agent took them.

Reads charts of the form ``{"replies": {node: text}, "graph": {node: next}}``. Steps that the chart itself
calls optional ("would you like to add ...") are not required. Of the steps of a dialogue, only those are
found that can be taken out without leaving a trace: asked once, answered shortly, and given nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dialint.labeling.synthetic.dialogue_acts import content_words
from dialint.labeling.synthetic.example_draft import ExampleDraft
from dialint.labeling.synthetic.wordings import Wordings

THINGS = Wordings("train/process").mapping("things")
"""What a step asks for, by a part of the step's name; the first that fits counts."""

START = "hello"

_QUERY = re.compile(r"query(?:_check|_book)?")

_FAILED = re.compile(r"fail|unavailable|not_available|nothing_found|no_venue|cannot|missing")

_OPTIONAL = re.compile(
    r"\bspecial requests|\blike to (?:add|note|order)\b|\balso filter\b|\bspecific kinds\b", re.IGNORECASE
)

Graph = dict[str, set[str]]


def required_steps(chart: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The steps, in the chart's order, without which each outcome cannot be reached; outcomes that
    require none are left out. An outcome is a statement that follows a look-up which did not fail."""
    graph, replies = complete_graph(chart), chart["replies"]
    steps = [node for node in graph if _is_step(node, replies.get(node, ""))]
    needs = {}
    for outcome in _outcomes(graph, replies):
        if outcome in _reached(graph):
            required = tuple(step for step in steps if outcome not in _reached(graph, without=step))
            if required:
                needs[outcome] = required
    return needs


def complete_graph(chart: Mapping[str, Any]) -> Graph:
    """The chart's edges with those it leaves to the reader: a look-up leads to its results, a yes-or-no
    question to both answers, and any question to "info missing". In doubt there is an edge, so that
    a step counts as required rather too seldom."""
    graph: Graph = {}
    for node, after in chart["graph"].items():
        graph.setdefault(node, set()).update([after] if isinstance(after, str) else after)
    for node in {after for others in graph.values() for after in others}:
        graph.setdefault(node, set())
    for node in list(graph):
        reply = chart["replies"].get(node, "")
        if _QUERY.fullmatch(node) and not graph[node]:
            graph[node] = _results(node, graph)
        elif not graph[node] and "?" in reply and not _FAILED.search(node):
            graph[node] = {"yes", "no", "done"} & graph.keys()
        if "?" in reply and node != START and not _FAILED.search(node):
            graph[node] = graph[node] | {other for other in graph if other.startswith("info_missing")}
    return graph


def _results(node: str, graph: Graph) -> set[str]:
    if node == "query_check" and "available" in graph:
        return {"available", "unavailable"} & graph.keys()
    return {"query_success", "query_failure"} & graph.keys()


def _is_step(node: str, reply: str) -> bool:
    asks = "?" in reply or "please" in reply.lower()
    return asks and node not in (START, "anything_else") and not _OPTIONAL.search(reply)


def _outcomes(graph: Graph, replies: Mapping[str, str]) -> Iterator[str]:
    answers = {node for node in graph if _QUERY.fullmatch(node) or node in ("query_success", "available")}
    for node in graph:
        is_answer = any(node in graph[answer] for answer in answers)
        inner = node.startswith("query") or node == "available" or "_ask_" in node
        if (
            is_answer
            and not inner
            and node in replies
            and not _FAILED.search(node)
            and "?" not in replies[node]
        ):
            yield node


def _reached(graph: Graph, without: str = "") -> set[str]:
    seen, ahead = {START}, [START]
    while ahead:
        for node in graph.get(ahead.pop(), set()) - seen - {without}:
            seen.add(node)
            ahead.append(node)
    return seen


MAX_ANSWER = 12
"""Words of the longest answer to a step; a longer one says more than the step asks for."""

_CONFIRMS = re.compile(r"\b(book (it|that|this|the)|confirm your)\b", re.IGNORECASE)

_YES = re.compile(
    r"^\W*(yes|yeah|yep|yea|sure|ok|okay|please|absolutely|of course|great|perfect|sounds)\b", re.I
)

_BOOK_IT = re.compile(r"\b(book|schedule|reserve|go ahead|proceed|do it|do that)\b", re.IGNORECASE)

_REFUSES = re.compile(r"\b(sorry|unfortunately|not authori[sz]ed|cannot|unable|failed)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ProcedureStep:
    """A step that was taken: indexes of the agent's question and of the outcome that needs it, and the
    noun for what is asked; "" is consent to the outcome itself. The answer is at ``ask + 1``."""

    ask: int
    outcome: int
    thing: str


def find_steps(draft: ExampleDraft) -> list[ProcedureStep]:
    """The required steps that were taken exactly once, before the first outcome, and by nothing else."""
    turns = draft.turns
    outcome = next((i for i, turn in enumerate(turns) if turn.action in draft.required), None)
    if outcome is None or turns[outcome].touched or _REFUSES.search(turns[outcome].text):
        return []
    if any(turn.action in ("utter", "custom") and "?" in turn.text for turn in turns[:outcome]):
        return []  # a question of the agent's own making may have been the step in other words
    results = []
    for name in draft.required[turns[outcome].action]:
        asks = [i for i, turn in enumerate(turns) if turn.action == name]
        if len(asks) == 1 and 0 < asks[0] < outcome - 1 and _simple(draft, asks[0]):
            thing = "" if _CONFIRMS.search(turns[asks[0]].text) else step_noun(name)
            step = ProcedureStep(asks[0], outcome, thing)
            if _agreed(draft, step) if not thing else _only_there(draft, step):
                results.append(step)
    return results


def step_noun(name: str) -> str:
    """The noun for what a step asks for, from the step's name."""
    return next((noun for part, noun in THINGS.items() if part in name), "detail")


def _simple(draft: ExampleDraft, ask: int) -> bool:
    """Customer, question, short answer, agent: the pair can go and the dialogue still alternates."""
    before, question, answer, after = draft.turns[ask - 1 : ask + 3]
    roles = [turn.role for turn in (before, question, answer, after)]
    return (
        roles == ["customer", "agent", "customer", "agent"]
        and not question.touched
        and not answer.touched
        and "?" not in answer.text
        and len(answer.text.split()) <= MAX_ANSWER
    )


def _agreed(draft: ExampleDraft, step: ProcedureStep) -> bool:
    before, _, answer = draft.turns[step.ask - 1 : step.ask + 2]
    return bool(_YES.search(answer.text)) and not _BOOK_IT.search(before.text)


def _only_there(draft: ExampleDraft, step: ProcedureStep) -> bool:
    """Whether no other turn of the customer's holds a word or number of the answer."""
    values = _values(draft.turns[step.ask + 1].text)
    elsewhere = (
        _values(turn.text)
        for i, turn in enumerate(draft.turns)
        if turn.role == "customer" and i != step.ask + 1
    )
    return not any(values & other for other in elsewhere)


def _values(text: str) -> set[str]:
    return content_words(text) | {
        w.lower() for w in re.findall(r"\b(?:(?=[^\W\d]*+\d)|[A-Z](?=\w))\w++", text)
    }
