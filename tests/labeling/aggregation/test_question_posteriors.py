"""Posteriors of questions: who is independent, how sure a task is, and whether the model is heard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dialint.detector.records import Finding
from dialint.labeling.aggregation.adaptive_overlap import task_statuses
from dialint.labeling.aggregation.dialogue_answers import DialogueContext, collect_answers
from dialint.labeling.aggregation.question_posteriors import question_posteriors
from dialint.labeling.annotation import Annotation

NOBODY: frozenset[str] = frozenset()


def said(
    who: str, dialogue: str, *found: tuple[str, int], codes: Sequence[str] = ("C1",), **more: Any
) -> Annotation:
    findings = tuple(
        Finding(code=code, turn=turn, severity="S3", probability=1.0, quote="w", start=0, end=1, reason="")
        for code, turn in found
    )
    given = {"id": "0", "labeler": who, "dialogue_id": dialogue, "kind": "crowd", **more}
    return Annotation(codes=tuple(codes), findings=findings, **given)


def known(_: str) -> DialogueContext:
    return DialogueContext((1,), None)


def test_who_always_answers_no_decides_nothing() -> None:
    """No task is sure by such a person and one other."""
    random = np.random.default_rng(1)
    people = [f"w{n}" for n in range(6)]
    rows = [
        said(who, f"d{n}", *([("C1", 1)] if n % 4 == 0 and random.random() < 0.9 else []))
        for n in range(60)
        for who in random.choice(people, 2, replace=False)
    ]
    constant = [said("never", f"d{n}") for n in range(60)]
    late = [said("w0", "late", ("C1", 1)), said("never", "late")]
    without = {one.dialogue: one for one in question_posteriors(collect_answers(rows, known, NOBODY))}
    found = list(question_posteriors(collect_answers([*rows, *constant, *late], known, NOBODY)))
    for one in found[:-1]:
        assert one.probability == pytest.approx(without[one.dialogue].probability, abs=0.02)
        assert (one.n_labelers, one.n_independent) == (3, 2)
    assert found[-1].probability > 0.5
    assert not task_statuses([found[-1]], 0.9)["late", 1].independent


def test_a_task_is_as_sure_as_its_least_sure_question() -> None:
    """Two turns, a code of turns and one of the whole dialogue; people disagree on one of them at a time."""
    of = lambda _: DialogueContext((1, 3), None)  # noqa: E731
    asked = {"codes": ("C1", "P1")}
    rows = [said(who, f"d{n}", **asked) for n in range(40) for who in ("ann", "ben")]
    rows += [
        said("ann", "x", ("C1", 3), **asked), said("ben", "x", **asked),
        said("ann", "y", ("P1", 1), **asked), said("ben", "y", **asked),
        said("ann", "z", **asked), said("ben", "z", **asked),
    ]  # fmt: skip
    posteriors = list(question_posteriors(collect_answers(rows, of, frozenset({"P1"}))))
    sure = {key: one.confidence for key, one in task_statuses(posteriors, 0.95).items()}
    assert sure["x", None] == sure["x", 3] < 0.95 < sure["x", 1]
    assert sure["y", None] == sure["y", 1] < 0.95 < sure["y", 3]
    assert sure["z", None] == min(sure["z", 1], sure["z", 3]) > 0.95


def test_once_the_verdict_was_seen_the_model_is_heard_no_more() -> None:
    told = {f"d{n}": DialogueContext((1,), {1: {"C1": 0.9 if n % 2 else 0.1}}) for n in range(60)}
    found = [("C1", 1)]
    rows = [said(who, f"d{n}", *(found if n % 2 else [])) for n in range(50) for who in ("ann", "ben")]
    rows += [
        said("ann", "d51"),
        said("ann", "d53"),
        said("cem", "d51"),
        said("cem", "d53", seen_verdict=True),
    ]
    heard, not_heard = list(question_posteriors(collect_answers(rows, told.__getitem__, NOBODY)))[-2:]
    assert (heard.model, not_heard.model) == (0.9, None)
    assert heard.probability > 10 * not_heard.probability
