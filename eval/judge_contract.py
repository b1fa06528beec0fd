"""Fits what a judge's probabilities are worth, by code, on held-out labelled questions.

Calibration is Platt's over the logit of the verdict token's probability; a question counts as many times as
the questions that it was sampled for. The threshold is the lowest one from which on the share of errors
reaches the required precision, smoothed as in `dialint.eval.contract.find_precise_threshold`: it is chosen on
the same questions, so the stated precision is that of the choice and a little optimistic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dialint.detector.judge.contract import LEAST, JudgeContract, JudgedCode
from dialint.detector.judge.messages import PROMPT_VERSION
from dialint.eval.contract import MIN_ERRORS, MIN_PROBABILITY, find_precise_threshold, fit_platt
from dialint.eval.judge_metrics import JudgeResult

MAX_COPIES = 1000
"""Most times that one question counts."""


def fit_judge_contract(judge: str, results: Sequence[JudgeResult], precision: float) -> JudgeContract:
    """The contract of the judge of that name. Codes with fewer than `MIN_ERRORS` errors are left out: what
    the judge finds of them is suggested. An answer without a probability counts as probability 0."""
    by_code: dict[str, list[JudgeResult]] = defaultdict(list)
    for result in results:
        by_code[result.code].append(result)
    codes = {}
    for code, own in sorted(by_code.items()):
        stated = [
            result.token_probability if result.token_probability is not None else result.probability or 0.0
            for result in own
        ]
        p = np.clip(np.array(stated, float), LEAST, 1 - LEAST)
        copies = [min(MAX_COPIES, max(1, round(result.weight))) for result in own]
        scores = np.repeat(np.log(p / (1 - p)), copies)
        is_error = np.repeat([result.truth > 0.5 for result in own], copies)
        if sum(result.truth > 0.5 for result in own) < MIN_ERRORS:
            continue
        slope, offset = fit_platt(is_error, scores)
        measured = JudgedCode(
            slope=slope, offset=offset, threshold=None, n_errors=int(is_error.sum()), n_questions=len(scores)
        )
        chosen = find_precise_threshold(is_error, scores, precision, [""] * len(scores))
        if chosen is not None:
            calibrated = measured.calibrate(float(1 / (1 + np.exp(-chosen))))
            threshold = max(calibrated, MIN_PROBABILITY)
            flagged = np.array([measured.calibrate(float(1 / (1 + np.exp(-s)))) >= threshold for s in scores])
            measured = measured.model_copy(
                update={
                    "threshold": threshold if flagged.any() else None,
                    "flagged": int(flagged.sum()),
                    "right": int((flagged & is_error).sum()),
                }
            )
        codes[code] = measured
    return JudgeContract(judge=judge, prompt=PROMPT_VERSION, precision=precision, codes=codes)


def describe_contract(contract: JudgeContract) -> str:
    """One line: which codes may accuse from now on, and which are only calibrated."""
    accusing = [
        f"{code} from {measured.threshold:.2f} ({measured.right} of {measured.flagged} right)"
        for code, measured in contract.codes.items()
        if measured.threshold is not None
    ]
    rest = [code for code, measured in contract.codes.items() if measured.threshold is None]
    return (
        f"findings for {', '.join(accusing) or 'no code'}"
        + (f"; suggestions only for {', '.join(rest)}" if rest else "")
        + f"; codes with fewer than {MIN_ERRORS} errors are not in it"
    )
