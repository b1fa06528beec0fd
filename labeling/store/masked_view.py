"""The masked view of a dialogue for labelers, and the conversion of findings to and from it.

The store keeps offsets into the original text. Accounts that may not review get the masked text, unless the
project is not masked: findings that they send are converted to offsets of the original, and their own answers
are converted back when they read them.

Masking takes 8 us a character (2026-11-28): each process caches the views that it made last. Nothing masked
is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from dialint.detector.masking import MaskedText, mask_dialogue, mask_words
from dialint.detector.records import Dialogue, Finding
from dialint.detector.tool_use import call_lines
from dialint.labeling.annotation import Annotation
from dialint.labeling.store.database.transactions import Transaction
from dialint.labeling.store.dialogues import load_content
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account, DialogueMissing, Project, StoreRefused

CACHED_VIEWS = 64


@dataclass(frozen=True)
class MaskedView:
    """A dialogue as `stored` and masked, with the masked text of each turn, by the turn's index. `words` maps
    texts about the dialogue (reasons, rewrites) to their masked form, as far as they were masked before."""

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

    def unmask_finding(self, finding: Finding) -> Finding:
        """Convert a finding in masked text to one in the original. A span that touches a placeholder covers
        all that it replaces; the quote keeps the placeholder.

        Raises:
            StoreRefused: the quote does not match the masked text at its offsets.
        """
        if finding.quote != self._cut(finding.turn, finding.start, finding.end):
            raise StoreRefused(
                "E_FINDING", "the quote does not stand at its place in turn {turn}", turn=finding.turn
            )
        if finding.turn in self._calls:
            return finding
        masked = self.texts[finding.turn]
        start, end = masked.to_original(finding.start, finding.end)
        quote = self._cut(finding.turn, *masked.from_original(start, end))
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    def mask_findings(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Convert findings in the original to findings in masked text, with masked reasons and rewrites.
        Findings outside of the dialogue's text are left out."""
        converted = [each for each in map(self._mask_span, findings) if each is not None]
        words = self.mask_words([text for each in converted for text in (each.reason, each.rewrite) if text])
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
        if finding.turn not in self.texts:
            return None
        start, end = finding.start, finding.end
        if finding.turn not in self._calls:
            start, end = self.texts[finding.turn].from_original(start, end)
        quote = self._cut(finding.turn, start, end)
        if quote is None:
            return None
        return finding.model_copy(update={"start": start, "end": end, "quote": quote})

    @cached_property
    def _calls(self) -> Mapping[int, tuple[str, ...]]:
        return {turn.index: calls for turn in self.dialogue.turns if (calls := call_lines(turn))}

    def _cut(self, turn: int, start: int, end: int) -> str | None:
        """Returns the masked text at ``[start, end)`` of the turn or its calls; none if that is not within
        them."""
        calls = self._calls.get(turn)
        if calls is not None:
            return "\n".join(calls[start:end]) if end <= len(calls) else None
        masked = self.texts.get(turn)
        return None if masked is None or end > len(masked.text) else masked.text[start:end]

    def mask_words(self, words: Sequence[str]) -> Mapping[str, str]:
        """Map texts about the dialogue to their masked form, those that were masked before as well."""
        if new := list(dict.fromkeys(each for each in words if each not in self.words)):
            masked_words = mask_words(self.stored, new)
            self.words.update({text: text for text in masked_words.values()} | masked_words)
        return self.words


@lru_cache(CACHED_VIEWS)
def _make_view(content: str) -> MaskedView:
    return MaskedView.of(Dialogue.model_validate_json(content))


def load_view(transaction: Transaction, name: str) -> MaskedView:
    """The view of a dialogue in the store.

    Raises:
        DialogueMissing: there is no such dialogue.
    """
    content = load_content(transaction, name)
    if content is None:
        raise DialogueMissing("E_DIALOGUE", "there is no such dialogue; it may have been erased")
    return _make_view(content)


def view_for_account(
    transaction: Transaction, account: Account, project: Project | None, dialogue: str
) -> MaskedView | None:
    """The view of a stored dialogue for the account, in a project or outside of any; none if the account may
    see the original."""
    if has_permission(account, "review") or (project is not None and not project.masked):
        return None
    return load_view(transaction, dialogue)


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
    if view is not None:
        answer = answer.model_copy(update={"findings": view.mask_findings(answer.findings)})
    return answer


def task_alias(task: int) -> str:
    """The id that labelers get in place of a dialogue's id, which may reveal its origin."""
    return f"task-{task}"
