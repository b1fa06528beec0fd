"""Figures of a judge on held-out questions: its answers against the labels.

A question stands for `weight` similar ones, and is an error where its label is above 0.5; calibration is
measured against the label's probability itself. Beside each figure that
reward hacking could raise is one that shows it: the share of findings, the share of a turn that is quoted,
the length of answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from dialint.detector.judge import VERDICTS, Answer, JudgeVerdict, locate_quote, parse_answer
from dialint.detector.judge.messages import PROMPT_VERSION
from dialint.detector.overrides import LEAST, JudgeContract, JudgedCode
from dialint.detector.records import Probability, Record
from dialint.detector.statistics import Counts, bootstrap_counts, grouped_sum, ratio
from dialint.eval.contract import MIN_ERRORS, MIN_PROBABILITY, find_precise_threshold, fit_platt
from dialint.eval.figures import ranking_figures, value_and_interval, with_interval
from dialint.eval.metrics import Bools, Floats, span_f1
from dialint.eval.questions import LabelledQuestion
from dialint.eval.results import source_name

if TYPE_CHECKING:
    from dialint.detector.engines.judge_local import LocalJudge


BINS = 15


class JudgeResult(Record):
    """A held-out question, its label, and the judge's answer to it.

    `truth` is the probability that it is an error. An answer that cannot be read has no `verdict` and no
    `probability`: it counts as no finding with probability 0. `token_probability` is the verdict token's.
    Of an error: `verbatim`, whether its quote is in the turn, else it is no finding; `overlap`, F1
    of the quote's characters with the labelled evidence; `quoted`, its share of the turn. `length` of the
    answer in characters or in tokens, the same in all rows. `cut`: the prompt does not
    hold the whole dialogue.
    """

    dialogue: str
    turn: Annotated[int, Field(ge=0)]
    code: str
    truth: Probability
    weight: Annotated[float, Field(gt=0)] = 1.0
    verdict: JudgeVerdict | None
    probability: Probability | None
    token_probability: Probability | None = None
    verbatim: bool = False
    overlap: Probability | None = None
    quoted: Probability | None = None
    length: Annotated[int, Field(ge=0)]
    cut: bool = False

    @property
    def accuses(self) -> bool:
        """Whether it makes a finding."""
        return self.verdict == "error" and self.verbatim


class _WeightedRounds:
    """Weighted sums and means of rows in every bootstrap round. A round samples source dialogues; all rows of
    one source are in it together."""

    def __init__(
        self, results: Sequence[JudgeResult], turns: Mapping[str, int], rounds: int, seed: int
    ) -> None:
        numbers: dict[str, int] = {}
        for dialogue in sorted(turns):
            numbers.setdefault(source_name(dialogue), len(numbers))
        if missing := sorted({result.dialogue for result in results} - turns.keys()):
            raise ValueError(f"{len(missing)} dialogues of unknown length, {missing[0]!r} first")
        self.counts: Counts = bootstrap_counts(len(numbers), rounds, seed)
        self.weights = np.array([result.weight for result in results], float)
        self.groups = np.array([numbers[source_name(result.dialogue)] for result in results], np.int64)
        lengths = np.array(list(turns.values()), float)
        of_turns = np.array([numbers[source_name(dialogue)] for dialogue in turns], np.int64)
        self.turns = grouped_sum(self.counts, lengths, of_turns)

    def sum(self, values: Floats | Bools) -> Floats:
        """Weighted sum of `values`, shape (n,), in every round, shape (1 + rounds,)."""
        return grouped_sum(self.counts, values * self.weights, self.groups)

    def mean(self, values: Floats | Bools, among: Bools | None = None) -> Floats:
        """Weighted mean of the numbers in the rows `among`, without NaN; NaN where there is none."""
        is_number = ~np.isnan(values) & (True if among is None else among)
        return ratio(self.sum(np.where(is_number, values, 0.0)), self.sum(is_number))

    def recall_within(self, per_100: float, errors: Bools, stated: Floats, among: Bools) -> Floats:
        """The recall of the lowest threshold on `stated` that falsely accuses no more than `per_100` of 100
        agent turns; NaN without an error."""
        rows = np.flatnonzero(among)
        order = rows[np.argsort(-stated[rows], kind="stable")]
        # Rows of equal probability have the same threshold.
        last = np.diff(stated[order], append=-np.inf) != 0
        out = np.full(len(self.counts), np.nan)
        for index, counts in enumerate(self.counts):
            weight = counts[self.groups[order]] * self.weights[order]
            hits, false = (np.cumsum(weight * side)[last] for side in (errors[order], ~errors[order]))
            if len(hits) and hits[-1] > 0:
                within = 100 * false <= per_100 * self.turns[index]
                out[index] = hits[within].max(initial=0.0) / hits[-1]
        return out

    def calibration(self, truth: Floats, stated: Floats, among: Bools) -> Floats:
        """Expected calibration error, rows of one stated probability always in one bin: each value is a
        bin of its own, or `BINS` bins of about equal weight where there are more values than that."""
        levels, level = np.unique(stated[among], return_inverse=True)
        weight = np.bincount(level, weights=self.weights[among], minlength=len(levels))
        bins = np.arange(len(levels))
        if len(levels) > BINS:
            bins = (BINS * (np.cumsum(weight) - weight / 2) / weight.sum()).astype(np.int64)
        row_bin = np.full(len(truth), -1)
        row_bin[among] = bins[level]
        gaps = [abs(self.sum(np.where(row_bin == b, truth - stated, 0.0))) for b in np.unique(bins)]
        return ratio(np.sum(gaps, axis=0) if gaps else np.zeros(len(self.counts)), self.sum(among))


def judge_figures(
    results: Sequence[JudgeResult], turns: Mapping[str, int], rounds: int = 1000, seed: int = 0
) -> dict[str, Floats]:
    """Figure to its values, shape (1 + rounds,): the sample's, then each round's; NaN where there is
    nothing to measure. `turns` has the number of agent turns of every dialogue of the set.

    `precision`, `recall`, `f1` of accusations, `false_accusations_per_100_turns`;
    `average_precision`, `recall_at_1_false`, `brier`, `calibration_error` of the stated probability, and
    each with `token_`. `recall_at_1_false` is that of the threshold, chosen on these very rows, at which 1 of
    100 agent turns is falsely accused: it compares judges that accuse more or less often;
    `readable`, `accused` shares of questions, `verbatim` share of errors whose quote stands in the turn;
    `quote_overlap` over right accusations with labelled evidence, `quoted` mean share of a turn quoted;
    mean `length` of answers.

    Raises:
        ValueError: a result of a dialogue that is not in `turns`.
    """
    rounds_of = _WeightedRounds(results, turns, rounds, seed)
    truth = np.array([result.truth for result in results], float)
    stated = np.array([result.probability or 0.0 for result in results], float)
    length = np.array([result.length for result in results], float)
    return {
        **_verdict_figures(rounds_of, results, truth > 0.5),
        **_probability_figures(rounds_of, truth, stated, ""),
        **_probability_figures(
            rounds_of, truth, _numbers([result.token_probability for result in results]), "token_"
        ),
        "length": rounds_of.mean(length),
    }


def _verdict_figures(
    rounds_of: _WeightedRounds, results: Sequence[JudgeResult], errors: Bools
) -> dict[str, Floats]:
    accused = np.array([result.accuses for result in results], bool)
    claimed = np.array([result.verdict == "error" for result in results], bool)
    n_errors, flagged, hits = rounds_of.sum(errors), rounds_of.sum(accused), rounds_of.sum(accused & errors)
    return {
        "precision": ratio(hits, flagged),
        "recall": ratio(hits, n_errors),
        "f1": np.where(n_errors > 0, ratio(2 * hits, flagged + n_errors), np.nan),
        "false_accusations_per_100_turns": ratio(100 * (flagged - hits), rounds_of.turns),
        "accused": rounds_of.mean(accused),
        "readable": rounds_of.mean(np.array([result.verdict is not None for result in results], bool)),
        "verbatim": rounds_of.mean(accused, claimed),
        "quote_overlap": rounds_of.mean(_numbers([r.overlap for r in results]), accused & errors),
        "quoted": rounds_of.mean(_numbers([r.quoted for r in results]), accused),
    }


def _probability_figures(
    rounds_of: _WeightedRounds, truth: Floats, stated: Floats, prefix: str
) -> dict[str, Floats]:
    """Figures of a probability; rows without one (NaN) are left out."""
    among = ~np.isnan(stated)
    ranked = ranking_figures(
        truth[among] > 0.5, stated[among], rounds_of.groups[among], rounds_of.counts, rounds_of.weights[among]
    )
    return {
        f"{prefix}average_precision": ranked["average_precision"],
        f"{prefix}recall_at_1_false": rounds_of.recall_within(1.0, truth > 0.5, stated, among),
        f"{prefix}brier": rounds_of.mean((stated - truth) ** 2),
        f"{prefix}calibration_error": rounds_of.calibration(truth, stated, among),
    }


def summarize_judge(
    results: Sequence[JudgeResult], turns: Mapping[str, int], rounds: int = 1000, seed: int = 0
) -> dict[str, Any]:
    """The figures for a report, each with its 95 % interval under the name ``..._95``, after the numbers of
    questions, errors and dialogues."""
    every = {source_name(dialogue) for dialogue in turns}
    n_turns = sum(turns.values())
    report: dict[str, Any] = {
        "questions": len(results),
        "errors": sum(result.truth > 0.5 for result in results),
        "accusations": sum(result.accuses for result in results),
        "cut": sum(result.cut for result in results),
        "source_dialogues": len(every),
        "agent_turns": n_turns,
    }
    errors = {source_name(result.dialogue) for result in results if result.truth > 0.5}
    accused = {source_name(result.dialogue) for result in results if result.accuses}
    asked = {source_name(result.dialogue) for result in results}
    sources = {
        **dict.fromkeys(("recall", "f1", "average_precision", "recall_at_1_false"), errors),
        **dict.fromkeys(("precision", "verbatim", "quote_overlap", "quoted"), accused),
        **dict.fromkeys(("readable", "accused"), asked),
        "false_accusations_per_100_turns": every,
    }
    for name, values in judge_figures(results, turns, rounds, seed).items():
        n_sources = len(sources[name]) if name in sources else None
        limit = 100 * len(every) / max(1, n_turns) if name.endswith("turns") else 1.0
        report |= with_interval(name, values, n_sources, (0.0, limit))
    return report


def judge_difference(
    mine: Sequence[JudgeResult],
    theirs: Sequence[JudgeResult],
    turns: Mapping[str, int],
    rounds: int = 1000,
    seed: int = 0,
) -> dict[str, dict[str, float | None]]:
    """`mine` less `theirs`, paired: the same questions, and in every round the same sample of dialogues.

    Raises:
        ValueError: the questions or their order differ.
    """
    if [_question_key(result) for result in mine] != [_question_key(result) for result in theirs]:
        raise ValueError("the two judges were not asked the same questions")
    first, other = (judge_figures(results, turns, rounds, seed) for results in (mine, theirs))
    return {
        name: dict(
            zip(("difference", "low", "high"), value_and_interval(first[name] - other[name]), strict=True)
        )
        for name in first
    }


def _question_key(result: JudgeResult) -> tuple[Any, ...]:
    return result.dialogue, result.turn, result.code, result.truth, result.weight


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], float)


def run_judge(judge: LocalJudge, questions: Sequence[LabelledQuestion]) -> list[JudgeResult]:
    """The judge's answer to each question, in order, with the most probable verdict."""
    chats = [judge.prompt.build(item.question, item.code) for item in questions]
    prompts = [chat.ids for chat in chats]
    beliefs = judge.beliefs(prompts)
    verdicts = beliefs.argmax(1)
    texts = judge.answers(prompts, [item.text for item in questions], verdicts.tolist()).texts
    rows = zip(questions, chats, texts, beliefs, strict=True)
    return [
        _judge_result(item, parse_answer(text, cut=chat.cut), text, chat.cut, row)
        for item, chat, text, row in rows
    ]


def _judge_result(
    item: LabelledQuestion, answer: Answer | None, text: str, cut: bool, beliefs: np.ndarray
) -> JudgeResult:
    where = locate_quote(answer, item.text) if answer is not None else None
    accuses = answer is not None and answer.verdict == "error" and where is not None
    overlap = span_f1(where, item.span) if accuses and where is not None and item.span is not None else None
    return JudgeResult(
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
