"""The masked view of a dialogue for labelers, and the conversion of findings to and from it.

The store keeps offsets into the original text. Accounts that may not review get the masked text, unless the
project is not masked: findings that they send are converted to offsets of the original, and their own answers
are converted back when they read them.

Masking a long dialogue takes seconds, so the view is stored in ``masked_views``, with the masked words
(reasons, rewrites) of the newest verdict. A view is deleted with its dialogue and valid only for the masking
rules that made it. `prepare_view` makes it outside of any transaction; without it the view is made at each
access and not stored.
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
from dialint.detector.masking import MaskedSpan, MaskedText, mask_dialogue, mask_words
from dialint.detector.records import Dialogue, Finding, Verdict
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.audit import canonical_json
from dialint.labeling.store.database.schema import masked_views
from dialint.labeling.store.database.transactions import Store, Transaction, upsert
from dialint.labeling.store.dialogues import load_dialogue, load_verdict
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, DialogueMissing, Project, StoreRefused

LONG_CHARS = 20_000
"""A dialogue this long is masked when it is imported; a shorter one when it is first claimed, in up to 0.16 s
(8 us a character, 2026-11-28)."""
_VIEW = select(masked_views).where(
    masked_views.c.dialogue == bindparam("id"), masked_views.c.rules == bindparam("its_rules")
)


@dataclass(frozen=True)
class MaskedView:
    """A dialogue as `stored` and masked, with the masked text of each turn, by the turn's index. `words` maps
    texts about the dialogue (reasons, rewrites) to their masked form, as far as they were masked before."""

    stored: Dialogue
    dialogue: Dialogue
    texts: Mapping[int, MaskedText]
    words: dict[str, str] = field(default_factory=dict)
    is_stored: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, dialogue: Dialogue) -> MaskedView:
        """The view of a dialogue as it is stored."""
        masked, texts = mask_dialogue(dialogue)
        by_turn = {turn.index: text for turn, text in zip(dialogue.turns, texts, strict=True)}
        return cls(dialogue, masked, by_turn)

    def unmask_finding(self, finding: Finding) -> Finding:
        """Convert a finding in masked text to one in the original. A span that touches a placeholder covers
        all that it replaces; the quote keeps the placeholder.

        Raises:
            StoreRefused: the quote does not match the masked text at its offsets.
        """
        masked = self.texts.get(finding.turn)
        if masked is None or finding.quote != _cut(masked, finding.start, finding.end):
            raise StoreRefused(
                "E_FINDING", "the quote does not stand at its place in turn {turn}", turn=finding.turn
            )
        start, end = masked.to_original(finding.start, finding.end)
        quote = _cut(masked, *masked.from_original(start, end))
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    def mask_findings(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Convert findings in the original to findings in masked text, with masked reasons and rewrites.
        Findings outside of the dialogue's text are left out."""
        converted = [each for each in map(self._mask_span, findings) if each is not None]
        words = self.mask_words(_reasons_and_rewrites(converted))
        return tuple(
            each.model_copy(
                update={
                    "reason": words.get(each.reason, ""),
                    "rewrite": words[each.rewrite] if each.rewrite else each.rewrite,
                }
            )
            for each in converted
        )

    def _mask_span(self, finding: Finding) -> Finding | None:
        masked = self.texts.get(finding.turn)
        if masked is None:
            return None
        start, end = masked.from_original(finding.start, finding.end)
        quote = _cut(masked, start, end)
        if quote is None:
            return None
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    def mask_words(self, words: Sequence[str]) -> Mapping[str, str]:
        """Map texts about the dialogue to their masked form, those that were masked before as well."""
        masked_words = {each: each for each in self.words.values()} | self.words  # masking is idempotent
        new = list(dict.fromkeys(each for each in words if each not in masked_words))
        return masked_words | mask_words(self.stored, new) if new else masked_words


def _cut(masked: MaskedText, start: int, end: int) -> str | None:
    """The masked text at ``[start, end)``; none if that is not within the text."""
    return masked.text[start:end] if end <= len(masked.text) else None


def _reasons_and_rewrites(findings: Sequence[Finding]) -> list[str]:
    return [text for each in findings for text in (each.reason, each.rewrite) if text]


@cache
def hash_masking_rules() -> str:
    """Fingerprint of everything that decides how a dialogue is masked: the files of
    `dialint.detector.masking`, and the versions of the libraries that recognise phone and document
    numbers."""
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
    """Store the view of a dialogue, with the words of its newest verdict, unless it is stored already or
    there is no such dialogue. It is masked outside of the transaction that writes."""

    def load(transaction: Transaction) -> tuple[MaskedView, Verdict | None] | None:
        if load_dialogue(transaction, name) is None:
            return None
        view, verdict = load_view(transaction, name), load_verdict(transaction, name)
        return None if _is_complete(view, verdict) else (view, verdict)

    if (made := store.read(load)) is None:
        return
    row = _to_row(*made)

    def save(transaction: Transaction) -> None:
        if load_dialogue(transaction, name) is not None:  # masking took a while: it may have been erased
            upsert(transaction, masked_views, row)

    store.write(save, repeatable=True)


