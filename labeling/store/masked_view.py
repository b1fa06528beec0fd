"""The masked view of a dialogue for labelers, and the conversion of findings to and from it.

The store keeps offsets into the original text. Who may not review gets the masked one, unless the project
says otherwise: what they send speaks of that text and becomes offsets of the original, what they read
back of their own answers goes the other way.

Masking a long dialogue takes seconds, so what came of it is kept in ``masked_views``, beside the words that
the newest verdict says of the dialogue. A view goes with its dialogue, and holds only for the rules that made
it: under others it is made anew. `prepare_view` makes it outside of every transaction; where nobody called it
the view is made at each look and not kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from sqlalchemy import bindparam, func, select

import dialint.detector.masking
from dialint.detector.masking import MaskedSpan, MaskedText, mask_dialogue
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import masked_views
from dialint.labeling.store.database.transactions import Store, Transaction, upsert
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.errors import StoreRefused
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.projects import get_project
from dialint.labeling.store.records import Account

LONG_CHARS = 100_000
"""A dialogue this long is masked when it is brought in; a shorter one when it is first claimed."""
_VIEW = select(masked_views).where(
    masked_views.c.dialogue == bindparam("id"), masked_views.c.rules == bindparam("its_rules")
)


@dataclass(frozen=True)
class MaskedView:
    """A dialogue as it is `stored`, masked, and what was masked in each turn, by the turn's index. `words`
    are what was masked before of what is said about it."""

    stored: Dialogue
    dialogue: Dialogue
    texts: Mapping[int, MaskedText]
    words: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, dialogue: Dialogue) -> MaskedView:
        """The view of a dialogue as it is stored."""
        masked, texts = mask_dialogue(dialogue)
        by_turn = {turn.index: text for turn, text in zip(dialogue.turns, texts, strict=True)}
        return cls(dialogue, masked, by_turn)

    def original(self, finding: Finding) -> Finding:
        """A finding in masked text as one in the original. What touches a placeholder covers all that it
        stands for; in the quote it stays a placeholder, as everywhere.

        Raises:
            StoreRefused: the quote does not stand at its place.
        """
        masked = self.texts.get(finding.turn)
        if masked is None or finding.quote != _cut(masked, finding.start, finding.end):
            raise StoreRefused("E_FINDING", f"the quote does not stand at its place in turn {finding.turn}")
        start, end = masked.to_original(finding.start, finding.end)
        quote = _cut(masked, *masked.from_original(start, end))
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    def shown(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Findings in the original as findings in masked text, their reasons and rewrites masked, too. One
        that lies outside of the dialogue has no place there and is left out."""
        placed = [each for each in map(self._placed, findings) if each is not None]
        about = self.about(_said(placed))
        return tuple(_reworded(each, about) for each in placed)

    def _placed(self, finding: Finding) -> Finding | None:
        masked = self.texts.get(finding.turn)
        if masked is None:
            return None
        start, end = masked.from_original(finding.start, finding.end)
        quote = _cut(masked, start, end)
        if quote is None:
            return None
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    def about(self, words: Sequence[str]) -> Mapping[str, str]:
        """Words about the dialogue and their masked form: who is named in it is known in them. They are
        masked as its sources are, of which one without a blank would be taken for an id."""
        masked_words = {
            each: each for each in self.words.values()
        } | self.words  # masked again nothing changes
        new = list(dict.fromkeys(each for each in words if each not in masked_words))
        if not new:
            return masked_words
        sources = (*(f"{each} " for each in new), *self.stored.sources)
        masked = mask_dialogue(self.stored.model_copy(update={"sources": sources}))[0].sources
        return masked_words | {
            each: after.removesuffix(" ") for each, after in zip(new, masked, strict=False)
        }


def _cut(masked: MaskedText, start: int, end: int) -> str | None:
    """The masked words at ``[start, end)``; none if that is not within the text."""
    return masked.text[start:end] if end <= len(masked.text) else None


def _said(findings: Sequence[Finding]) -> list[str]:
    return [text for each in findings for text in (each.reason, each.rewrite) if text]


def _reworded(finding: Finding, words: Mapping[str, str]) -> Finding:
    rewrite = words[finding.rewrite] if finding.rewrite else finding.rewrite
    return finding.model_copy(update={"reason": words.get(finding.reason, ""), "rewrite": rewrite})


