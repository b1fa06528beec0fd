"""P1 and P4: a required step of the procedure is left out, or comes after the outcome that needed it.

Only where the corpus has a flow chart and every path of it to the outcome passes through the step, only
in dialogues whose agent did take that step, and only where the customer states the thing nowhere else. P1
is marked on the turn with the outcome, P4 on the late step; the twin has the step in its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

from dialint.labeling.synthetic.dialogue_acts import is_closing
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Mark,
    Pool,
    Use,
    clean_turn,
    join_texts,
    match_agent_style,
    splice,
)
from dialint.labeling.synthetic.flowcharts import ProcedureStep, find_steps
from dialint.labeling.synthetic.wordings import Wordings, capitalize_first, match_style, render

_TRAIN = Wordings("train/process")
WAIVED = _TRAIN.pairs("waived", "agent", "customer")
INSISTED = _TRAIN.texts("insisted")
REWORDED = _TRAIN.texts("reworded")
VOLUNTEERED = _TRAIN.grammar("volunteered")
CONSENT = _TRAIN.pairs("consent", "agent", "customer")
FOLLOW_UP = _TRAIN.pairs("follow_up", "agent", "customer")
REFUSED = Wordings("dev/process").texts("refused")

_HELDOUT = Wordings("heldout/process")
UNMATCHED = _HELDOUT.records("unmatched", "mismatch", "customer", "match")
MATCHED_THANKS = _HELDOUT.text("matched_thanks")

_IN_WORDS = re.compile(r"\b(name|i'?m|i am|is|this|for|from|to|my)\b", re.IGNORECASE)


def _chosen(draft: ExampleDraft, rng: Random, consent: bool) -> ProcedureStep | None:
    steps = [step for step in find_steps(draft) if bool(step.thing) != consent]
    return rng.choice(steps) if steps else None


def _accused(turn: DraftTurn, family: str, start: int = 0) -> DraftTurn:
    mark = Mark(family[:2], family, start, len(turn.text))
    return replace(turn, marks=(*turn.marks, mark), touched=True)


def _cleared(draft: ExampleDraft, index: int, code: str) -> ExampleDraft:
    return draft.with_turn(index, replace(draft.turns[index], probe=code, touched=True))


def _agent(draft: ExampleDraft, template: str, rng: Random, thing: str = "") -> DraftTurn:
    text = render(template, {"thing": (thing,), "cap_thing": (capitalize_first(thing),)}, rng)
    return clean_turn("agent", match_agent_style(capitalize_first(text), draft))


def _customer(draft: ExampleDraft, template: str, rng: Random, **values: str) -> DraftTurn:
    others = [turn.text for turn in draft.turns if turn.role == "customer"]
    text = render(template, {key: (value,) for key, value in values.items()}, rng)
    return clean_turn("customer", match_style(capitalize_first(text), others))


def _instead(draft: ExampleDraft, step: ProcedureStep, made: Iterable[DraftTurn]) -> ExampleDraft:
    return splice(draft, step.ask, step.ask + 2, made)


def _outcome_accused(
    draft: ExampleDraft, step: ProcedureStep, made: tuple[DraftTurn, ...], family: str
) -> ExampleDraft:
    accused = draft.with_turn(step.outcome, _accused(draft.turns[step.outcome], family))
    return _instead(accused, step, made)


def _left_out(name: str, consent: bool) -> Family:
    """The step is not there at all."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        if (step := _chosen(draft, rng, consent)) is None:
            return None
        error = _outcome_accused(draft, step, (), f"P1.{name}")
        return ErrorPair(error, _cleared(draft, step.outcome, "P1"))

    return Family("P1", f"P1.{name}", make)


