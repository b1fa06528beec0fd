"""A judge sits the exam: it answers held-out questions, and each answer becomes a row of figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialint.detector.judge import VERDICTS, Answer, locate_quote, parse_answer
from dialint.eval.judging import Ruling
from dialint.eval.metrics import span_f1
from dialint.eval.questions import Asked

if TYPE_CHECKING:
    from dialint.detector.engines.judge_local import LocalJudge


def examined(judge: LocalJudge, asked: Sequence[Asked]) -> list[Ruling]:
    """What the judge says to each question, in order: the verdict it believes most, and what it writes."""
    asking = [judge.prompt.asking(item.question, item.code) for item in asked]
    prompts = [one.ids for one in asking]
    beliefs = judge.beliefs(prompts)
    verdicts = beliefs.argmax(1)
    texts = judge.answers(prompts, [item.text for item in asked], verdicts.tolist())
    rows = zip(asked, asking, texts, beliefs, strict=True)
    return [
        _ruling(item, parse_answer(text, cut=one.cut), text, one.cut, row) for item, one, text, row in rows
    ]


def _ruling(item: Asked, answer: Answer | None, text: str, cut: bool, beliefs: np.ndarray) -> Ruling:
    where = locate_quote(answer, item.text) if answer is not None else None
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
        token_probability=float(beliefs[VERDICTS.index("error")]),
        verbatim=accuses,
        overlap=overlap,
        quoted=(where[1] - where[0]) / len(item.text) if accuses and where is not None else None,
        length=len(text),
        cut=cut,
    )