def keep_view(transaction: Transaction, view: MaskedView, verdict: Verdict | None) -> None:
    """Store a view with the words of the verdict, unless it is stored already."""
    if not _is_complete(view, verdict):
        upsert(transaction, masked_views, _to_row(view, verdict))


def _is_complete(view: MaskedView, verdict: Verdict | None) -> bool:
    """Whether a view is stored with all words of the verdict."""
    words = () if verdict is None else _reasons_and_rewrites(verdict.findings)
    return view.is_stored and view.words.keys() >= set(words)


def _to_row(view: MaskedView, verdict: Verdict | None) -> dict[str, Any]:
    words = [] if verdict is None else _reasons_and_rewrites(verdict.findings)
    masked = {each: text for each, text in view.mask_words(words).items() if each in words}
    return {
        "dialogue": view.stored.id,
        "rules": hash_masking_rules(),
        "content": _to_json(view),
        "words": canonical_json(masked),
    }


def refresh_long_views(store: Store, names: Sequence[str]) -> None:
    """Update the stored views of those of the dialogues that are long, after new verdicts on them."""
    length = func.length(masked_views.c.content)
    long = select(masked_views.c.dialogue).where(masked_views.c.dialogue.in_(names), length >= LONG_CHARS)
    for name in store.read(lambda transaction: list(transaction.run(long).scalars())):
        prepare_view(store, name)


def _to_json(view: MaskedView) -> str:
    """Masked turns and sources in order, each turn with its spans; turns without a span are left out. The
    masked names and arguments of calls stand apart, by the position of their turn."""
    turns = [
        [
            position,
            text.text,
            [
                [span.start, span.end, span.original_start, span.original_end, span.kind]
                for span in text.spans
            ],
        ]
        for position, text in enumerate(view.texts.values())
        if text.spans
    ]
    calls = [
        [position, [[call.name, call.arguments] for call in turn.tool_calls]]
        for position, turn in enumerate(view.dialogue.turns)
        if turn.tool_calls
    ]
    content = {"turns": turns, "sources": view.dialogue.sources}
    return canonical_json(content | {"calls": calls} if calls else content)


def _load_stored(transaction: Transaction, dialogue: Dialogue) -> MaskedView | None:
    """The stored view of a dialogue, if the present masking rules made it."""
    row = transaction.run(_VIEW, {"id": dialogue.id, "its_rules": hash_masking_rules()}).one_or_none()
    if row is None:
        return None
    content: dict[str, Any] = json.loads(row.content)
    masked = {
        position: MaskedText(text, tuple(MaskedSpan(*span) for span in spans))
        for position, text, spans in content["turns"]
    }
    calls = dict(content.get("calls", ()))
    texts = {
        turn.index: masked.get(position) or MaskedText(turn.text, ())
        for position, turn in enumerate(dialogue.turns)
    }
    turns = tuple(
        turn.model_copy(
            update={
                "text": texts[turn.index].text,
                "tool_calls": tuple(
                    call.model_copy(update={"name": name, "arguments": arguments})
                    for call, (name, arguments) in zip(turn.tool_calls, calls.get(position, ()), strict=True)
                ),
            }
        )
        if position in masked or position in calls
        else turn
        for position, turn in enumerate(dialogue.without_edits().turns)
    )
    masked_dialogue = dialogue.model_copy(
        update={"turns": turns, "sources": tuple(content["sources"]), "masked": True}
    )
    return MaskedView(dialogue, masked_dialogue, texts, json.loads(row.words), is_stored=True)


def load_view(transaction: Transaction, name: str) -> MaskedView:
    """The view of a dialogue in the store: the stored one, or one made now.

    Raises:
        DialogueMissing: there is no such dialogue.
    """
    dialogue = load_dialogue(transaction, name)
    if dialogue is None:
        raise DialogueMissing("E_DIALOGUE", "there is no such dialogue; it may have been erased")
    return _load_stored(transaction, dialogue) or MaskedView.of(dialogue)


def view_for_account(
    transaction: Transaction, account: Account, project: Project | None, dialogue: str
) -> MaskedView | None:
    """The view of a stored dialogue for the account, in a project or outside of any; none if the account may
    see the original. A view that had to be made is stored, in a write transaction."""
    if has_permission(account, "review") or (project is not None and not project.masked):
        return None
    view = load_view(transaction, dialogue)
    if transaction.writes:
        keep_view(transaction, view, load_verdict(transaction, dialogue))
    return view


def unmask_findings(view: MaskedView | None, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Convert findings in the text of `view` to findings in the original; without a view they are unchanged.

    Raises:
        StoreRefused: a quote does not match the masked text at its offsets.
    """
    return tuple(findings) if view is None else tuple(map(view.unmask_finding, findings))


def mask_annotation(
    account: Account, view: MaskedView | None, task: int | None, answer: Annotation
) -> Annotation:
    """Mask an answer to `task` for the account, which reads the dialogue in `view`."""
    if task is not None and not has_permission(account, "review"):
        answer = answer.model_copy(update={"dialogue_id": task_alias(task)})
    return (
        answer
        if view is None
        else answer.model_copy(update={"findings": view.mask_findings(answer.findings)})
    )


def task_alias(task: int) -> str:
    """The id that labelers get in place of a dialogue's id, which may reveal its origin."""
    return f"task-{task}"
