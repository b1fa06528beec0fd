"""Reviewed scores and counts follow every decision, on both databases: confirmed, rejected, changed, added."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import make
import pytest
import yaml
from answering import claim

from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.reviewed_scores import ScoredDialogues
from dialint.labeling.store import accounts, annotations, dialogues, documents, projects, tasks
from dialint.labeling.store.coaching import list_dialogues
from dialint.labeling.store.database.derived import DAY_MS
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.history import read_history
from dialint.labeling.store.insights import Totals, list_scores, read_groups, read_scores, read_totals
from dialint.labeling.store.records import Account, NewTask, NotAllowed, Project
from dialint.labeling.store.search import Search, search

EVER = (0, 2_000_000_000_000)
S1, S2, S3 = (load_taxonomy().quality_of([("C1", severity)], None) for severity in ("S1", "S2", "S3"))
Review = Callable[..., Any]
"""(actor, codes, findings, turn=None): reviews d1."""


@pytest.fixture
def review(store: Store) -> Review:
    """d1 of a1 has a C1 (S2) and the suggestion of a T1."""
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    dialogues.add(store, "lea", [make.dialogue("d1")])
    verdict = make.verdict("d1", make.finding()).model_copy(update={"suggestions": (make.finding("T1"),)})
    dialogues.add_verdicts(store, "lea", [verdict])

    def save(actor: str, codes: list[str], findings: list[Any], turn: int | None = None) -> None:
        same = [one for one in annotations.list_annotations(store, actor, "d1") if one.turn == turn]
        expected = int(same[-1].id) if same else None
        key = f"{actor}{len(same)}{turn}"
        annotations.review(store, actor, "d1", key, codes, findings, expected=expected, turn=turn)

    return save


ELSEWHERE = make.finding("U2", quote="else", start=9, end=13)
CASES: dict[str, tuple[Callable[[Review], object], float | None]] = {
    "nobody decided": (lambda review: None, None),
    "confirmed": (lambda review: review("rob", ["C1"], [make.finding()]), S2),
    "rejected": (lambda review: review("rob", ["C1"], []), 100.0),
    "changed to a graver one": (lambda review: review("rob", ["C1"], [make.finding(severity="S1")]), S1),
    "changed to another code": (lambda review: review("rob", ["C1", "U2"], [make.finding("U2")]), S2),
    "rejected, one added": (lambda review: review("rob", ["C1", "U2"], [ELSEWHERE]), S2),
    "the suggestion added": (
        lambda review: review("rob", ["C1", "T1"], [make.finding(), make.finding("T1")]),
        load_taxonomy().quality_of([("C1", "S2"), ("T1", "S2")], None),
    ),
    "not asked: the model's stands": (lambda review: review("rob", ["U2"], []), S2),
    "a turn only, the rest is the model's": (lambda review: review("rob", ["C1"], [], 1), 100.0),
    "an expert over a reviewer": (
        lambda review: (review("eve", ["C1"], []), review("rob", ["C1"], [make.finding()])), 100.0
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_score_of_a_dialogue_is_what_people_left_standing(
    store: Store, review: Review, case: str
) -> None:
    act, expected = CASES[case]
    act(review)
    assert read_history(store, "rob", "d1").reviewed_quality == expected
    (hit,) = search(store, "rob", Search()).hits
    assert (hit.quality, hit.reviewed_quality) == (make.verdict("d1", make.finding()).quality, expected)
    (own,) = list_dialogues(store, "agnes", "a1", *EVER)
    assert own.reviewed_quality == expected
    verify(store)


@pytest.mark.parametrize(("turn", "expected"), [(1, None), (None, 100.0)])
def test_without_a_model_a_person_must_have_read_the_whole_dialogue(
    store: Store, turn: int | None, expected: float | None
) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    annotations.review(store, "rob", "d1", "k", ["C1"], [], expected=None, turn=turn)
    assert read_history(store, "rob", "d1").reviewed_quality == expected
    totals = read_scores(store, "lea", "total", *EVER)
    assert totals == ({} if expected is None else {"": [ScoredDialogues(1, None, 100.0, False)]})


def test_scores_by_agent_team_and_week_are_people_s_the_sample_s_and_the_model_s(store: Store) -> None:
    """A team's own scorecard counts for its dialogues, and what was sampled keeps its probability."""
    accounts.create(store, "ada", Account(id="agnes", role="labeler", agent="a1"))
    first_ms = int(datetime(2026, 6, 1, tzinfo=UTC).timestamp() * 1000)
    for name, agent, day in (("d1", "a1", 0), ("d2", "a1", 8), ("d3", "a2", 8), ("d4", "a2", 9)):
        at = datetime.fromtimestamp((first_ms + day * DAY_MS) / 1000, UTC)
        dialogue = make.dialogue(name, agent)
        turns = (dialogue.turns[0].model_copy(update={"at": at}), *dialogue.turns[1:])
        rated = {"turns": turns, "team": "night" if agent == "a2" else None, "metadata": {"rating": 4}}
        dialogues.add(store, "lea", [dialogue.model_copy(update=rated)])
        dialogues.add_verdicts(store, "lea", [make.verdict(name, make.finding())])
    for name, left in (("d1", []), ("d2", [make.finding()])):
        annotations.review(store, "rob", name, name, ["C1"], left, expected=None)
    projects.create(store, "lea", Project(id="p", codes=("C1",), purpose="review"))
    tasks.add(store, "lea", "p", [NewTask(dialogue="d3", inclusion_probability=0.5)])
    lease = claim(store, "rob", "p")
    annotations.submit(store, "rob", lease.task, lease.token, "k", [make.finding()])
    taxonomy = load_taxonomy().model_copy(update={"scorecards": {"night": {"C1": 60.0}}})
    text = yaml.safe_dump(taxonomy.model_dump(mode="json"))
    documents.save_version(store, "lea", "taxonomy", "taxonomy", text, "why", expected=0)
    documents.publish(store, "lea", "taxonomy", "taxonomy", 1)
    model = make.verdict("d1", make.finding()).quality
    span = (first_ms, first_ms + 30 * DAY_MS)
    own = [ScoredDialogues(1, model, each, True, 4.0) for each in (100.0, S2)]
    night = [ScoredDialogues(1, model, 40.0, True, 4.0, 0.5), ScoredDialogues(1, model, None, True, 4.0)]

    def read(actor: str, by: Any, **filters: Any) -> dict[str, list[ScoredDialogues]]:
        groups = read_scores(store, actor, by, *span, **filters)
        return {key: sorted(rows, key=str) for key, rows in groups.items()}

    assert read("lea", "agent") == {"a1": sorted(own, key=str), "a2": sorted(night, key=str)}
    assert read("lea", "team") == {"": sorted(own, key=str), "night": sorted(night, key=str)}
    assert read("lea", "total", team="nobody's") == {}
    assert read("agnes", "week", agent="a1") == {"0": [own[0]], "1": [own[1]]}
    assert [each.scored for each in list_scores(store, "lea", *span)][2:] == night
    assert read_history(store, "rob", "d3").rating == 4.0
    for actor, agent in (("rob", None), ("agnes", None), ("agnes", "a2"), ("ann", "a1")):
        with pytest.raises(NotAllowed):
            read_scores(store, actor, "total", *span, agent=agent)
    verify(store)


