"""The judge stage: a detector around another one, which has an LLM read each dialogue as a whole.

It runs in the parent of the process that scans, so that waits for a server are not taken for a dialogue that
takes too long; a text reaches it only after the scan has masked the same text within its limit. Each dialogue
is one question, first those in which the scan, checks and policies report most, as far as a budget reaches.
Errors that the judge is not sure of, and critical ones, are asked about once more, those of a dialogue
together. What was not asked is recorded in the verdict, and is not clean.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialint.detector.artifacts import fingerprint
from dialint.detector.decide import Rules
from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, JudgeInfo, JudgeUsage, Monitor
from dialint.detector.judge.budget import Budget, BudgetTracker, Price
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import ANSWER_TOKENS, JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.judge.guidelines import collect_evidence, read_guideline
from dialint.detector.judge.merging import JudgedDialogue, Merger
from dialint.detector.judge.prompt import Reader, applicable_codes, load_words, second_look
from dialint.detector.judge.reading import (
    Clause,
    Decision,
    Question,
    ReadError,
    Reading,
    parse_decisions,
    parse_reading,
    second_look_schema,
)
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile
from dialint.detector.overrides import NO_OVERRIDES, Overrides
from dialint.detector.policy import Policy
from dialint.detector.records import JUDGED_ROLES, Dialogue, Verdict
from dialint.detector.release import ReleaseInfo
from dialint.detector.taxonomy import Detail, Taxonomy
from dialint.detector.tracing import span

SECOND_LOOK = (0.3, 0.8)
"""Range of the probabilities of errors that get a second look."""
CRITICAL, CERTAIN = "S1", 0.95
"""Errors of this severity, which fail a dialogue, get a second look below this probability. Of the 17 in the
sample it changed none."""
NO_ROOM, BAD_ANSWER = "E_CONTEXT", "E_ANSWER"


@dataclass(frozen=True, kw_only=True)
class StageOptions:
    """Options of the stage. `codes` are those it may ask about; `guideline` the clauses that hold for every
    dialogue; the rest as in `dialint.detector.judge.config.JudgeConfig`."""

    codes: frozenset[str]
    detail: Detail = "auto"
    language: str = "English"
    has_rewrites: bool = False
    has_second_look: bool = True
    votes: int = 1
    threshold: float | None = None
    budget: Budget | None = None
    price: Price | None = None
    overrides: Overrides = NO_OVERRIDES
    policies: Mapping[str, Policy] = field(default_factory=dict)
    guideline: tuple[Clause, ...] = ()

    @classmethod
    def of(cls, judge: JudgeConfig, codes: Iterable[str], **options: Any) -> StageOptions:
        """The options of `judge` for `codes`; a judge that was trained here is asked about the codes of its
        training only.

        Raises:
            ConfigError: a guideline that cannot be used.
        """
        trained = judge.trained
        own: dict[str, Any] = {
            "detail": judge.detail,
            "language": judge.language,
            "has_rewrites": judge.judge_rewrites,
            "votes": judge.judge_votes * max(1, len(judge.judge_model)),
            "guideline": tuple(clause for path in judge.guideline for clause in read_guideline(path)),
        }
        allowed = frozenset(codes) if trained is None else frozenset(codes) & set(trained.codes)
        return cls(codes=allowed, **(own | options))


@dataclass(frozen=True, kw_only=True)
class _Ask:
    """A question about a case. `parse` turns an answer into the argument of `accept`, or into a message on
    its fault; `number` is that of the case's question, None for a second look."""

    case: JudgedDialogue
    codes: tuple[str, ...]
    messages: tuple[dict[str, str], ...]
    schema: dict[str, Any]
    parse: Callable[[str], Any]
    accept: Callable[[Any], None]
    number: int | None = None
    vote: int = 0

    def request(self, answers: int) -> JudgeRequest:
        def check(text: str) -> str:
            result = self.parse(text)
            return result if isinstance(result, str) else ""

        return JudgeRequest(
            dialogue_id=self.case.dialogue.id,
            messages=self.messages,
            schema=self.schema,
            max_tokens=ANSWER_TOKENS,
            answers=answers,
            check=check,
            vote=self.vote,
        )


