"""How many tokens a chat has at most, where the tokenizer is not at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MESSAGE_TOKENS = 8
"""What a chat template puts around a message."""
MARGIN = 1.02
MOST = 8.0
"""A server's count that is higher than so many times the estimate is not believed."""


class TokenEstimate:
    """Estimates by characters; `factor` grows by what servers count.

    The first estimate holds for the tokenizers of today's models and for English with a small vocabulary of
    8,192 (2026-11-23); small vocabularies need half as many again for Cyrillic, which the first counts show.
    """

    def __init__(self) -> None:
        self.factor = 1.0

    def of_chat(self, messages: Sequence[Mapping[str, str]]) -> int:
        """Tokens of a chat, with what its template adds."""
        return int(self.factor * sum(map(_message_tokens, messages))) + 1

    def believe(self, messages: Sequence[Mapping[str, str]], counted: int) -> int:
        """A server's count of a chat; 0, as if it did not count, where it cannot be one."""
        return counted if counted <= MOST * sum(map(_message_tokens, messages)) else 0

    def learn(self, messages: Sequence[Mapping[str, str]], counted: int) -> None:
        """Takes in that a server counted so many tokens of a chat."""
        self.factor = min(MOST, max(self.factor, MARGIN * counted / sum(map(_message_tokens, messages))))


def _message_tokens(message: Mapping[str, str]) -> float:
    text = message["content"]
    size = len(text.encode("utf-8", "replace"))
    letters = sum(map(text.count, "abcdefghijklmnopqrstuvwxyz ETAOINSR"))
    foreign = sum(not char.isascii() for char in text) if size > len(text) else 0
    return (
        MESSAGE_TOKENS
        + letters / 3
        + 0.9 * (len(text) - letters - foreign)
        + (size - len(text)) * 0.75
        + foreign * 0.25
    )
