"""The records that cross a file, a wire or a package: frozen, without unknown fields.

Derived values are properties or functions of these records and are not stored, except a verdict's `quality`,
which readers of the file need without the taxonomy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from dialint.detector import offsets

Role = Literal["customer", "agent", "bot", "system", "tool"]
Severity = Literal["S1", "S2", "S3", "S4"]
Scope = Literal["span", "turn", "dialogue"]
Fault = Literal["agent", "bot", "template", "knowledge base", "tool", "customer"]
Source = Literal["check", "policy", "scan", "judge"]
"""The origin of a suspicion."""
Probability = Annotated[float, Field(ge=0.0, le=1.0)]

JUDGED_ROLES: tuple[Role, ...] = ("agent", "bot")
"""Roles whose turns are judged."""


class Record(BaseModel):
    """Frozen; unknown fields, coerced types, NaN and infinities are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=(),
        defer_build=True,
    )  # fmt: skip


class ToolCall(Record):
    """A call of a tool or function by an agent or a bot, which the customer did not see. `id` links it to its
    result, where the log has ids."""

    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    id: str | None = None

    def __hash__(self) -> int:
        # of the text: Python's hashes of -1 and -2, and of 1 and true, are equal
        return hash((self.name, self.id, msgspec.json.encode(self.arguments, order="sorted")))


class Turn(Record):
    """One message. `index` is its position in the input, from 0; blank turns are counted, and the indices of
    removed internal notes are missing.

    `text` is the cleaned text. `edits` are its differences to the log's own text: markup, quoted replies and
    signatures that were stripped.

    `tool_calls` are those that an agent or a bot made with this message, whose text is empty where nothing
    was said beside. A turn of the role ``tool`` has a tool's result as its text: evidence, never judged, and
    never shown to the customer. `tool_call_id` names the call, where the log does; without it the result
    belongs to the earliest call before it that has none. `tool_error`: whether the tool failed, where the log
    tells.
    """

    index: Annotated[int, Field(ge=0)]
    role: Role
    text: str
    at: datetime | None = None
    author: str | None = None
    edits: tuple[offsets.Edit, ...] = Field(default=(), exclude_if=lambda edits: not edits)
    tool_calls: tuple[ToolCall, ...] = Field(default=(), exclude_if=lambda calls: not calls)
    tool_call_id: str | None = Field(default=None, exclude_if=lambda value: value is None)
    tool_error: bool | None = Field(default=None, exclude_if=lambda value: value is None)

    @property
    def is_unseen(self) -> bool:
        """True if the customer saw nothing of it: a tool's result, or calls without words beside."""
        return self.role == "tool" or (bool(self.tool_calls) and not self.text.strip())

    @property
    def is_silent_act(self) -> bool:
        """True if an agent or a bot only called tools in it."""
        return self.role in JUDGED_ROLES and bool(self.tool_calls) and not self.text.strip()

    @property
    def n_places(self) -> int:
        """The largest `end` that a finding may have: characters of the text, or calls of a silent act."""
        return len(self.tool_calls) if self.is_silent_act else len(self.text)

    def to_log(self, start: int, end: int) -> tuple[int, int]:
        """Offsets ``[start, end)`` of `text` as offsets of the text in the log."""
        return offsets.to_original(self.edits, start, end)

    def from_log(self, start: int, end: int) -> tuple[int, int]:
        """Offsets ``[start, end)`` of the text in the log as offsets of `text`; empty where all of it was
        stripped."""
        return offsets.from_original(self.edits, start, end)


