"""Control tasks come from experts' gold, or from examples whose errors were made and are therefore known.

Gold is what is known; a control task is a dialogue with gold in a project's pool `control`. How control
tasks are mixed in, and when they are shown no more, is `mixing`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, insert, select

from dialint.detector.records import Dialogue, Example
from dialint.labeling.annotation import judged_turns
from dialint.labeling.store import dialogues, tasks
from dialint.labeling.store.conflicts import refuse_own
from dialint.labeling.store.database.audit import canonical
from dialint.labeling.store.database.refusals import StoreRefused
from dialint.labeling.store.database.schema import gold, pairs
from dialint.labeling.store.database.transactions import Store, Transaction, writing
from dialint.labeling.store.dialogues import MOST_PER_CALL, sha256_of
from dialint.labeling.store.records import Gold, NewTask
from dialint.labeling.store.rights import authorised


def bring_in(
    store: Store, actor: str, examples: Iterable[Example], project: str | None = None
) -> tuple[str, ...]:
    """Put examples with made errors, and their clean twins, in as dialogues with gold of source `injected`;
    with `project`, as its control tasks, too. The ids of the dialogues, in the order given.

    Of each pair the codes that its labels name are known in every judged turn: there where it is labelled,
    absent elsewhere, and absent throughout in the twin. An example without a partner is known by its own
    labels. The dialogues get ids of ours, as the given ones may say which is the twin. The same examples
    again change nothing. It is done in pieces of up to 1,000; pairs are never cut.

    Raises:
        NotAllowed: the actor does not plan.
        StoreRefused: an example without labels whose twin is not among them, a label that is not certain,
            or an unknown project.
    """
    names: list[str] = []
    for piece in _pieces(list(examples)):
        known = {renamed(example).id: _gold(example, codes) for example, codes in piece}
        dialogues.add(store, actor, [renamed(example) for example, _ in piece])
        joint = {renamed(example).id: _pair(example) for example, _ in piece}
        _keep(store, actor, [one for found in known.values() for one in found], joint)
        if project is not None:
            tasks.add(store, actor, project, [NewTask(dialogue=name, pool="control") for name in known])
        names += known
    return tuple(names)


def _pair(example: Example) -> str:
    return sha256_of(example.pair or example.dialogue.id)[:16]


def _pieces(examples: list[Example]) -> list[list[tuple[Example, frozenset[str]]]]:
    """Examples with the codes that are known of them, in pieces that hold every pair whole."""
    together: dict[str, list[Example]] = {}
    for example in examples:
        together.setdefault(_pair(example), []).append(example)
    pieces: list[list[tuple[Example, frozenset[str]]]] = [[]]
    for family in together.values():
        codes = frozenset(label.code for example in family for label in example.labels)
        if not codes:
            raise StoreRefused("E_CONTROL", "an example without labels, and without a twin that has some")
        if len(pieces[-1]) + len(family) > MOST_PER_CALL:
            pieces.append([])
        pieces[-1] += [(example, codes) for example in family]
    return pieces if pieces[0] else []


def renamed(example: Example) -> Dialogue:
    """The dialogue under an id that tells nothing, the same for the same id."""
    number = hashlib.sha256(f"control {example.dialogue.id}".encode()).hexdigest()[:12]
    return example.dialogue.model_copy(update={"id": f"d-{number}"})


def _gold(example: Example, codes: frozenset[str]) -> list[Gold]:
    if any(label.probability not in (0.0, 1.0) for label in example.labels):
        raise StoreRefused("E_CONTROL", "a label that is not certain is no gold")
    there = {(label.turn, label.code): label.probability == 1.0 for label in example.labels}
    reasons = {(label.turn, label.code): label.method for label in example.labels}
    places = {(turn, code) for turn in judged_turns(example.dialogue) for code in codes} | set(there)
    return [
        Gold(
            dialogue=renamed(example).id,
            turn=turn,
            code=code,
            present=there.get((turn, code), False),
            source="injected",
            reason=reasons.get((turn, code)),
        )
        for turn, code in sorted(places)
    ]


@writing(repeatable=True)
def _keep(transaction: Transaction, actor: str, found: Sequence[Gold], joint: dict[str, str]) -> None:
    """Gold that is there already stays: an expert may have changed it since."""
    account = authorised(transaction, actor, "plan")
    refuse_own(transaction, account, *joint)
    asked = select(gold.c.dialogue, gold.c.turn, gold.c.code).where(gold.c.dialogue.in_(list(joint)))
    known = {tuple(row) for row in transaction.run(asked)}
    new = [one.model_dump() for one in found if (one.dialogue, one.turn, one.code) not in known]
    transaction.run(delete(pairs).where(pairs.c.dialogue.in_(list(joint))))
    transaction.run(insert(pairs), [{"dialogue": name, "pair": pair} for name, pair in joint.items()])
    if new:
        transaction.run(insert(gold), [{**row, "at_ms": transaction.now_ms} for row in new])
        transaction.log(actor, "gold.bring_in", f"{len(new)} questions", sha256=sha256_of(canonical(new)))
