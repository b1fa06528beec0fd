"""Rows derived from verdicts, answers and appeals: states after each change, and their recomputation."""

from typing import Any

import make
import pytest
from answering import answer, claim, make_project
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, text
from tampering import unlocked

from dialint.labeling.store import accounts, annotations, appeals, dialogues, erasure, projects, tasks
from dialint.labeling.store.database import derived
from dialint.labeling.store.database.decisions import (
    DecidingAnswer,
    FindingAppeal,
    NewestVerdict,
    decide_findings,
)
from dialint.labeling.store.database.derived import SLOT_BITS, rebuild
from dialint.labeling.store.database.schema import dialogue_index, finding_index
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import check_derived, verify
from dialint.labeling.store.insights import read_totals
from dialint.labeling.store.records import Account, NewTask, Project, StoreDamaged

EVER = (0, 2_000_000_000_000)


@pytest.fixture
def scored(store: Store) -> Store:
    """d1 has a C1 and the suggestion of a T1 by release r1."""
    dialogues.add(store, "lea", [make.dialogue("d1"), make.dialogue("d2")])
    verdict = make.verdict("d1", make.finding(), release="r1")
    verdict = verdict.model_copy(update={"suggestions": (make.finding("T1"),)})
    dialogues.add_verdicts(store, "lea", [verdict, make.verdict("d2", release="r1")])
    return store


def decisions(store: Store) -> list[tuple[str, bool, str]]:
    """Code, whether a suggestion, and decision, of all findings of d1."""
    columns = finding_index.c
    query = select(columns.code, columns.suggestion, columns.decision).order_by(columns.number, columns.place)
    return [tuple(row) for row in store.read(lambda transaction: transaction.run(query).all())]


def state(store: Store, name: str = "d1") -> Any:
    query = select(dialogue_index).where(dialogue_index.c.dialogue == name)
    return store.read(lambda transaction: transaction.run(query).one())


def review(store: Store, actor: str, key: str, codes: list[str], findings: list[Any]) -> int:
    last = [one for one in annotations.list_annotations(store, actor, "d1") if one.turn is None]
    expected = int(last[-1].id) if last else None
    return int(annotations.review(store, actor, "d1", key, codes, findings, expected=expected).id)


def test_states_after_each_decision(scored: Store) -> None:
    assert decisions(scored) == [("C1", False, "open"), ("T1", True, "open")]
    assert (state(scored).status, state(scored).review, state(scored).worst) == ("scored", "none", "S2")
    first = review(scored, "rob", "1", ["C1"], [make.finding()])
    assert decisions(scored) == [("C1", False, "confirmed"), ("T1", True, "open")]
    assert state(scored).review == "reviewed"
    annotations.correct(scored, "rob", first, "2", [])
    assert decisions(scored)[0] == ("C1", False, "rejected"), "a correction replaces it"
    harder = make.finding(severity="S1")
    review(scored, "ria", "3", ["C1", "T1", "U2"], [harder, make.finding("T1"), make.finding("U2")])
    assert decisions(scored) == [("C1", False, "changed"), ("T1", True, "confirmed"), ("U2", False, "added")]
    totals = read_totals(scored, "lea", *EVER)
    assert (totals.findings, totals.suggestions, totals.changed, totals.added) == (1, 1, 1, 2)
    review(scored, "eve", "4", ["C1"], [])
    review(scored, "rob", "5", ["C1"], [make.finding()])
    assert decisions(scored)[0] == ("C1", False, "rejected"), "an expert's answer goes before a reviewer's"


def test_a_second_release_replaces_the_findings_and_decisions_hold(scored: Store) -> None:
    review(scored, "rob", "1", ["C1", "U2"], [make.finding()])
    new = make.verdict("d1", make.finding(), make.finding("U2"), release="r2")
    dialogues.add_verdicts(scored, "lea", [new])
    assert decisions(scored) == [("C1", False, "confirmed"), ("U2", False, "rejected")]
    assert state(scored).release == "r2"
    assert read_totals(scored, "lea", *EVER, release="r1").findings == 0
    assert read_totals(scored, "lea", *EVER, release="r2").findings == 2