class Dialogue(Record):
    """One conversation, turns in order. `policy` names a guideline; `sources` are ids or texts of documents
    available to the agent; `masked` is whether `mask_dialogue` made it, which no log can claim."""

    id: Annotated[str, Field(min_length=1)]
    turns: tuple[Turn, ...]
    language: str | None = None
    channel: str | None = None
    agent: str | None = None
    team: str | None = None
    policy: str | None = None
    sources: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    masked: bool = False

    @property
    def started_at(self) -> datetime | None:
        """The first time that a turn has."""
        return next((turn.at for turn in self.turns if turn.at is not None), None)

    def without_edits(self) -> Dialogue:
        """Return the same dialogue without edits, as if its texts were the log's own."""
        if not any(turn.edits for turn in self.turns):
            return self
        turns = tuple(turn.model_copy(update={"edits": ()}) if turn.edits else turn for turn in self.turns)
        return self.model_copy(update={"turns": turns})


class Finding(Record):
    """One error, from a model or a person.

    `turn` is the index in the input. `start` and `end` are offsets in code points into that turn's text, end
    exclusive: in a verdict file into the text of the log, in the store into the text of the `Dialogue`.
    `quote` is the quoted text without stripped markup and with personal data as placeholders. In a turn that
    only calls tools it is the call, and `start` the number of the call, from 0.
    """

    code: str
    turn: Annotated[int, Field(ge=0)]
    severity: Severity
    fault: Fault = "agent"
    probability: Probability
    quote: Annotated[str, Field(min_length=1)]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]
    reason: str
    rewrite: str | None = None

    @model_validator(mode="after")
    def _span(self) -> Finding:
        if self.end <= self.start:
            raise ValueError("end must lie after start")
        return self


class NotJudged(Record):
    """Agents' turns on which codes were not judged because of a language (ISO 639-1) that the release's model
    does not cover: the turn's own, or that of the customer or the whole dialogue for codes that depend on it.
    `codes` were not searched for at all, `check_only` by exact checks only."""

    language: str
    turns: tuple[Annotated[int, Field(ge=0)], ...]
    codes: tuple[str, ...]
    check_only: tuple[str, ...] = ()


def narrow_gaps(gaps: Iterable[NotJudged], is_selected: Callable[[str], bool]) -> tuple[NotJudged, ...]:
    """Returns the gaps with only the selected codes, without those that have none."""
    results = []
    for gap in gaps:
        codes, check_only = (tuple(filter(is_selected, each)) for each in (gap.codes, gap.check_only))
        if codes or check_only:
            results.append(gap.model_copy(update={"codes": codes, "check_only": check_only}))
    return tuple(results)


class JudgeRecord(Record):
    """The questions to a judge (an LLM, asked after the scan) about one dialogue. `name` is that of the
    model, `prompt` the version of the questions' words.

    `readings` are questions about the whole dialogue, `second_looks` those about errors that were not sure.
    `codes` are those of the questions. All others are no clean codes: `unmet` need what the dialogue has not
    (sources, a policy, actions, times), `unasked` were left out by the budget, and `failures` are those of
    questions without a usable answer, by the error's code."""

    name: str
    prompt: str
    readings: Annotated[int, Field(ge=0)] = 0
    second_looks: Annotated[int, Field(ge=0)] = 0
    codes: tuple[str, ...] = ()
    unmet: tuple[str, ...] = Field(default=(), exclude_if=lambda codes: not codes)
    unasked: tuple[str, ...] = Field(default=(), exclude_if=lambda codes: not codes)
    failures: dict[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=lambda value: not value)

    @property
    def silent_codes(self) -> frozenset[str]:
        """The codes that it says nothing of."""
        return frozenset({*self.unasked, *self.unmet}.union(*self.failures.values()))


def _is_absent(value: object) -> bool:
    return value is None or value == ()


