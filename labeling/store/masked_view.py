"""What a labeler sees of a dialogue: personal data as placeholders; and findings, both ways.

The store keeps offsets into the original text. Who may not review gets the masked one, unless the project
says otherwise: what they send speaks of that text and becomes offsets of the original, what they read
back of their own answers goes the other way. A dialogue is masked anew at each look; no masked text is
kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from detector.masking import MaskedText, mask_dialogue
from detector.records import Dialogue, Finding
from labeling.annotation import Annotation
from labeling.store.database.refusals import StoreRefused
from labeling.store.database.transactions import Transaction
from labeling.store.dialogues import content_of
from labeling.store.projects import existing
from labeling.store.records import Account
from labeling.store.rights import may


@dataclass(frozen=True)
class MaskedView:
    """A dialogue as it is `stored`, masked, and what was masked in each turn, by the turn's index."""

    stored: Dialogue
    dialogue: Dialogue
    texts: Mapping[int, MaskedText]

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
        about = self._about([said for each in placed for said in (each.reason, each.rewrite) if said])
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

    def _about(self, words: Sequence[str]) -> dict[str, str]:
        """Words about the dialogue and their masked form: who is named in it is known in them. They are
        masked as its sources are, of which one without a blank would be taken for an id."""
        if not words:
            return {}
        sources = tuple(f"{each} " for each in words)
        told = self.stored.model_copy(update={"sources": (*sources, *self.stored.sources)})
        masked = mask_dialogue(told)[0].sources
        return {each: after.removesuffix(" ") for each, after in zip(words, masked, strict=False)}


def _cut(masked: MaskedText, start: int, end: int) -> str | None:
    """The masked words at ``[start, end)``; none if that is not within the text."""
    return masked.text[start:end] if end <= len(masked.text) else None


def _reworded(finding: Finding, words: Mapping[str, str]) -> Finding:
    rewrite = words[finding.rewrite] if finding.rewrite else finding.rewrite
    return finding.model_copy(update={"reason": words.get(finding.reason, ""), "rewrite": rewrite})


def view_for(
    transaction: Transaction, account: Account, project: str | None, dialogue: str
) -> MaskedView | None:
    """The view through which the account sees a stored dialogue in a project, or outside of any; none if it
    sees the original."""
    if may(account, "review") or (project is not None and not existing(transaction, project).masked):
        return None
    content = content_of(transaction, dialogue)
    assert content is not None, "a foreign key"
    return MaskedView.of(content)


def originals(view: MaskedView | None, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings by who sees the dialogue through `view`, as the store keeps them.

    Raises:
        StoreRefused: a quote does not stand at its place.
    """
    return tuple(findings) if view is None else tuple(map(view.original, findings))


def told(account: Account, view: MaskedView | None, task: int | None, answer: Annotation) -> Annotation:
    """An answer to `task` as the account may read it, who sees the dialogue through `view`."""
    if task is not None and not may(account, "review"):
        answer = answer.model_copy(update={"dialogue_id": alias(task)})
    return answer if view is None else answer.model_copy(update={"findings": view.shown(answer.findings)})


def alias(task: int) -> str:
    """What labelers are told in the place of a dialogue's id, which may tell where it is from."""
    return f"task-{task}"
