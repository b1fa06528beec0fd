"""Answers become questions and posteriors: last answers, codes of a whole dialogue, who is independent, how sure a
task is, and when the model may speak."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dialint.detector.records import Dialogue, Finding, Turn, Verdict
from dialint.labeling.aggregation.adaptive_overlap import task_statuses
from dialint.labeling.aggregation.dialogue_answers import (
    WHOLE_DIALOGUE,
    CollectedAnswers,
    DialogueContext,
    TaskItem,
    collect_answers,
)
from dialint.labeling.aggregation.question_posteriors import QuestionPosterior, question_posteriors
from dialint.labeling.annotation import Annotation

TURNS = ("customer", "agent", "customer", "agent")
DIALOGUE = Dialogue(
    id="d", turns=tuple(Turn(index=i, role=role, text="word " * 5) for i, role in enumerate(TURNS))
)


def finding(code: str, turn: int, start: int = 0, end: int = 4) -> Finding:
    return Finding(
        code=code, turn=turn, severity="S3", probability=1.0, quote="word", start=start, end=end, reason=""
    )


def answer(who: str, *findings: Finding, codes: Sequence[str] = ("C1", "P1"), **more: Any) -> Annotation:
    fields = {"id": f"{who}{findings}", "dialogue_id": "d", "labeler": who, "kind": "crowd", **more}
    return Annotation(codes=codes, findings=findings, **fields)


def of(dialogue: str, who: str, *findings: Finding, codes: Sequence[str] = ("C1",)) -> Annotation:
    return answer(who, *findings, codes=codes, dialogue_id=dialogue, id=f"{who}{dialogue}")


def untold(_: str) -> DialogueContext:
    """A dialogue of one judged turn, of which no model told anything."""
    return DialogueContext((1,), None)


def verdict(**codes: float) -> Verdict:
    return Verdict(
        dialogue_id="d", release="r", taxonomy="1", status="scored", quality=100.0,
        probabilities={1: codes, 3: {name: p / 2 for name, p in codes.items()}},
    )  # fmt: skip


def collect(*annotations: Annotation, scored: Verdict | None = None) -> CollectedAnswers:
    return collect_answers(annotations, lambda _: DialogueContext.of(DIALOGUE, scored), frozenset({"P1"}))


def test_every_judged_turn_is_a_question_and_a_dialogue_code_is_one() -> None:
    result = collect(answer("ann", finding("C1", 3)), answer("ben", finding("P1", 1), finding("P1", 3)))
    assert result.codes["C1"].votes == {
        TaskItem("d", 1): {"ann": (), "ben": ()}, TaskItem("d", 3): {"ann": ((3, 0, 4),), "ben": ()},
    }  # fmt: skip
    assert result.codes["P1"].votes == {
        TaskItem("d", WHOLE_DIALOGUE): {"ann": (), "ben": ((1, 0, 4), (3, 0, 4))}
    }
    table = result.tables()["C1"]
    assert (table.workers, table.labels) == (("ann", "ben"), ("no", "yes"))
    assert sorted(zip(table.task, table.worker, table.label, strict=True)) == [
        (0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0),
    ]  # fmt: skip


def test_the_last_answer_of_a_person_counts() -> None:
    result = collect(answer("ann", finding("C1", 1)), answer("ann", codes=("C1",)))
    assert result.codes["C1"].votes[TaskItem("d", 1)] == {"ann": ()}


def test_what_a_model_answered_is_no_persons_answer() -> None:
    assert collect(answer("m", finding("C1", 1), kind="model")).codes == {}


def test_a_dialogue_code_stands_where_most_found_it() -> None:
    result = collect(
        answer("ann", finding("P1", 3, 0, 4)), answer("ben", finding("P1", 3, 0, 9)),
        answer("cem", finding("P1", 1)), answer("dot"),
    )  # fmt: skip
    answers = result.codes["P1"]
    assert answers.locate(TaskItem("d", WHOLE_DIALOGUE), (1, 3))[:1] == (3,)
    assert collect(answer("dot")).codes["P1"].locate(TaskItem("d", WHOLE_DIALOGUE), (1, 3)) == (3, None, None)


def test_the_model_speaks_where_it_told_and_nobody_had_seen_it() -> None:
    blind = collect(answer("ann"), scored=verdict(C1=0.6, P1=0.2))
    assert blind.model_probabilities("C1").tolist() == [[0.4, 0.6], [0.7, 0.3]]
    assert blind.model_probabilities("P1").tolist() == [[0.8, 0.2]]
    assert all(
        math.isnan(p) for p in collect(answer("ann"), scored=verdict(L1=0.6)).model_probabilities("C1")[:, 1]
    )
    with_seen = collect(
        answer("ann"), answer("rob", seen_verdict=True, turn=1), scored=verdict(C1=0.6, P1=0.2)
    )
    assert math.isnan(with_seen.model_probabilities("C1")[0, 1])
    assert with_seen.model_probabilities("C1")[1, 1] == 0.3


def test_beliefs_count_people_and_keep_evidence() -> None:
    """Three of four say yes in turn 3, nobody in turn 1."""
    yes = finding("C1", 3, 5, 9)
    result = collect(
        *(answer(who, yes) for who in ("ann", "ben", "cem")), answer("dot"), scored=verdict(C1=0.5)
    )
    by_turn = {(one.code, one.turn): one for one in question_posteriors(result)}
    three = by_turn["C1", 3]
    assert (three.n_yes, three.n_labelers, three.start, three.end, three.model) == (3, 4, 5, 9, 0.25)
    assert three.probability > 0.6
    assert not three.unanimous
    one = by_turn["C1", 1]
    assert (one.n_yes, one.start, one.unanimous) == (0, None, True)
    assert one.probability < 0.2
    assert one.confidence == pytest.approx(1 - one.probability)
    assert set(by_turn) == {("C1", 1), ("C1", 3), ("P1", 3)}


def test_an_answer_about_a_turn_that_holds_no_error_is_no_question() -> None:
    assert collect(answer("ann", turn=2)).codes == {}
    assert isinstance(next(question_posteriors(collect(answer("ann", turn=1)))), QuestionPosterior)


def test_where_two_people_disagree_the_model_decides_as_far_as_it_is_good() -> None:
    """200 dialogues, half with an error; two people right in 80 %, a model in 95 %."""
    random = np.random.default_rng(3)
    truth = random.random(200) < 0.5
    answers, contexts = [], {}
    for number, there in enumerate(truth):
        name = f"d{number}"
        p = 0.95 if there == (random.random() < 0.95) else 0.05
        contexts[name] = DialogueContext((1,), {1: {"C1": p}})
        for who in ("ann", "ben"):
            yes = there == (random.random() < 0.8)
            answers.append(of(name, who, *[finding("C1", 1)] * int(yes)))
    posteriors = list(question_posteriors(collect_answers(answers, contexts.__getitem__, frozenset())))
    split = [one for one in posteriors if not one.unanimous]
    right = [(one.probability > 0.5) == truth[int(one.dialogue[1:])] for one in split]
    assert len(split) > 40
    assert np.mean(right) > 0.85
    blind = list(question_posteriors(collect_answers(answers, untold, frozenset())))
    assert all(one.model is None for one in blind)
    assert max(abs(one.probability - 0.5) for one in blind if not one.unanimous) < 0.25


def test_gold_takes_part_in_the_fit() -> None:
    """Four people overlook six errors of ten, and see none where there is none. A third of the dialogues has gold:
    it tells of the others that one yes of four is a yes."""
    random = np.random.default_rng(1)
    truth = random.random(300) < 0.3
    answers = [
        of(f"d{number}", who, *((finding("C1", 1),) if there and random.random() < 0.4 else ()))
        for number, there in enumerate(truth)
        for who in ("ann", "ben", "cem", "dot")
    ]
    result = collect_answers(answers, untold, frozenset())
    gold = {(f"d{n}", 1, "C1"): bool(truth[n]) for n in range(100)}
    without, with_gold = list(question_posteriors(result)), list(question_posteriors(result, gold=gold))
    one_yes = [place for place, one in enumerate(without) if place >= 100 and one.n_yes == 1]
    assert len(one_yes) > 10
    assert max(without[place].probability for place in one_yes) < 0.5
    assert min(with_gold[place].probability for place in one_yes) > 0.5
    assert [one.probability for one in with_gold[:100]] == truth[:100].tolist()
    assert [one.gold for one in with_gold[:101]] == [True] * 100 + [False]


def test_who_always_answers_no_decides_nothing() -> None:
    """No task is sure by such a person and one other."""
    random = np.random.default_rng(1)
    people = [f"w{n}" for n in range(6)]
    rows = [
        of(f"d{n}", who, *[finding("C1", 1)] * (n % 4 == 0 and random.random() < 0.9))
        for n in range(60)
        for who in random.choice(people, 2, replace=False)
    ]
    constant = [of(f"d{n}", "never") for n in range(60)]
    late = [of("late", "w0", finding("C1", 1)), of("late", "never")]
    without = {one.dialogue: one for one in question_posteriors(collect_answers(rows, untold, frozenset()))}
    posteriors = list(question_posteriors(collect_answers([*rows, *constant, *late], untold, frozenset())))
    for one in posteriors[:-1]:
        assert one.probability == pytest.approx(without[one.dialogue].probability, abs=0.02)
        assert (one.n_labelers, one.n_independent) == (3, 2)
    assert posteriors[-1].probability > 0.5
    assert not task_statuses([posteriors[-1]], 0.9)["late", 1].independent


def test_a_task_is_as_sure_as_its_least_sure_question() -> None:
    """Two turns, a code of turns and one of the whole dialogue; people disagree on one of them at a time."""
    both = ("C1", "P1")
    rows = [of(f"d{n}", who, codes=both) for n in range(40) for who in ("ann", "ben")]
    for name, findings in (("x", [finding("C1", 3)]), ("y", [finding("P1", 1)]), ("z", [])):
        rows += [of(name, "ann", *findings, codes=both), of(name, "ben", codes=both)]
    result = collect_answers(rows, lambda _: DialogueContext((1, 3), None), frozenset({"P1"}))
    statuses = task_statuses(list(question_posteriors(result)), 0.95)
    sure = {key: one.confidence for key, one in statuses.items()}
    assert sure["x", None] == sure["x", 3] < 0.95 < sure["x", 1]
    assert sure["y", None] == sure["y", 1] < 0.95 < sure["y", 3]
    assert sure["z", None] == min(sure["z", 1], sure["z", 3]) > 0.95