@pytest.mark.parametrize("how", ["picked", "in another project", "sampled twice"])
def test_what_was_sampled_and_read_for_another_reason_stands_for_itself(store: Store, how: str) -> None:
    dialogues.add(store, "lea", [make.dialogue("d1")])
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding())])
    for name, probability in (("p", 0.5), ("q", 0.2 if how == "sampled twice" else None)):
        projects.create(store, "lea", Project(id=name, codes=("C1",), purpose="review"))
        if name == "p" or how != "picked":
            tasks.add(store, "lea", name, [NewTask(dialogue="d1", inclusion_probability=probability)])
            reviewer = "rob" if name == "p" else "ria"
            lease = claim(store, reviewer, name)
            annotations.submit(store, reviewer, lease.task, lease.token, name, [make.finding()])
    if how == "picked":
        annotations.review(store, "ria", "d1", "k", ["C1"], [make.finding()], expected=None)
    ((row,),) = read_scores(store, "lea", "total", *EVER).values()
    assert row.probability == (0.5 if how == "sampled twice" else None)


def test_totals_follow_a_confirmation_and_a_rejection(store: Store) -> None:
    dialogues.add(store, "lea", [make.dialogue(name, agent) for name, agent in (("d1", "a1"), ("d2", "a2"))])
    assert read_totals(store, "lea", *EVER) == Totals(stored=2)
    dialogues.add_verdicts(store, "lea", [make.verdict("d1", make.finding()), make.verdict("d2")])
    assert read_totals(store, "lea", *EVER) == Totals(stored=2, dialogues=2, flagged=1, findings=1)
    first = annotations.review(store, "rob", "d1", "k", ["C1"], [make.finding()], expected=None)
    expected = Totals(stored=2, dialogues=2, flagged=1, findings=1, reviewed=1, confirmed=1)
    assert read_totals(store, "lea", *EVER) == expected
    annotations.review(store, "ria", "d1", "k2", ["C1"], [], expected=int(first.id))
    expected = expected.model_copy(update={"confirmed": 0, "rejected": 1})
    assert read_totals(store, "lea", *EVER) == expected
    (group,) = read_groups(store, "lea", "code", *EVER)
    assert (group.key, group.flagged, group.reviewed, group.rejected) == ("C1", 1, 1, 1)
    groups = read_groups(store, "lea", "agent", *EVER)
    assert [(each.key, each.findings, each.stored) for each in groups] == [("a1", 1, 1), ("a2", 0, 1)]