@cache
def masking_rules() -> str:
    """A fingerprint of all that decides how a dialogue is masked: the files of `dialint.detector.masking`,
    and the versions of the libraries that know numbers and documents."""
    digest = hashlib.sha256()
    for path, file in sorted(_files(files(dialint.detector.masking), "")):
        digest.update(f"{path}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    for library in ("phonenumbers", "python-stdnum"):
        digest.update(f"{library}={version(library)}\0".encode())
    return digest.hexdigest()


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files(each, f"{path}{each.name}/")
        elif not each.name.endswith(".pyc"):
            yield f"{path}{each.name}", each


def prepare_view(store: Store, name: str) -> None:
    """Keep the view of a dialogue, and of what the newest verdict says of it, if they are not kept yet. Shows
    nothing to anybody; where there is no such dialogue it does nothing."""
    dialogue, stored, verdict = store.read(lambda transaction: _known(transaction, name))
    words = [] if verdict is None else _said(verdict.findings)
    if dialogue is None or (stored is not None and stored.words.keys() >= set(words)):
        return
    view = stored or MaskedView.of(dialogue)
    row = {
        "dialogue": name,
        "rules": masking_rules(),
        "content": _content(view),
        "words": canonical_json(
            {each: masked for each, masked in view.about(words).items() if each in words}
        ),
    }
    store.write(lambda transaction: upsert(transaction, masked_views, row), repeatable=True)


def refresh_long_views(store: Store, names: Sequence[str]) -> None:
    """`prepare_view` those of the dialogues whose view is kept and long: there is a new verdict on them."""
    length = func.length(masked_views.c.content)
    long = select(masked_views.c.dialogue).where(masked_views.c.dialogue.in_(names), length >= LONG_CHARS)
    for name in store.read(lambda transaction: list(transaction.run(long).scalars())):
        prepare_view(store, name)


def _known(transaction: Transaction, name: str) -> tuple[Dialogue | None, MaskedView | None, Verdict | None]:
    dialogue = load_dialogue(transaction, name)
    view = None if dialogue is None else _kept(transaction, dialogue)
    return dialogue, view, load_verdict(transaction, name)


def _content(view: MaskedView) -> str:
    """Masked turns and sources in order, each turn with its spans; turns without a span are left out."""
    turns = [
        [place, text.text, [[*_numbers(span), span.kind] for span in text.spans]]
        for place, text in enumerate(view.texts.values())
        if text.spans
    ]
    return canonical_json({"turns": turns, "sources": view.dialogue.sources})


def _numbers(span: MaskedSpan) -> tuple[int, int, int, int]:
    return span.start, span.end, span.original_start, span.original_end


def _kept(transaction: Transaction, dialogue: Dialogue) -> MaskedView | None:
    """The view that is kept of a dialogue, if the rules of today made it."""
    row = transaction.run(_VIEW, {"id": dialogue.id, "its_rules": masking_rules()}).one_or_none()
    if row is None:
        return None
    content: dict[str, Any] = json.loads(row.content)
    masked = {
        place: MaskedText(text, tuple(MaskedSpan(*span) for span in spans))
        for place, text, spans in content["turns"]
    }
    texts = {
        turn.index: masked.get(place) or MaskedText(turn.text, ())
        for place, turn in enumerate(dialogue.turns)
    }
    turns = tuple(
        turn.model_copy(update={"text": texts[turn.index].text}) if place in masked else turn
        for place, turn in enumerate(dialogue.without_edits().turns)
    )
    masked_dialogue = dialogue.model_copy(
        update={"turns": turns, "sources": tuple(content["sources"]), "masked": True}
    )
    return MaskedView(dialogue, masked_dialogue, texts, json.loads(row.words))


def load_view(transaction: Transaction, name: str) -> MaskedView:
    """The view of a dialogue that is in the store: the one that is kept, or one made now."""
    dialogue = load_dialogue(transaction, name)
    assert dialogue is not None, "a foreign key"
    return _kept(transaction, dialogue) or MaskedView.of(dialogue)


def view_for_account(
    transaction: Transaction, account: Account, project: str | None, dialogue: str
) -> MaskedView | None:
    """The view through which the account sees a stored dialogue in a project, or outside of any; none if it
    sees the original."""
    if has_permission(account, "review") or (
        project is not None and not get_project(transaction, project).masked
    ):
        return None
    return load_view(transaction, dialogue)


def unmask_findings(view: MaskedView | None, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings by who sees the dialogue through `view`, as the store keeps them.

    Raises:
        StoreRefused: a quote does not stand at its place.
    """
    return tuple(findings) if view is None else tuple(map(view.original, findings))


def mask_annotation(
    account: Account, view: MaskedView | None, task: int | None, answer: Annotation
) -> Annotation:
    """An answer to `task` as the account may read it, who sees the dialogue through `view`."""
    if task is not None and not has_permission(account, "review"):
        answer = answer.model_copy(update={"dialogue_id": task_alias(task)})
    return answer if view is None else answer.model_copy(update={"findings": view.shown(answer.findings)})


def task_alias(task: int) -> str:
    """What labelers are told in the place of a dialogue's id, which may tell where it is from."""
    return f"task-{task}"
