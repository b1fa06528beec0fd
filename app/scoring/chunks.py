"""From a stream of records to verdicts, a number of dialogues at a time that fits in memory.

Chunks depend on the input and on the size alone, so that a resumed job makes the same ones.
Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dialint.detector.detectors import Detector
from dialint.detector.ingest.outcomes import Loaded, Reject
from dialint.detector.records import Dialogue, Finding, NotJudged, Severity, Verdict
from dialint.detector.taxonomy import Taxonomy

MAX_CHUNK_CHARACTERS = 1_000_000
"""Text of all turns at which a chunk ends early: a record alone may have eight times as much, and 128 of
them would not fit in memory."""


def chunked(
    records: Iterable[Loaded | Reject],
    size: int,
    limit: int | None,
    on_load: Callable[[Loaded], None],
    on_reject: Callable[[Reject], None],
) -> Iterator[list[Loaded]]:
    """Groups of `size` dialogues, or fewer with `MAX_CHUNK_CHARACTERS` of text, the last one smaller; stops
    after `limit` dialogues."""
    chunk: list[Loaded] = []
    taken = characters = 0
    for record in records:
        if isinstance(record, Reject):
            on_reject(record)
            continue
        on_load(record)
        chunk.append(record)
        taken += 1
        characters += _characters(record)
        if len(chunk) == size or characters >= MAX_CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
        if taken == limit:
            break
    if chunk:
        yield chunk


@dataclass(frozen=True)
class Keep:
    """Which findings are reported. `codes` are whole codes; empty means all."""

    codes: frozenset[str]
    severities: frozenset[Severity]
    taxonomy: Taxonomy

    def __call__(self, verdict: Verdict) -> Verdict:
        """The verdict with only the findings that are reported, its quality derived from these."""
        kept = tuple(finding for finding in verdict.findings if self._wanted(finding))
        gaps = tuple(gap for gap in map(self._asked, verdict.not_judged) if gap.codes or gap.check_only)
        if len(kept) == len(verdict.findings) and gaps == verdict.not_judged:
            return verdict
        quality = self.taxonomy.quality(kept) if verdict.status == "scored" else None
        if verdict.status == "not_judged":
            gaps = gaps or verdict.not_judged
        changed = {"findings": kept, "quality": quality, "not_judged": gaps}
        return Verdict.model_validate({**dict(verdict), **changed})

    def _asked(self, gap: NotJudged) -> NotJudged:
        """What was not judged of the codes that are reported."""
        if not self.codes:
            return gap
        codes, check_only = (
            tuple(code for code in named if code in self.codes) for named in (gap.codes, gap.check_only)
        )
        return gap.model_copy(update={"codes": codes, "check_only": check_only})

    def _wanted(self, finding: Finding) -> bool:
        return finding.severity in self.severities and (not self.codes or finding.code in self.codes)


def selected_codes(names: Sequence[str], taxonomy: Taxonomy) -> frozenset[str]:
    """The codes that `names` mean: codes, whole categories, commas between them.

    Raises:
        ConfigError: a name the taxonomy does not have.
    """
    parts = [part for group in names for part in group.split(",")]
    return frozenset(code.code for part in parts for code in taxonomy.select(part))


def judged(
    detector: Detector, chunk: Sequence[Loaded], keep: Keep, *, all_probabilities: bool
) -> list[Verdict]:
    """One verdict for each dialogue of `chunk`, in order, filtered.

    Raises:
        RuntimeError: the detector broke its contract, a defect that must not pass as a clean log.
    """
    verdicts = detector.verdicts([one.dialogue for one in chunk], all_probabilities=all_probabilities)
    if [verdict.dialogue_id for verdict in verdicts] != [one.dialogue.id for one in chunk]:
        raise RuntimeError("the detector did not answer each dialogue once and in order")
    return [
        keep(verdict.model_copy(update=origin_of(one.dialogue)))
        for verdict, one in zip(verdicts, chunk, strict=True)
    ]


def origin_of(dialogue: Dialogue) -> dict[str, Any]:
    """What a verdict tells of who spoke where and when, as the log has it."""
    return {
        "agent": dialogue.agent,
        "team": dialogue.team,
        "channel": dialogue.channel,
        "started_at": dialogue.started_at,
    }


def longest(chunk: Sequence[Loaded]) -> str:
    """Id of the dialogue with most text."""
    return max(chunk, key=_characters).dialogue.id


def _characters(one: Loaded) -> int:
    return sum([len(turn.text) for turn in one.dialogue.turns])
