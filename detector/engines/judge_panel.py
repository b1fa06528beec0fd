"""Several judges that vote: each reads every dialogue, and the mean of what they list counts.

The votes of a question go to the judges in turn; a second look is the first judge's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialint.detector.artifacts import fingerprint
from dialint.detector.judge.engine import JudgeEngine, JudgeReply, JudgeRequest


class JudgePanel:
    """Judges as one `JudgeEngine`. A judge that is gone stops the job, as a single one does."""

    def __init__(self, judges: Sequence[JudgeEngine]) -> None:
        self.judges = tuple(judges)
        self.name = "+".join(judge.name for judge in judges)
        self.fingerprint = fingerprint([judge.fingerprint for judge in judges])
        self.is_remote = any(judge.is_remote for judge in judges)
        self.max_prompt_tokens = min(judge.max_prompt_tokens for judge in judges)
        self.notes = tuple(dict.fromkeys(note for judge in judges for note in judge.notes))

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Return the tokens of a chat for the judge to which it is the longest."""
        return max(judge.count_tokens(messages) for judge in self.judges)

    def spell(self, text: str) -> str:
        """Return JSON without the control tokens of any of the judges."""
        for judge in self.judges:
            text = judge.spell(text)
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        """Return the reply to each request of the judge whose vote it is; raises as its judges do."""
        replies: dict[int, JudgeReply] = {}
        for number, judge in enumerate(self.judges):
            own = [n for n, request in enumerate(requests) if request.vote % len(self.judges) == number]
            votes = [replace(requests[n], vote=requests[n].vote // len(self.judges)) for n in own]
            replies.update(zip(own, judge.ask(votes) if votes else (), strict=True))
        return [replies[n] for n in range(len(requests))]

    def close(self) -> None:
        """Close all judges."""
        for judge in self.judges:
            judge.close()
