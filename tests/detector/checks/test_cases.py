"""The errors that every check must find, and the texts that it must spare: the cases of `cases.yaml`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from marked_dialogues import read_case
from mutated_dialogues import Mutator

from dialint.detector.checks import NO_CONTEXT, CheckContext, Evidence, Hit, load_checks
from dialint.detector.checks.raw_text import unfilled_placeholder
from dialint.detector.checks.words import read_words
from dialint.detector.log_profile import LOGGED, LogProfile, profile_log
from dialint.detector.policy.reading import parse_policy
from dialint.detector.records import Dialogue, Turn

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))
POLICY = parse_policy("policy: shop\nclauses: [{id: ask, text: Ask first., on: refund, consent: 'yes'}]")
AIRLINE = parse_policy((Path(__file__).parents[3] / "app/sample/policies/airline.yaml").read_text("utf-8"))
LOGS = {
    "log: airline": LogProfile(),
    "log: with calls": LOGGED,
    "log: partial, policy": LogProfile(n_dialogues=10, tool_dialogues=3, early_dialogues=3),
    "log: some calls, policy": LogProfile(n_dialogues=10, tool_dialogues=3),
    "log: some calls": LogProfile(n_dialogues=10, tool_dialogues=3),
    "log: lists get_user": LogProfile(listing_tools=("get_user",)),
    "log: halls": LogProfile(
        choices={
            "plan hall": ("north hall", "west hall"),
            "find_hall hall": ("north hall", "west hall"),
            "plan mode": ("book", "check"),
        }
    ),
}


IN_LANGUAGES = ("insult", "asks_secret", "passes_over_person", "claims_failed_write")


def cases(groups_of: dict[str, Any]) -> Iterator[Any]:
    for check, groups in groups_of.items():
        for why, listed in groups.items() if isinstance(groups, dict) else [("", groups)]:
            for case in listed:
                yield pytest.param(check, why, case, id=f"{check}: {str(case)[:60]}")


def read_context(case: str | list[str]) -> tuple[CheckContext, tuple[Dialogue, list[tuple[int, int, int]]]]:
    """What is known of the log of a case, and its dialogue and quotes as `read_case` returns them."""
    if case[0] not in LOGS:
        return NO_CONTEXT, read_case(case)
    policies = {"shop": POLICY} if case[0].endswith("policy") else {}
    policies |= {"airline": AIRLINE} if case[0].endswith("airline") else {}
    return CheckContext(LOGS[case[0]], policies), read_case(case[1:])


@pytest.mark.parametrize(("check", "why", "case"), tuple(cases(CASES)))
def test_a_check_finds_what_is_marked_and_nothing_else(check: str, why: str, case: str | list[str]) -> None:
    context, (dialogue, quotes) = read_context(case)
    if check in IN_LANGUAGES:
        dialogue = dialogue.model_copy(update={"language": None})
        context = CheckContext(languages=("de", "en", "es", "fr", "ru"))
    hits: list[Hit] = list(load_checks()[check](dialogue, context))
    assert list(dict.fromkeys((hit.turn, hit.start, hit.end) for hit in hits)) == quotes
    assert all(why in hit.why for hit in hits)


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).with_name("by_language").glob("*.jsonl")), ids=lambda path: path.stem
)
def test_the_words_of_a_language_find_its_errors_and_spare_the_rest(path: Path) -> None:
    """Examples by native speakers, most of whom did not write the rules."""
    checks = {"V2": "asks_secret", "T1": "insult", "E4": "passes_over_person"}
    wrong = []
    for n, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        row = json.loads(line)
        turns = tuple(Turn(index=i, role=role, text=text) for i, (role, text) in enumerate(row["turns"]))
        dialogue = Dialogue(id="d", turns=turns, language=path.stem)
        if any(load_checks()[checks[row["code"]]](dialogue)) is not row["error"]:
            wrong.append(f"{path.name}:{n}")
    assert len(wrong) <= 2, wrong


def test_every_rule_of_grammar_has_a_slip() -> None:
    assert set(CASES["grammar_slip"]) - {"correct"} == set(read_words("grammar_rules"))


TOKENS = ("I am {{client 1}}", "{{client 2}} here")


def test_the_logs_own_masking_is_no_slot() -> None:
    log = profile_log([read_case([text, "Hi!"], str(n))[0] for n, text in enumerate(TOKENS)])
    assert log.masking == ("{{client}}",)
    talk, quotes = read_case(["Hello", "Hi ⟦{{client 4}}⟧!"])
    assert [(hit.turn, hit.start, hit.end) for hit in unfilled_placeholder(talk)] == quotes
    assert list(unfilled_placeholder(talk, CheckContext(log))) == []


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [(Evidence(), "suggestion"), (Evidence(1, 50), "suggestion"), (Evidence(13, 20), "suggestion"),
     (Evidence(47, 50), "finding"), (Evidence(47, 50, "suggestion"), "suggestion"),
     (Evidence(estimate=0.65), "suggestion"), (Evidence(estimate=0.9), "finding")],
)  # fmt: skip
def test_a_check_accuses_only_where_it_was_measured_and_right_often_enough(
    evidence: Evidence, outcome: str
) -> None:
    assert evidence.outcome == outcome


@pytest.mark.parametrize("n", [2_500, pytest.param(60_000, marks=pytest.mark.slow)])
def test_no_check_breaks_at_other_numbers_words_or_results(n: int) -> None:
    known = [
        (context, dialogue)
        for context, (dialogue, _) in (read_context(case.values[2]) for case in cases(CASES))
    ]
    chance = random.Random(n)
    mutator = Mutator(chance, [dialogue for _, dialogue in known])
    for _ in range(n):
        context, one = chance.choice(known)
        dialogue = mutator.mutate(one)
        for name, check in load_checks().items():
            for hit in check(dialogue, context):
                turn = dialogue.turns[hit.turn]
                assert 0 <= hit.start < hit.end <= turn.n_places, (name, dialogue)
