"""What is believed of every question somebody answered: the joint posterior of people and model.

Gold stands before any posterior. Reads the answers of people whose work counts, of one project or of the
whole store; writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from detector.errors import ConfigError
from detector.taxonomy import Taxonomy
from labeling.consensus.gathering import ANYWHERE, Gathered, Known, gathered
from labeling.store.annotations import counted
from labeling.store.database.transactions import Store, Transaction
from labeling.store.dialogues import content_of, verdict_on
from labeling.store.labels import all_gold
from labeling.store.records import Gold
from labeling.truth.answers import Floats
from labeling.truth.codes import posteriors


@dataclass(frozen=True, slots=True)
class Belief:
    """What is held of one turn and code: the `probability` of the error after `n_labelers` answered, of
    whom `n_yes` found it. `model` is its probability before anybody was asked, none where it is silent
    or was in view; `gold` says that it is known for sure. `start` and `end` are the evidence most agree
    on, if any is in this turn."""

    dialogue: str
    turn: int
    code: str
    probability: float
    n_labelers: int
    n_yes: int
    model: float | None = None
    gold: bool = False
    start: int | None = None
    end: int | None = None

    @property
    def confidence(self) -> float:
        """The probability of the likelier answer, 0.5 to 1."""
        return max(self.probability, 1.0 - self.probability)

    @property
    def unanimous(self) -> bool:
        """Whether all who were asked said the same."""
        return self.n_yes in (0, self.n_labelers)


def believed(
    store: Store, actor: str, project: str | None, taxonomy: Taxonomy, *, share_workers: bool = False
) -> list[Belief]:
    """All beliefs, by code and in the order in which the questions were first answered.

    `project` none takes all answers in the store, also those that came from elsewhere. With
    `share_workers` all codes teach what a person is like.

    Raises:
        NotAllowed: the actor does not decide.
        ConfigError: nobody has answered anything.
    """
    of_dialogue = whole(taxonomy)
    gold = _gold(all_gold(store, actor, retired=True), of_dialogue)
    found = answers_in(store, actor, project, taxonomy)
    return [_certain(one, gold, of_dialogue) for one in beliefs(found, share_workers)]


def answers_in(store: Store, actor: str, project: str | None, taxonomy: Taxonomy) -> Gathered:
    """The answers of all whose work counts, in a project or in the whole store.

    Raises:
        NotAllowed: the actor does not review.
        ConfigError: nobody has answered anything.
    """
    found = gathered(
        counted(store, actor, project), lambda name: store.read(lambda t: _known(t, name)), whole(taxonomy)
    )
    if not found.codes:
        raise ConfigError("E_NO_RECORDS", f"no answers in {project or 'the store'} yet")
    return found


def whole(taxonomy: Taxonomy) -> frozenset[str]:
    """Codes that are asked once a dialogue."""
    return frozenset(name for name, code in taxonomy.codes.items() if code.scope == "dialogue")


def _known(transaction: Transaction, name: str) -> Known:
    dialogue = content_of(transaction, name)
    assert dialogue is not None, "a foreign key"
    return Known.of(dialogue, verdict_on(transaction, name))


def beliefs(found: Gathered, share_workers: bool = False) -> Iterator[Belief]:
    """What the joint method makes of gathered answers; no gold."""
    tables = found.tables()
    models: dict[str, Floats] = {code: found.model(code) for code in tables}
    fitted = posteriors(tables, "joint", models, share_workers)
    for code, posterior in fitted.items():
        answers = found.codes[code]
        rows = zip(answers.said.items(), posterior.probabilities[:, 1], models[code][:, 1], strict=True)
        for (item, votes), probability, model in rows:
            turn, start, end = answers.place(item, found.known[item.dialogue].judged)
            yield Belief(
                item.dialogue, turn, code, float(probability), len(votes), sum(votes.values()),
                None if model != model else float(model), False, start, end,
            )  # fmt: skip


def _certain(one: Belief, gold: Mapping[tuple[str, int, str], bool], of_dialogue: frozenset[str]) -> Belief:
    """The belief, or what is known for sure in its place."""
    turn = ANYWHERE if one.code in of_dialogue else one.turn
    present = gold.get((one.dialogue, turn, one.code))
    return one if present is None else replace(one, probability=float(present), gold=True)


def _gold(known: Iterable[Gold], of_dialogue: frozenset[str]) -> dict[tuple[str, int, str], bool]:
    """Whether the error is there; a code of dialogue scope is, if it is in any turn."""
    found: dict[tuple[str, int, str], bool] = {}
    for one in known:
        key = (one.dialogue, ANYWHERE if one.code in of_dialogue else one.turn, one.code)
        found[key] = one.present or found.get(key, False)
    return found