def test_labelers_decide_nothing_and_a_ban_takes_back_what_it_discards(scored: Store) -> None:
    make_project(scored, ["d1"])
    answer(scored, "rob", "p", "k", [make.finding()])
    assert decisions(scored)[0][2] == "confirmed"
    accounts.set_status(scored, "ada", "rob", "banned")
    assert decisions(scored)[0][2] == "confirmed", "a ban alone changes nothing"
    assert accounts.ban(scored, "ada", "rob", "made up answers") == 1
    assert decisions(scored)[0][2] == "open"
    answer(scored, "ann", "p", "a", [make.finding()])
    assert (decisions(scored)[0][2], state(scored).review) == ("open", "labeled")


def test_exercises_decide_nothing(scored: Store) -> None:
    projects.create(scored, "lea", Project(id="c", codes=("C1",), purpose="calibration"))
    projects.create(scored, "lea", Project(id="t", codes=("C1",), purpose="review"))
    tasks.add(scored, "lea", "c", [NewTask(dialogue="d1")])
    tasks.add(scored, "lea", "t", [NewTask(dialogue="d1", pool="training")])
    for project, pool in (("c", "main"), ("t", "training")):
        lease = claim(scored, "rob", project, pool=pool)
        annotations.submit(scored, "rob", lease.task, lease.token, project, [])
    assert (decisions(scored)[0][2], state(scored).review) == ("open", "none")


@pytest.mark.parametrize(
    ("outcome", "decision", "errors"),
    [("overturned", "rejected", "[]"), ("upheld", "confirmed", '[["C1", "S2"]]')],
)
def test_an_appeal_has_the_last_word(scored: Store, outcome: Any, decision: str, errors: str) -> None:
    accounts.create(scored, "ada", Account(id="agnes", role="labeler", agent="a1"))
    projects.create(scored, "lea", Project(id="s", codes=("C1",), purpose="review"))
    review(scored, "rob", "1", ["C1"], [make.finding()])
    appeal = appeals.open_appeal(scored, "agnes", "d1", 1, "C1", "I had answered")
    assert state(scored).appeal == "open"
    appeals.open_second_reviews(scored, "lea", "s")
    answer(scored, "ria", "s", "second")
    assert decisions(scored)[0][2] == "confirmed", "a second review decides nothing by itself"
    appeals.decide_appeal(scored, "eve", appeal.id, outcome, "as the log shows")
    assert decisions(scored)[0][2] == decision
    assert (state(scored).appeal, state(scored).reviewed_errors) == (outcome, errors)
    totals = read_totals(scored, "lea", *EVER)
    assert (totals.appealed, totals.overturned) == (1, int(outcome == "overturned"))
    own = read_totals(scored, "agnes", *EVER, agent="a1")
    assert own.overturned == totals.overturned, "an agent counts their own"


def rows_of(store: Store) -> list[Any]:
    queries = [
        select(dialogue_index).order_by(dialogue_index.c.dialogue),
        select(finding_index).order_by(finding_index.c.number, finding_index.c.place),
    ]
    return store.read(lambda transaction: [transaction.run(query).all() for query in queries])


def test_rebuilt_is_what_was_kept_up(scored: Store) -> None:
    review(scored, "rob", "1", ["C1", "U2"], [make.finding("U2")])
    dialogues.add(scored, "lea", [make.dialogue("d3", "a2", "Something else")])
    dialogues.add_verdicts(scored, "lea", [make.verdict("d3", make.finding("U2"), release="r2")])
    before = rows_of(scored)
    with scored.engine.begin() as connection:
        rebuild(connection)
    assert rows_of(scored) == before


MOVED = "UPDATE dialogue_index SET number = number + {} WHERE dialogue = 'd2'"
DAMAGE = (
    "UPDATE finding_index SET decision = 'confirmed'", "UPDATE finding_index SET probability = 0.5",
    "DELETE FROM finding_index WHERE suggestion", "UPDATE dialogue_index SET review = 'reviewed'",
    "UPDATE dialogue_index SET at_ms = at_ms + 1 WHERE dialogue = 'd2'",
    MOVED.format(1), MOVED.format(1 << SLOT_BITS),  # at another time by itself, at the same by the full-text index
)  # fmt: skip
LESS_WORDS = {
    "sqlite": "INSERT INTO dialogue_words (dialogue_words, rowid, words) VALUES ('delete', {}, 'parcel')",
    "postgresql": "UPDATE dialogue_words SET words = ts_delete(words, 'parcel') WHERE number = {}",
}


