"""A judge sits the exam: it answers held-out questions, and each answer becomes a row of figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from detector.judge import SAYS, evidence_of, parsed
from eval.judging import Ruling
from eval.metrics import span_f1
from eval.questions import Asked

if TYPE_CHECKING:
    from detector.engines.judge_local import LocalJudge


def examined(judge: LocalJudge, asked: Sequence[Asked]) -> list[Ruling]:
    """What the judge says to each question, in order: the verdict it believes most, and what it writes."""
    prompts = [judge.prompt.ids(item.question, item.code) for item in asked]
    beliefs = judge.beliefs(prompts)
    verdicts = beliefs.argmax(1)
    texts = judge.answers(prompts, [item.text for item in asked], verdicts.tolist())
    return [_ruling(item, text, row) for item, text, row in zip(asked, texts, beliefs, strict=True)]


def _ruling(item: Asked, text: str, beliefs: np.ndarray) -> Ruling:
    answer = parsed(text)
    where = evidence_of(answer, item.text) if answer is not None else None
    accuses = answer is not None and answer.verdict == "error" and where is not None
    overlap = span_f1(where, item.span) if accuses and where is not None and item.span is not None else None
    return Ruling(
        dialogue=item.question.dialogue.id,
        turn=item.question.turn,
        code=item.question.code,
        truth=item.probability,
        weight=item.stands_for,
        verdict=answer.verdict if answer is not None else None,
        probability=answer.probability if answer is not None else None,
        token_probability=float(beliefs[SAYS.index("error")]),
        verbatim=accuses,
        overlap=overlap,
        quoted=(where[1] - where[0]) / len(item.text) if accuses and where is not None else None,
        length=len(text),
    )