def _waived(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The agent says that the step is not needed, which is an error of its own; the twin insists on it."""
    if (step := _chosen(draft, rng, consent=False)) is None:
        return None
    waiver, answer = rng.choice(WAIVED)
    waived = _accused(_agent(draft, waiver, rng, step.thing), "P1.waived")
    insists = _agent(draft, rng.choice(INSISTED), rng, step.thing)
    twin = _instead(
        _cleared(draft, step.outcome, "P1"),
        step,
        (insists, clean_turn("customer", draft.turns[step.ask + 1].text)),
    )
    return ErrorPair(
        _outcome_accused(draft, step, (waived, _customer(draft, answer, rng)), "P1.waived"), twin
    )


def _refused(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The customer does not give what the step asks for, and the agent goes on."""
    if (step := _chosen(draft, rng, consent=False)) is None:
        return None
    refusal = _customer(draft, rng.choice(REFUSED), rng)
    made = (draft.turns[step.ask], refusal)
    return ErrorPair(_outcome_accused(draft, step, made, "P1.refused"), _cleared(draft, step.outcome, "P1"))


def _unmatched(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """The value is given and found not to hold, and the agent goes on."""
    if (step := _chosen(draft, rng, consent=False)) is None:
        return None
    fails, reply, holds = rng.choice(UNMATCHED)
    own_step = draft.turns[step.ask : step.ask + 2]
    error = (*own_step, _agent(draft, fails, rng), _customer(draft, reply, rng))
    fine = (*own_step, _agent(draft, holds, rng), _customer(draft, MATCHED_THANKS, rng))
    twin = _instead(_cleared(draft, step.outcome, "P1"), step, fine)
    return ErrorPair(_outcome_accused(draft, step, error, "P1.unmatched"), twin)


def _reaction(draft: ExampleDraft, step: ProcedureStep) -> bool:
    """Whether the customer speaks once, and asks nothing, after the outcome."""
    after = draft.turns[step.outcome + 1 : step.outcome + 3]
    return (
        bool(after)
        and after[0].role == "customer"
        and not after[0].touched
        and "?" not in after[0].text
        and (len(after) == 1 or after[1].role == "agent")
    )


def _at_once(draft: ExampleDraft, step: ProcedureStep, rng: Random) -> int | None:
    return step.outcome + 1 if step.outcome + 1 < len(draft.turns) else None


def _after(draft: ExampleDraft, step: ProcedureStep, rng: Random) -> int | None:
    return step.outcome + 2 if _reaction(draft, step) else None


def _late(draft: ExampleDraft, step: ProcedureStep, rng: Random) -> int | None:
    """Behind a customer's turn further on; the agent has not taken leave yet."""
    indexes = []
    for i in range(step.outcome + 3, len(draft.turns)):
        if is_closing(draft.turns[i - 1].text) and draft.turns[i - 1].role == "agent":
            break
        if draft.turns[i - 1].role == "customer" and "?" not in draft.turns[i - 1].text:
            indexes.append(i)
    return rng.choice(indexes) if indexes else None


def _moved(
    name: str,
    where: Callable[[ExampleDraft, ProcedureStep, Random], int | None],
    consent: bool = False,
    use: Use = "train",
) -> Family:
    """The step comes behind the outcome that needed it."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for step in rng.sample(steps := find_steps(draft), len(steps)):
            index = where(draft, step, rng) if bool(step.thing) != consent else None
            if index is None:
                continue
            ask, answer = draft.turns[step.ask : step.ask + 2]
            error = splice(draft, index, index, (_accused(ask, f"P4.{name}"), answer))
            return ErrorPair(_instead(error, step, ()), _cleared(draft, step.ask, "P4"))
        return None

    return Family("P4", f"P4.{name}", make, use)


def _one_breath(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    """Outcome and question in one turn: the answer can change nothing any more."""
    step = _chosen(draft, rng, consent=False)
    if step is None or not _reaction(draft, step):
        return None
    ask, answer = draft.turns[step.ask : step.ask + 2]
    text, start, _ = join_texts(draft.turns[step.outcome].text, ask.text)
    both = _accused(replace(draft.turns[step.outcome], text=text), "P4.one-breath", start)
    answer_and_reaction, _, _ = join_texts(answer.text, draft.turns[step.outcome + 1].text)
    error = splice(draft, step.outcome, step.outcome + 2, (both, clean_turn("customer", answer_and_reaction)))
    return ErrorPair(_instead(error, step, ()), _cleared(draft, step.ask, "P4"))


def _reworded(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The step is done in other words."""
    if (step := _chosen(draft, rng, rng.random() < 0.3)) is None:
        return None
    if step.thing:
        ask = _agent(draft, rng.choice(REWORDED), rng, step.thing)
        answer = clean_turn("customer", draft.turns[step.ask + 1].text)
    else:
        asks, answers = rng.choice(CONSENT)
        ask, answer = _agent(draft, asks, rng), _customer(draft, answers, rng)
    return _instead(_cleared(draft, step.outcome, "P1"), step, (ask, answer))


def _volunteered(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """The customer says unasked what the step would ask for."""
    step = _chosen(draft, rng, consent=False)
    if step is None:
        return None
    indexes = [i for i in range(step.ask) if draft.turns[i].role == "customer" and not draft.turns[i].touched]
    answer = draft.turns[step.ask + 1].text.strip()
    if not indexes or not answer or answer.lower().split()[0].strip(",.") in ("yes", "no", "yeah", "nope"):
        return None
    index = rng.choice(indexes)
    if len(answer.split()) <= 4 and not _IN_WORDS.search(answer):
        frames = VOLUNTEERED["name" if step.thing == "name" else "other"]
        values = {
            "answer": answer.rstrip(".!"),
            "thing": step.thing,
            "cap_thing": capitalize_first(step.thing),
        }
        answer = _customer(draft, rng.choice(frames), rng, **values).text
    answered_turn = clean_turn("customer", join_texts(draft.turns[index].text, answer)[0])
    return _instead(_cleared(draft, step.outcome, "P1").with_turn(index, answered_turn), step, ())


def _follow_up(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
    """A question behind the outcome that the outcome did not need."""
    steps = [step for step in find_steps(draft) if _reaction(draft, step) and step.thing]
    if not steps:
        return None
    index = rng.choice(steps).outcome + 1
    ask, answer = rng.choice(FOLLOW_UP)
    reaction = clean_turn("customer", draft.turns[index].text)
    asking = replace(_agent(draft, ask, rng), probe="P4")
    return splice(draft, index, index + 1, (reaction, asking, _customer(draft, answer, rng)))


FAMILIES: tuple[Family, ...] = (
    _left_out("skipped", consent=False),
    _left_out("unconfirmed", consent=True),
    Family("P1", "P1.waived", _waived),
    Family("P1", "P1.refused", _refused, "dev"),
    Family("P1", "P1.unmatched", _unmatched, "heldout"),
    _moved("after", _after),
    _moved("at-once", _at_once),
    _moved("late", _late),
    Family("P4", "P4.one-breath", _one_breath, "dev"),
    _moved("confirmed-late", _after, consent=True, use="heldout"),
)

NEGATIVES: tuple[HardNegative, ...] = (
    HardNegative("P1", "P1.not-reworded", _reworded),
    HardNegative("P1", "P1.not-volunteered", _volunteered),
    HardNegative("P4", "P4.not-follow-up", _follow_up),
)
