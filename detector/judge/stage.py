"""The judge stage: a detector around another one, which asks an LLM about what that one flagged and about the
codes that it does not cover.

It runs in the parent of the process that scans, so that waits for a server are not taken for a dialogue that
takes too long; a text reaches it only after the scan has masked the same text within its limit. Questions are
asked in waves, in this order as far as the budget reaches:

1. turns that the scan flagged: findings, then suggestions, by probability;
2. screens, one question for a group of codes over a whole dialogue, then one for each turn and code that a
   screen names; dialogues in the order of a hash of their ids, so that those that a budget reaches are a
   random sample, and of these the audited ones first;
3. findings of exact checks, for a reason and a rewrite.

What was not asked is recorded in the verdict, and is not clean.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dialint.detector.artifacts import fingerprint
from dialint.detector.decide import Rules
from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, JudgeInfo, JudgeUsage, Monitor
from dialint.detector.judge.budget import Purse
from dialint.detector.judge.cases import Case, QuestionKind, Ruling
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest
from dialint.detector.judge.json_lines import compact_json
from dialint.detector.judge.merging import Merger, is_check
from dialint.detector.judge.messages import (
    PROMPT_VERSION,
    VERDICTS,
    Chat,
    Question,
    build_chat,
    detail_schema,
    fit_chat,
    parse_answer,
)
from dialint.detector.judge.options import StageOptions
from dialint.detector.judge.prompts import load_prompts
from dialint.detector.judge.screens import (
    ERROR_TOKENS,
    MAX_ERRORS,
    group_codes,
    parse_screen,
    screen_chat,
    screen_schema,
)
from dialint.detector.log_profile import LogProfile
from dialint.detector.records import Dialogue, JudgeRecord, Verdict
from dialint.detector.release import ReleaseInfo
from dialint.detector.taxonomy import Code, Taxonomy

DETAIL_TOKENS = 400
"""Tokens of an answer about one turn and one code."""
BAD_ANSWER, NO_ROOM = "E_ANSWER", "E_CONTEXT"
SCREENS_SHARE = 0.5
"""Share of what is left of a budget that one wave of screens takes; the rest is for what they name."""


@dataclass(frozen=True)
class _Task:
    """A question to be asked about the case of this position: of the turns and codes."""

    kind: QuestionKind
    case: int
    turns: tuple[int, ...]
    codes: tuple[str, ...]


class JudgedDetector:
    """The verdicts of the detector `inner`, reviewed and extended by a judge."""

    def __init__(self, inner: Detector, engine: JudgeEngine, options: StageOptions) -> None:
        self.inner = inner
        self.engine = engine
        self.options = options
        self.judge_name = re.sub(r"[^\w ./:@+-]", "_", engine.name)[:80]
        self.usage = JudgeUsage()
        self.n_before = 0
        """Dialogues of the log before those that are judged next: budgets depend on it."""
        rules = Rules({}, options.overrides, judge_threshold=options.threshold)
        self._merger = Merger(self.judge_name, inner.taxonomy, rules)
        self._own_tokens: dict[tuple[str, ...], int] = {}

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
        """Those of the detector inside, and those that the judge may be asked about."""
        inner = set(self.inner.codes)
        return tuple(code for code in self.taxonomy.codes if code in inner or code in self.options.codes)

    @property
    def fingerprint(self) -> str:
        options = self.options
        return fingerprint(
            [
                self.inner.fingerprint,
                self.engine.fingerprint,
                load_prompts().fingerprint,
                sorted(options.codes),
                [options.detail, options.language, options.audit, options.threshold, str(options.budget)],
                [] if options.overrides.judge is None else [options.overrides.judge.fingerprint],
                [] if options.examples is None else [options.examples.fingerprint],
                [policy.model_dump(mode="json") for policy in options.policies.values()],
            ]
        )

    @property
    def judge_info(self) -> JudgeInfo:
        """Who is asked, and what it has taken."""
        return JudgeInfo(
            name=self.judge_name,
            fingerprint=self.engine.fingerprint,
            notes=tuple(self.engine.notes),
            max_prompt_tokens=self.engine.max_prompt_tokens,
            contract=self.options.overrides.judge,
            examples=None if self.options.examples is None else self.options.examples.fingerprint,
            usage=self.usage,
        )

    def with_log(self, log: LogProfile) -> JudgedDetector:
        self.inner = self.inner.with_log(log)
        return self

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        verdicts = self.inner.verdicts(dialogues, all_probabilities=all_probabilities)
        options = self.options
        cases = [
            Case(dialogue, verdict, options.policies, _draw(dialogue.id) < options.audit)
            for dialogue, verdict in zip(dialogues, verdicts, strict=True)
        ]
        is_first = self.n_before == 0
        purse = Purse(options.budget, options.price, self.n_before, len(dialogues))
        allowed = purse.left
        self.n_before += len(dialogues)
        judged = [index for index, case in enumerate(cases) if case.verdict.status != "failed"]
        flagged, checked = self._plan_flagged(cases, judged)
        self._ask_all(cases, purse, flagged)
        self._screen(cases, purse, self._plan_screens(cases, judged))
        self._ask_all(cases, purse, checked, is_optional=True)
        if options.budget is not None:
            if is_first and purse.refused and purse.left == allowed:
                raise ConfigError(
                    "E_OPTION",
                    f'--judge-budget "{options.budget}" is {allowed:.3g} for the first {len(cases)}, and a '
                    f"question takes up to {purse.refused:.3g}: --judge-budget "
                    f'"{options.budget.least_for(purse.refused, len(cases))}" or more asks one',
                )
            self.usage.allowed += allowed
            self.usage.spent += allowed - purse.left
        empty = JudgeRecord(name=self.judge_name, prompt=PROMPT_VERSION)
        results = [
            self._merger.merge(case)
            if case.verdict.status != "failed"
            else case.verdict.model_copy(update={"judge": empty})
            for case in cases
        ]
        self.usage.unquoted += sum(case.unquoted for case in cases)
        return results

    def _plan_flagged(self, cases: Sequence[Case], judged: Sequence[int]) -> tuple[list[_Task], list[_Task]]:
        """Questions about what the scan flagged, findings first, by probability; and about findings of exact
        checks."""
        ranked: list[tuple[int, float, int, _Task]] = []
        for index in judged:
            verdict = cases[index].verdict
            for rank, findings in enumerate((verdict.findings, verdict.suggestions)):
                for finding in findings:
                    if finding.code in self.options.codes:
                        task = _Task("detail", index, (finding.turn,), (finding.code,))
                        own_rank = 2 if is_check(finding) else rank
                        ranked.append((own_rank, -finding.probability, index, task))
        ranked.sort(key=lambda item: item[:3])
        tasks = list(dict.fromkeys(task for rank, _, _, task in ranked if rank < 2))
        return tasks, [task for rank, _, _, task in ranked if rank == 2]

    def _plan_screens(self, cases: Sequence[Case], judged: Sequence[int]) -> list[_Task]:
        """Questions about the codes that nothing covers, about all codes in an audit; dialogues in the order
        of a hash of their ids."""
        covered = self._list_covered()
        tasks = []
        for index in sorted(judged, key=lambda index: (_draw(cases[index].dialogue.id), index)):
            case = cases[index]
            gaps = {code for gap in case.verdict.not_judged for code in gap.codes}
            wanted = [
                code
                for name, code in self.taxonomy.codes.items()
                if name in self.options.codes and (case.is_audit or name not in covered or name in gaps)
            ]
            met = [code.code for code in wanted if case.meets(code)]
            case.unmet.update(code.code for code in wanted if code.code not in met)
            groups = group_codes(met, self.taxonomy, case.evidence)
            tasks += [_Task("screen", index, case.judged_turns, codes) for codes in groups]
        return tasks

    def _list_covered(self) -> set[str]:
        """The codes that the detector inside can report."""
        info = self.inner.info
        if info is None:
            return set(self.inner.codes)
        return {code for code, how in info.codes.items() if how.covered_by}

    def _screen(self, cases: Sequence[Case], purse: Purse, tasks: list[_Task]) -> None:
        """Asks screens and what they name, in waves, as far as the budget reaches."""
        while tasks:
            follow_ups: list[_Task] = []
            rest = self._wave(cases, purse, tasks, SCREENS_SHARE, follow_ups)
            self._ask_all(cases, purse, follow_ups)
            if rest == tasks:
                break
            tasks = rest
        for task in tasks:
            cases[task.case].unasked.update(task.codes)

    def _ask_all(
        self, cases: Sequence[Case], purse: Purse, tasks: list[_Task], *, is_optional: bool = False
    ) -> None:
        """Asks as many as the budget reaches; the others are recorded as unasked, unless they are
        optional."""
        tasks = [task for task in tasks if (task.turns[0], task.codes[0]) not in cases[task.case].rulings]
        while tasks:
            rest = self._wave(cases, purse, tasks, 1.0, [])
            if rest == tasks:
                break
            tasks = rest
        if not is_optional:
            for task in tasks:
                cases[task.case].unasked.update(task.codes)

    def _wave(
        self,
        cases: Sequence[Case],
        purse: Purse,
        tasks: Sequence[_Task],
        share: float,
        follow_ups: list[_Task],
    ) -> list[_Task]:
        """Asks the first of `tasks` within this share of what is left; returns those not asked. What screens
        name is added to `follow_ups`."""
        queue = deque(tasks)
        sent: list[tuple[_Task, JudgeRequest]] = []
        while queue:
            task = queue.popleft()
            case = cases[task.case]
            try:
                chat, tokens = self._fit(case, task)
            except ConfigError:
                if task.kind == "screen" and len(task.codes) > 1:
                    half = len(task.codes) // 2
                    for codes in (task.codes[half:], task.codes[:half]):
                        queue.appendleft(_Task(task.kind, task.case, task.turns, codes))
                    continue
                case.fail(NO_ROOM, task.codes)
                self._count_failure(NO_ROOM)
                continue
            if task.kind == "screen" and len(task.turns) > 1 and not set(task.turns) <= chat.turns:
                half = len(task.turns) // 2
                for turns in (task.turns[half:], task.turns[:half]):
                    queue.appendleft(_Task(task.kind, task.case, turns, task.codes))
                continue
            request = self._request(case, task, chat)
            if self.options.budget is not None:  # a server may be shown the schema in words
                schema = {"role": "user", "content": compact_json(request.schema)}
                tokens += self.engine.count_tokens([schema])
            answers = purse.reserve(tokens, request.max_tokens, share)
            if not answers:
                queue.appendleft(task)
                break
            sent.append((task, replace(request, answers=answers)))
            self.usage.shortened += chat.cut
        sent.sort(key=lambda pair: (pair[0].case, pair[0].kind, pair[0].turns[-1]))
        started_s = time.monotonic()
        replies = self.engine.ask([request for _, request in sent]) if sent else []
        self.usage.seconds += time.monotonic() - started_s
        self.monitor.add_seconds("judge", time.monotonic() - started_s)
        spent = []
        for (task, _), reply in zip(sent, replies, strict=True):
            self._note(cases[task.case], task, reply, follow_ups)
            spent.append((reply.prompt_tokens, reply.output_tokens))
        purse.settle(spent)
        return list(queue)

    def _fit(self, case: Case, task: _Task) -> tuple[Chat, int]:
        """The chat of a question, cut so that it fits, and its tokens.

        Raises:
            ConfigError: it does not.
        """
        options, spell = self.options, self.engine.spell
        codes = [self.taxonomy.codes[code] for code in task.codes]
        if task.kind == "screen":
            clauses = tuple(dict.fromkeys(each for code in task.codes for each in case.clauses(code)))

            def build(max_chars: int) -> Chat:
                return screen_chat(
                    case.masked, task.turns, codes, clauses, spell, max_chars, options.language
                )

        else:
            question = self._question(case, task.turns[0], task.codes[0])

            def build(max_chars: int) -> Chat:
                return build_chat(question, codes[0], spell, options.detail, max_chars, options.language)

        return fit_chat(
            build, self.engine.count_tokens, self.engine.max_prompt_tokens, lambda: self._bare(codes)
        )

    def _question(self, case: Case, turn: int, code: str) -> Question:
        sees_policy = load_prompts().sees(self.taxonomy.codes[code], "policy")
        examples = self.options.examples
        return Question(
            dialogue=case.masked,
            turn=turn,
            code=code,
            clauses=case.clauses(code) if sees_policy else (),
            examples=() if examples is None else examples.find(case.masked, turn, code),
        )

    def _bare(self, codes: Sequence[Code]) -> int:
        """Tokens of a question without dialogue and evidence."""
        key = tuple(code.code for code in codes)
        if key not in self._own_tokens:
            empty = Dialogue(id="-", turns=(), masked=True)
            if len(codes) == 1:
                question = Question(dialogue=empty, turn=0, code=codes[0].code)
                chat = build_chat(
                    question, codes[0], self.engine.spell, self.options.detail, 0, self.options.language
                )
            else:
                chat = screen_chat(empty, (0,), codes, (), self.engine.spell, 0, self.options.language)
            self._own_tokens[key] = self.engine.count_tokens(chat.messages)
        return self._own_tokens[key]

    def _request(self, case: Case, task: _Task, chat: Chat) -> JudgeRequest:
        if task.kind == "screen":
            most = min(MAX_ERRORS, len(task.turns) * len(task.codes))
            return JudgeRequest(
                dialogue_id=case.dialogue.id,
                messages=tuple(chat.messages),
                schema=screen_schema(task.turns, task.codes),
                max_tokens=ERROR_TOKENS * (most + 1),
            )
        return JudgeRequest(
            dialogue_id=case.dialogue.id,
            messages=tuple(chat.messages),
            schema=detail_schema(self.taxonomy.codes[task.codes[0]]),
            max_tokens=DETAIL_TOKENS,
            wants_verdict=True,
            quoted=case.masked.turns[case.position_of[task.turns[0]]].text,
        )

    def _note(self, case: Case, task: _Task, reply: JudgeReply, follow_ups: list[_Task]) -> None:
        """Records the reply to a question."""
        usage = self.usage
        usage.prompt_tokens += reply.prompt_tokens
        usage.cached_tokens += reply.cached_tokens
        usage.output_tokens += reply.output_tokens
        case.counts[task.kind] += 1
        if task.kind == "screen":
            usage.screens += 1
        else:
            usage.details += 1
        failure = reply.failure
        if not failure and task.kind == "screen":
            errors = parse_screen(reply.text, task.turns, task.codes)
            if errors is None:
                failure = BAD_ANSWER
            else:
                case.asked.update(task.codes)
                follow_ups += [
                    _Task("detail", task.case, (turn,), (code,)) for turn, code in errors[:MAX_ERRORS]
                ]
        elif not failure:
            answer = parse_answer(reply.text)
            if answer is None:
                failure = BAD_ANSWER
            else:
                stated = reply.verdict_probabilities
                probability = answer.probability if stated is None else stated[VERDICTS.index("error")]
                ruling = Ruling(answer, min(max(probability, 0.0), 1.0), stated is None, reply.is_approximate)
                case.rulings[task.turns[0], task.codes[0]] = ruling
                case.asked.update(task.codes)
        if failure:
            case.fail(failure, task.codes)
            self._count_failure(failure)

    def _count_failure(self, failure: str) -> None:
        self.usage.failures[failure] = self.usage.failures.get(failure, 0) + 1


def _draw(dialogue_id: str) -> float:
    """A number in [0, 1) that depends on the id alone, evenly distributed over ids."""
    digest = hashlib.blake2b(dialogue_id.encode(), digest_size=8, person=b"judge").digest()
    return int.from_bytes(digest) / 2**64