class JudgedDetector:
    """The detector `inner` with a judge that reads the dialogues."""

    def __init__(self, inner: Detector, engine: JudgeEngine, options: StageOptions) -> None:
        self.inner = inner
        self.engine = engine
        self.options = options
        self.judge_name = re.sub(r"[^\w ./:@+-]", "_", engine.name)[:80]
        self.usage = JudgeUsage()
        self.n_before = 0
        """Dialogues of the log before the next ones: budgets depend on it."""
        self._log = EMPTY_PROFILE
        rules = Rules({}, options.overrides, judge_threshold=options.threshold)
        self._merge = Merger(self.judge_name, inner.taxonomy, rules).merge

    @property
    def release(self) -> str:
        return self.inner.release

    @property
    def taxonomy(self) -> Taxonomy:
        return self.inner.taxonomy

    @property
    def info(self) -> ReleaseInfo | None:
        return self.inner.info

    @property
    def monitor(self) -> Monitor:
        return self.inner.monitor

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the inner detector and of the judge."""
        inner = set(self.inner.codes)
        return tuple(code for code in self.taxonomy.codes if code in inner or code in self.options.codes)

    @property
    def fingerprint(self) -> str:
        options = self.options
        judge_options = [
            options.detail,
            options.language,
            options.has_rewrites,
            options.has_second_look,
            options.votes,
        ]
        return fingerprint(
            [
                self.inner.fingerprint,
                self.engine.fingerprint,
                load_words().fingerprint,
                sorted(options.codes),
                judge_options,
                [options.threshold, str(options.budget)],
                [] if options.overrides.judge is None else [options.overrides.judge.fingerprint],
                [policy.model_dump(mode="json") for policy in options.policies.values()],
                [[clause.id, clause.text] for clause in options.guideline],
            ]
        )

    @property
    def judge_info(self) -> JudgeInfo:
        return JudgeInfo(
            name=self.judge_name,
            fingerprint=self.engine.fingerprint,
            notes=tuple(self.engine.notes),
            max_prompt_tokens=self.engine.max_prompt_tokens,
            contract=self.options.overrides.judge,
            usage=self.usage,
        )

    @property
    def is_ranked(self) -> bool:
        """True if a budget ranks dialogues, by all probabilities of the inner detector."""
        return self.options.budget is not None

    def with_log(self, log: LogProfile) -> JudgedDetector:
        self.inner, self._log = self.inner.with_log(log), log
        return self

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        cases = self._cases(dialogues, all_probabilities=all_probabilities)
        self._read_all(cases)
        results = [self._merge(case) for case in cases]
        self.usage.unquoted += sum(case.unquoted for case in cases)
        return results

    def read(self, dialogues: Sequence[Dialogue]) -> list[JudgedDialogue]:
        """Reads dialogues with the judge, without decisions."""
        cases = self._cases(dialogues)
        self._read_all(cases)
        return cases

    def _cases(
        self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False
    ) -> list[JudgedDialogue]:
        verdicts = self.inner.verdicts(dialogues, all_probabilities=all_probabilities or self.is_ranked)
        changes = {} if all_probabilities else {"probabilities": None}
        return [
            JudgedDialogue(dialogue, verdict.model_copy(update=changes), verdict.expected_errors)
            for dialogue, verdict in zip(dialogues, verdicts, strict=True)
        ]

    def questions(self, dialogues: Sequence[Dialogue]) -> list[Question]:
        """The questions that a first reading of dialogues takes."""
        cases = self._cases(dialogues)
        for case in cases:
            self._plan_questions(case)
        return [question for case in cases for question in case.questions]

    def _read_all(self, cases: Sequence[JudgedDialogue]) -> None:
        """Asks about all cases within the budget."""
        options = self.options
        is_first = self.n_before == 0
        tracker = BudgetTracker(options.budget, options.price, self.n_before, len(cases))
        allowed = tracker.left
        self.n_before += len(cases)
        judged = [case for case in cases if case.verdict.status != "failed"]
        for case in judged:
            self._plan_questions(case)
        judged.sort(  # the most expected errors first, ties by a hash of the id
            key=lambda case: (-case.expected_errors, hashlib.sha256(case.dialogue.id.encode()).digest())
        )
        room = self.engine.max_prompt_tokens
        left = self._ask_within(tracker, self._plan_readings(judged))
        while self.engine.max_prompt_tokens < room:  # the server has refused a prompt as too long
            room = self.engine.max_prompt_tokens
            again = [case for case in judged if NO_ROOM in case.failed.values()]
            for case in again:
                case.reset()
                self._plan_questions(case)
            left += self._ask_within(tracker, self._plan_readings(again))
        for ask in left:
            if ask.number not in ask.case.readings:
                ask.case.unasked.update(ask.codes)
        for case in cases:
            case.aggregate()
        if options.has_second_look:
            self._ask_within(tracker, [ask for case in judged for ask in self._plan_second_looks(case)])
        if options.budget is not None:
            if is_first and tracker.refused and tracker.left == allowed:
                raise ConfigError(
                    "E_OPTION",
                    f'--judge-budget "{options.budget}" is {allowed:.3g} for the first {len(cases)}, and a '
                    f"question takes up to {tracker.refused:.3g}: --judge-budget "
                    f'"{options.budget.least_for(tracker.refused, len(cases))}" or more asks one',
                )
            self.usage.allowed += allowed
            self.usage.spent += allowed - tracker.left

    def _plan_questions(self, case: JudgedDialogue) -> None:
        """Makes the questions about a case, and records the codes without the evidence that they need."""
        dialogue = case.masked
        if not any(turn.role in JUDGED_ROLES and turn.text.strip() for turn in dialogue.turns):
            return
        logs_tools = True if self._log.logs_calls(dialogue) else None
        evidence, dialogue = collect_evidence(
            dialogue, self.options.policies, self.options.guideline, logs_tools=logs_tools
        )
        codes, case.unmet = applicable_codes(self.taxonomy, self.options.codes, evidence.kinds(dialogue))
        options, engine = self.options, self.engine
        reader = Reader(
            taxonomy=self.taxonomy,
            max_tokens=engine.max_prompt_tokens,
            count=engine.count_tokens,
            spell=engine.spell,
            detail=options.detail,
            language=options.language,
            has_rewrites=options.has_rewrites,
        )
        case.questions, without_room = reader.questions(dialogue, codes, evidence)
        if without_room:
            case.fail(NO_ROOM, without_room)
            self._count_failure(NO_ROOM)
        self.usage.shortened += sum(question.is_cut for question in case.questions)

    def _plan_readings(self, cases: Sequence[JudgedDialogue]) -> list[_Ask]:
        """The questions about cases: those of the first vote on all cases first."""
        return [
            self._read(case, number, vote)
            for vote in range(self.options.votes)
            for case in cases
            for number in range(len(case.questions))
        ]

    def _read(self, case: JudgedDialogue, number: int, vote: int) -> _Ask:
        question = case.questions[number]

        def accept(reading: Reading) -> None:
            case.readings.setdefault(number, []).append(reading)
            case.answered.update(question.codes)

        return _Ask(
            case=case,
            codes=tuple(question.codes),
            messages=question.messages,
            schema=question.schema,
            parse=lambda text: parse_reading(text, question),
            accept=accept,
            number=number,
            vote=vote,
        )

    def _plan_second_looks(self, case: JudgedDialogue) -> list[_Ask]:
        """The second looks at a case: one for each of its questions with errors that need one."""
        low, high = SECOND_LOOK
        asks = []
        for question in case.questions:
            uncertain = [
                error
                for error in case.errors
                if error.turn in question.turns
                and error.code in question.codes
                and error.start is not None
                and (
                    low <= error.probability < high
                    or (error.severity == CRITICAL and error.probability < CERTAIN)
                )
            ]
            if uncertain:
                asks.append(self._second_look(case, question, uncertain))
        return asks

    def _second_look(self, case: JudgedDialogue, question: Question, errors: list[ReadError]) -> _Ask:
        def accept(decisions: dict[int, Decision]) -> None:
            case.n_second_looks += 1
            for number, error in enumerate(errors, 1):
                decision = decisions[number]
                changes: dict[str, Any] = {"probability": decision.probability}  # 0 without a code
                if decision.code is not None:
                    changes |= {"code": decision.code, "severity": decision.severity or error.severity}
                    if decision.code != error.code:
                        changes |= {"second_code": error.code, "reason": decision.reason or error.reason}
                case.errors[case.errors.index(error)] = error.model_copy(update=changes)

        return _Ask(
            case=case,
            codes=tuple({error.code for error in errors}),
            messages=second_look(question, errors, self.options.language),
            schema=second_look_schema(list(question.codes)),
            parse=lambda text: parse_decisions(text, question, len(errors)),
            accept=accept,
        )

    def _ask_within(self, tracker: BudgetTracker, asks: Sequence[_Ask]) -> list[_Ask]:
        """Asks as many as the budget reaches, in waves; returns the others."""
        rest = list(asks)
        while rest:
            sent: list[JudgeRequest] = []
            for ask in rest:
                tokens = self.engine.count_tokens(ask.messages)
                if self.options.budget is not None:  # a server may be shown the schema in words
                    tokens += self.engine.count_tokens([{"role": "user", "content": str(ask.schema)}])
                answers = tracker.reserve(tokens, ANSWER_TOKENS)
                if not answers:
                    break
                sent.append(ask.request(answers))
            if not sent:
                return rest
            wave, rest = rest[: len(sent)], rest[len(sent) :]
            started_s = time.monotonic()
            with span("judge", {"dialint.questions": len(sent)}):
                replies = self.engine.ask(sent)
            self.usage.seconds += time.monotonic() - started_s
            self.monitor.add_seconds("judge", time.monotonic() - started_s)
            for ask, reply in zip(wave, replies, strict=True):
                self._record_reply(ask, reply)
            tracker.settle([(reply.prompt_tokens, reply.output_tokens) for reply in replies])
        return []

    def _record_reply(self, ask: _Ask, reply: JudgeReply) -> None:
        case, usage = ask.case, self.usage
        usage.questions += 1
        usage.prompt_tokens += reply.prompt_tokens
        usage.cached_tokens += reply.cached_tokens
        usage.output_tokens += reply.output_tokens
        case.n_readings += ask.number is not None
        result = BAD_ANSWER if reply.failure else ask.parse(reply.text)
        if not isinstance(result, str):
            ask.accept(result)
            return
        failure = reply.failure or BAD_ANSWER
        self._count_failure(failure)
        if ask.number is None:
            case.fail(failure, ask.codes)
        else:
            case.failed[ask.number] = failure

    def _count_failure(self, failure: str) -> None:
        self.usage.failures[failure] = self.usage.failures.get(failure, 0) + 1