class PolicyVersion(Record):
    """The policy that applied to a dialogue when it was scored: `sha256` is `Policy.fingerprint`, of its
    rules."""

    name: Annotated[str, Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Verdict(Record):
    """The result of a release on one dialogue. Only one that was judged as a whole has a `quality`. A failed
    verdict has a `failure` code; one that is `not_judged` has no agent's turn in a language that the model
    covers; of a scored one without quality a part was not judged, as `not_judged`, `no_policy` or the
    failures of `judge` say. None of them is a clean dialogue. `judged_share` is the share of the agents'
    turns that were judged, if it is neither 0 nor 1. `probabilities` maps turn index to code to probability,
    for judged turns and codes; it is 0 for a code that does not apply to the turn.

    `findings` are accusations, under the release's contract. `suggestions` are below it: of a code that keeps
    no contract, or from a log unlike those the release was calibrated on. A person may read them; they count
    in no quality and no rate.

    `no_policy` are the codes that were not searched for, as they need a policy and none with rules for them
    applies to the dialogue. `judge` has the questions to an LLM beside the release, if there were any.
    `policy` is the policy that applied, and `overrides` the fingerprint of the team's (`dialint score
    --overrides`).

    `agent_turns` counts the turns of agents and bots that have words, judged or not. `agent`, `team`,
    `channel` and `started_at`, the first time that a turn has, are the log's own, unmasked."""

    dialogue_id: str
    release: str
    taxonomy: str
    status: Literal["scored", "failed", "not_judged"]
    failure: str | None = Field(default=None, exclude_if=_is_absent)
    quality: Annotated[float, Field(ge=0.0, le=100.0)] | None = None
    findings: tuple[Finding, ...] = ()
    suggestions: tuple[Finding, ...] = ()
    probabilities: dict[int, dict[str, Probability]] | None = Field(default=None, exclude_if=_is_absent)
    judged_share: Probability | None = Field(default=None, exclude_if=_is_absent)
    not_judged: tuple[NotJudged, ...] = Field(default=(), exclude_if=_is_absent)
    no_policy: tuple[str, ...] = Field(default=(), exclude_if=_is_absent)
    judge: JudgeRecord | None = Field(default=None, exclude_if=_is_absent)
    policy: PolicyVersion | None = Field(default=None, exclude_if=_is_absent)
    overrides: str | None = Field(default=None, exclude_if=_is_absent)
    agent_turns: Annotated[int, Field(ge=0)] | None = Field(default=None, exclude_if=_is_absent)
    agent: str | None = Field(default=None, exclude_if=_is_absent)
    team: str | None = Field(default=None, exclude_if=_is_absent)
    channel: str | None = Field(default=None, exclude_if=_is_absent)
    started_at: datetime | None = Field(default=None, exclude_if=_is_absent)

    @model_validator(mode="after")
    def _whole(self) -> Verdict:
        if (self.status == "failed") != (self.failure is not None):
            raise ValueError("a failed verdict, and no other, names its failure")
        is_whole = self.status == "scored" and not self.not_judged and not self.judge_failures
        if self.quality is not None and not is_whole:
            raise ValueError("only a verdict on all that was asked for has a quality")
        if self.quality is None and is_whole and not self.no_policy:
            raise ValueError("a verdict without quality says what was not judged")
        if self.status == "not_judged" and not self.not_judged:
            raise ValueError("a verdict that is not judged says of which languages")
        return self

    @property
    def judge_failures(self) -> tuple[str, ...]:
        """The error codes of questions to the judge that have no usable answer."""
        return () if self.judge is None else tuple(self.judge.failures)

    @property
    def unjudged_codes(self) -> frozenset[str]:
        """The codes that no turn was judged on: no policy with rules for them applies, or the release does
        not cover the languages of the turns."""
        turns: dict[str, set[int]] = {}
        for gap in self.not_judged:
            for code in gap.codes:
                turns.setdefault(code, set()).update(gap.turns)
        n = 0 if self.status == "not_judged" else self.agent_turns
        none = {code for code, own in turns.items() if not own or (n is not None and len(own) >= n)}
        return frozenset({*self.no_policy, *none})

    @property
    def judged_turns(self) -> int:
        """The agents' turns of a scored dialogue that were judged; 0 if an older file lacks their number."""
        return round((self.agent_turns or 0) * (1.0 if self.judged_share is None else self.judged_share))

    @property
    def week(self) -> str | None:
        """The ISO week of the first time, such as ``2026-W48``."""
        return None if self.started_at is None else "{}-W{:02d}".format(*self.started_at.isocalendar()[:2])

    @property
    def expected_errors(self) -> float:
        """The expected number of errors, by which dialogues are ranked: the sum of the largest probability of
        each turn and code, of what is reported or, where they are given, of all."""
        expected = {
            (turn, code): value
            for turn, row in (self.probabilities or {}).items()
            for code, value in row.items()
        }
        for each in (*self.findings, *self.suggestions):
            place = each.turn, each.code
            expected[place] = max(expected.get(place, 0.0), each.probability)
        return sum(expected.values())

    def with_origin(self, dialogue: Dialogue) -> Verdict:
        """Return the verdict with the agent, team, channel and first time of its dialogue."""
        names = ("agent", "team", "channel", "started_at")
        return self.model_copy(update={name: getattr(dialogue, name) for name in names})

    def placed_in(self, dialogue: Dialogue) -> Verdict:
        """Return the verdict of a file with its offsets in the texts of `dialogue` in place of the log's."""
        turns = {turn.index: turn for turn in dialogue.turns if turn.edits}
        if not any(finding.turn in turns for finding in (*self.findings, *self.suggestions)):
            return self
        placed = {
            name: tuple(
                _with_turn_offsets(finding, turns[finding.turn]) if finding.turn in turns else finding
                for finding in findings
            )
            for name, findings in (("findings", self.findings), ("suggestions", self.suggestions))
        }
        return self.model_copy(update=placed)


def _with_turn_offsets(finding: Finding, turn: Turn) -> Finding:
    start, end = turn.from_log(finding.start, finding.end)
    start = max(0, min(start, len(turn.text) - 1))
    return finding.model_copy(update={"start": start, "end": max(end, start + 1)})


class Label(Record):
    """The label of one turn and code. `method` is its origin (``crowd:dawid-skene``, ``inject:<code>``);
    `start` and `end` bound the evidence, if known."""

    dialogue_id: str
    turn: Annotated[int, Field(ge=0)]
    code: str
    probability: Probability
    method: str
    n_labelers: Annotated[int, Field(ge=0)] = 0
    start: Annotated[int, Field(ge=0)] | None = None
    end: Annotated[int, Field(ge=1)] | None = None


class Example(Record):
    """A dialogue with its labels, for training or evaluation.

    A turn and code without a label is free of that error, unless the code is `unlabelled`: nobody has
    searched for it. `pair` joins a dialogue with a made error to its clean twin, whose label of the same turn
    and code has probability 0.
    """

    dialogue: Dialogue
    labels: tuple[Label, ...] = ()
    split: str
    pair: str | None = None
    unlabelled: tuple[str, ...] = Field(default=(), exclude_if=lambda codes: not codes)

    @property
    def errors(self) -> tuple[Label, ...]:
        """The labels with a probability over one half: the errors of a binary decision."""
        return tuple(label for label in self.labels if label.probability > 0.5)


class Judgement(Record):
    """An answer to one question, in the judge's own shape."""

    verdict: Literal["error", "no_error"]
    quote: str | None = None
    severity: Severity | None = None
    reason: str = ""
    rewrite: str | None = None


class Preference(Record):
    """`chosen` over `rejected` for one turn and code. `dialogue` ends with that turn. `annotation` is
    the id of the person's answer, `release` the model that was corrected, `reason` why the person rejected
    what it found (an id of the console's ``reject_reasons.yaml``), if given."""

    dialogue: Dialogue
    turn: Annotated[int, Field(ge=0)]
    code: str
    chosen: Judgement
    rejected: Judgement
    outcome: Literal["overturned", "amended", "missed"]
    annotation: str
    release: str
    reason: str | None = Field(default=None, exclude_if=lambda reason: reason is None)
    split: str
