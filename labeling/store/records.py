"""Records of the store that other packages use: frozen, unknown fields are rejected."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dialint.detector.errors import InvalidValue, UserError
from dialint.detector.records import Dialogue, Probability, Record, Verdict
from dialint.labeling.annotation import Annotation

AccountRole = Literal["labeler", "reviewer", "expert", "lead", "admin"]
Status = Literal["active", "training", "suspended", "banned"]
Pool = Literal["training", "exam", "main", "control"]
"""The queue of a task. Tasks in `control` cannot be claimed from there: they replace some in `main`, and
their leases name `main`."""
TaskState = Literal["open", "full", "done", "withdrawn"]
"""Open: can be claimed. Full: answers and held leases make up the wanted number. Done: so do the answers."""
Outcome = Literal["overturned", "upheld", "amended"]
Purpose = Literal["label", "review", "adjudication", "calibration"]
"""The use of a project's answers. Only reviewers claim from review projects, only experts from
adjudication projects; in a calibration project all members of a group answer the same items."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Account(Record):
    """A person who signs in. `agent` is their id in dialogues, if they are an agent who may appeal."""

    id: Name
    role: AccountRole
    status: Status = "active"
    skills: tuple[Name, ...] = ()
    agent: Name | None = None

    @property
    def pools(self) -> tuple[Pool, ...]:
        """The pools whose tasks the account gets, in this order."""
        return ("training", "exam") if self.status == "training" else ("main",)


class Project(Record):
    """A labeling project. Each task needs `overlap` answers; adaptive overlap asks for up to `most`. One
    account gives at most `fair_share` of a project's answers. `prelabelled`: labelers see the model's
    verdict. `masked`: accounts that may not review see personal data as placeholders. A share `control_share`
    of claims gets control tasks, each displayed at most `control_uses` times. `members`: the accounts that
    may claim; all, if it is empty."""

    id: Name
    codes: Annotated[tuple[str, ...], Field(min_length=1)]
    instructions: str = ""
    overlap: Annotated[int, Field(ge=1)] = 1
    most: Annotated[int, Field(ge=1)] = 5
    skills: tuple[Name, ...] = ()
    members: tuple[Name, ...] = Field(default=(), exclude_if=lambda names: not names)
    fair_share: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    lease_s: Annotated[int, Field(ge=1)] = 900
    deadline: datetime | None = None
    prelabelled: bool = False
    masked: bool = True
    purpose: Purpose = "label"
    control_share: Probability = 0.0
    control_uses: Annotated[int, Field(ge=1)] = 50

    @model_validator(mode="after")
    def _possible(self) -> Project:
        if self.most < self.overlap:
            raise InvalidValue("most must not be less than overlap")
        if self.deadline is not None and self.deadline.tzinfo is None:
            raise InvalidValue("the deadline needs a time zone")
        return self


class Draft(Record):
    """An account's unsubmitted answer to an item, any JSON text, and when it was saved (ms since 1970)."""

    item: str
    content: str
    at_ms: int


class NewTask(Record):
    """A task to be added: why it was sampled and with which probability, none if it was not sampled. `source`
    is the project whose answers experts have to settle, if it is one."""

    dialogue: str
    turn: Annotated[int, Field(ge=0)] | None = None
    pool: Pool = "main"
    priority: float = 0.0
    inclusion_probability: Probability | None = None
    why: str = "chosen"
    source: str | None = None


class Lease(Record):
    """A task held for `lease_s` seconds from the claim or its last renewal. `token` rises with every claim of
    the task; answers must carry it. It stays on the server: a labeler's screen displays nothing of it. `pool`
    is `main` for a control task, too. `answer_key` is a key for the answer (see `annotations`) that is the
    same for the whole lease, and reveals nothing of the task."""

    task: int
    token: int
    answer_key: str
    project: str
    dialogue: str
    turn: int | None
    pool: Pool
    expires_ms: int


class TaskView(Record):
    """A task as an account sees it: with verdict and answers of others only if it may see them."""

    task: int
    project: str
    dialogue: Dialogue
    turn: int | None
    codes: tuple[str, ...]
    instructions: str
    verdict: Verdict | None = None
    answers: tuple[Annotation, ...] = ()


class Gold(Record):
    """The gold label of one turn and code; `retired` when displayed too often. `doubt` states why it may be
    wrong, if good labelers contradict it: until an expert decides, it is not used for grading."""

    dialogue: str
    turn: Annotated[int, Field(ge=0)]
    code: str
    present: bool
    source: Literal["expert", "injected", "appeal"]
    reason: str | None = None
    retired: bool = False
    doubt: str | None = None


class Appeal(Record):
    """An agent's objection to a finding, and its outcome."""

    id: int
    account: str
    dialogue: str
    turn: int
    code: str
    statement: str
    state: Literal["open", "overturned", "upheld", "amended"]
    decided_by: str | None
    reason: str | None


class StoreRefused(UserError):
    """The store refuses the operation; nothing was changed."""


class NotAllowed(StoreRefused):
    """The acting account lacks the right, or is not active."""


class MustChangePassword(NotAllowed):
    """The password is right but temporary: its owner has to choose another one first."""


class StaleLease(StoreRefused):
    """The fencing token is no longer valid: the lease expired or was released."""


class DialogueMissing(StoreRefused):
    """The dialogue, or the task on it, is not in the store any more: it was erased. Tasks are only deleted
    with their dialogues."""


class StoreDamaged(StoreRefused):
    """A checksum of the store does not match; the message names the row or object."""


class Conflict(StoreRefused):
    """A newer version was saved than the one the caller saw: `theirs`, newest last; `ours` is refused."""

    def __init__(self, message: str, /, theirs: tuple[Any, ...], ours: Any, **values: object) -> None:
        super().__init__("E_CONFLICT", message, **values)
        self.theirs = theirs
        self.ours = ours
