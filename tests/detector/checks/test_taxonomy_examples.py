"""Each code's own example in the taxonomy is found by a check, and its counter-example is spared by all of them.

An example stands after the words of the customer or the agent that its brackets quote. What else it needs (a
policy, calls, times), and which examples no check finds, stands in `taxonomy_examples.yaml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from marked_dialogues import read_case

from dialint.detector.checks import CheckContext, load_checks
from dialint.detector.log_profile import LOGGED
from dialint.detector.policy import parse_policy
from dialint.detector.taxonomy import Code, load_taxonomy

TAXONOMY = load_taxonomy()
_BRACKETS = re.compile(r"\A\[(?P<context>.*?)\]\s*(?P<text>.*)\Z", re.DOTALL)
_QUOTE = re.compile(r'"([^"]*)"')
DOCUMENT = yaml.safe_load(Path(__file__).with_name("taxonomy_examples.yaml").read_text(encoding="utf-8"))
SETTINGS = DOCUMENT["settings"]
MISSED = {code: reason for reason, codes in DOCUMENT["not found"].items() for code in codes.split()}
ALSO = {"W3": {"W2"}}
"""Faults that a counter-example has all the same: an apology does not undo the wait."""


def hits(code: Code, text: str, is_example: bool) -> Iterator[tuple[str, bool]]:
    """Yield the code of every hit and whether it may be a finding."""
    match = _BRACKETS.match(text)
    context, text = (match["context"], match["text"]) if match else ("", text)
    quote = next(iter(_QUOTE.findall(context)), "Hello, it is about my order.")
    lines = [f"c: {quote}", f"a: {text}"]
    if code.code in SETTINGS:
        kind = "example" if is_example else "counter_example"
        lines = [line.replace("{text}", text) for line in SETTINGS[code.code][kind]]
    elif context.startswith("Sent before"):
        lines = ["c: I cannot get in.", f"a: {text}", *lines]
    elif context.startswith("Earlier the agent"):
        lines = ["c: Hello", f"a: {quote}", "c: Thank you.", f"a: {text}"]
    policies = {}
    if "policy" in SETTINGS.get(code.code, ()):
        clause = {**SETTINGS[code.code]["policy"]}
        tools = clause.pop("tools")
        content = {"policy": "own", "tools": tools, "clauses": [{"id": "1", "text": "own", **clause}]}
        policies["own"] = parse_policy(json.dumps(content))
    dialogue, _ = read_case(lines)
    for check in load_checks().values():
        for hit in check(dialogue, CheckContext(LOGGED, policies)):
            for each in [hit.code] if hit.code else list(check.codes):
                yield each, check.codes[each].outcome == "finding"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            each,
            id=each.code,
            marks=[pytest.mark.xfail(strict=True, reason=MISSED[each.code])] if each.code in MISSED else [],
        )
        for each in TAXONOMY.codes.values()
    ],
)
def test_the_example_of_a_code_is_found(code: Code) -> None:
    assert code.code in {each for each, _ in hits(code, code.example, True)}


@pytest.mark.parametrize("code", TAXONOMY.codes.values(), ids=list(TAXONOMY.codes))
def test_the_counter_example_of_a_code_is_spared(code: Code) -> None:
    codes = {
        each for each, is_sure in hits(code, code.counter_example, False) if is_sure or each == code.code
    }
    assert codes - ALSO.get(code.code, set()) == set()