def test_a_manipulation_is_found(scored: Store) -> None:
    """Of findings, dialogues, their order, and the words of the full-text index."""
    less = LESS_WORDS[scored.engine.dialect.name].format(state(scored).number)
    for damage in (*DAMAGE, less):
        with scored.engine.connect() as connection, connection.begin() as transaction:
            unlocked(connection)
            check_derived(connection)
            connection.execute(text(damage))
            with pytest.raises(StoreDamaged, match="words" if damage == less else None):
                check_derived(connection)
            transaction.rollback()


def test_dialogues_that_want_one_number_get_the_next_ones(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived, "_hash_name", lambda name: 0)
    dialogues.add(store, "lea", [make.dialogue(f"d{n}") for n in range(3)])
    first = state(store, "d0").number
    assert [state(store, f"d{n}").number - first for n in range(3)] == [0, 1, 2]
    erasure.erase(store, "ada", ["d0"], "asked for")
    verify(store)


def error(code: str, start: int = 0, turn: int = 1) -> dict[str, Any]:
    return {
        "turn": turn,
        "code": code,
        "severity": "S3",
        "probability": 0.5,
        "start": start,
        "end": start + 4,
    }


@pytest.mark.parametrize(
    ("proposed", "answered", "expected"),
    [
        ([error("W1"), error("W3")], [error("W3")], ["rejected", "confirmed"]),
        ([error("L1"), error("L1", 9)], [error("L1", 9)], ["rejected", "confirmed"]),
        ([error("W1"), error("W3")], [error("T1")], ["changed", "rejected"]),
        ([error("W1"), error("W3")], [error("W1"), error("T1")], ["confirmed", "changed"]),
        ([error("L1"), error("L1", 9)], [error("L1", 2)], ["confirmed", "rejected"]),
    ],
)
def test_a_finding_that_was_kept_is_not_taken_for_another_one(
    proposed: list[Any], answered: list[Any], expected: list[str]
) -> None:
    """Before: of a slow answer and a missing apology in one turn, the first, rejected, was changed to the second."""
    answers = [DecidingAnswer(1, False, None, ("W1", "W3", "L1", "T1"), tuple(answered))]
    decided = decide_findings(NewestVerdict("r", {"findings": proposed}), answers, [])
    assert [one.decision for one in decided] == expected


FINDING = st.fixed_dictionaries({
    "turn": st.integers(0, 2), "code": st.sampled_from(["A", "B"]), "severity": st.sampled_from(["S1", "S2"]),
    "probability": st.just(0.5), "start": st.integers(0, 2), "end": st.integers(3, 4),
})  # fmt: skip


@given(
    st.lists(FINDING, max_size=4), st.lists(FINDING, max_size=2),
    st.lists(st.tuples(st.booleans(), st.sampled_from([None, 0, 1]), st.lists(FINDING, max_size=3)), max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["open", "overturned", "upheld"])), max_size=2),
)  # fmt: skip
def test_every_finding_gets_one_decision(
    findings: list[Any], suggestions: list[Any], answer_parts: list[Any], objections: list[Any]
) -> None:
    """Whatever is said: each finding has one row, an answer's finding is used once, nothing is invented."""
    answers = []
    for number, (is_expert, turn, own) in enumerate(answer_parts):
        own_findings = tuple(each for each in own if turn in (None, each["turn"]))
        answers.append(DecidingAnswer(number, is_expert, turn, ("A", "B"), own_findings))
    verdict = NewestVerdict("r", {"findings": findings, "suggestions": suggestions})
    its_appeals = [FindingAppeal(turn, "A", state) for turn, state in objections]
    decided = decide_findings(verdict, answers, its_appeals)
    proposed = [one for one in decided if one.decision != "added"]
    expected = [(each["turn"], each["code"]) for each in (*findings, *suggestions)]
    assert [(one.turn, one.code) for one in proposed] == expected
    if not answers:
        assert {one.decision for one in proposed if one.appeal == "none"} <= {"open"}
    n_answered = sum(len(answer.findings) for answer in answers)
    used = [one for one in decided if one.decision in ("confirmed", "changed", "added")]
    assert len([one for one in used if one.appeal != "upheld"]) <= n_answered
