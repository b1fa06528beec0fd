"""What a flow chart requires: the steps that every path from its start to an outcome passes through.

Reads charts of the form ``{"replies": {node: text}, "graph": {node: next}}``. Steps that the chart itself
calls optional ("would you like to add ...") are not required. No knowledge of dialogues or errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

START = "hello"

_QUERY = re.compile(r"query(?:_check|_book)?")
_FAILED = re.compile(r"fail|unavailable|not_available|nothing_found|no_venue|cannot|missing")
_OPTIONAL = re.compile(
    r"\bspecial requests|\blike to (?:add|note|order)\b|\balso filter\b|\bspecific kinds\b", re.IGNORECASE
)

Graph = dict[str, set[str]]


def required(chart: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The steps, in the chart's order, without which each outcome cannot be reached; outcomes that
    require none are left out. An outcome is a statement that follows a look-up which did not fail."""
    graph, replies = completed(chart), chart["replies"]
    steps = [node for node in graph if _is_step(node, replies.get(node, ""))]
    needs = {}
    for outcome in _outcomes(graph, replies):
        if outcome in _reached(graph):
            found = tuple(step for step in steps if outcome not in _reached(graph, without=step))
            if found:
                needs[outcome] = found
    return needs


def completed(chart: Mapping[str, Any]) -> Graph:
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
        told = any(node in graph[answer] for answer in answers)
        inner = node.startswith("query") or node == "available" or "_ask_" in node
        if told and not inner and node in replies and not _FAILED.search(node) and "?" not in replies[node]:
            yield node


def _reached(graph: Graph, without: str = "") -> set[str]:
    seen, ahead = {START}, [START]
    while ahead:
        for node in graph.get(ahead.pop(), set()) - seen - {without}:
            seen.add(node)
            ahead.append(node)
    return seen
