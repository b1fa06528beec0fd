"""Later mentions of names that the same dialogue announced somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dialint.detector.masking.lexicon import COMMON_WORDS, GIVEN_NAMES, NAMES_TOO, NOT_NAMES, PARTICLES
from dialint.detector.masking.spans import Found
from dialint.detector.masking.view import View

_WORD = re.compile(r"(?<![\w@.])[^\W\d_]+(?:['-](?!s(?!\w))[^\W\d_]+)*(?![\w@])")
"""Without an 's at the end: Anna's parcel tells Anna's name."""
_SENTENCE_START = re.compile(r"(?:^|[.!?\n])\W{0,4}$")


class KnownNames:
    """The words of the names `keys`, sure ones and those that are common words too ("Will", "Park")."""

    def __init__(self, keys: Iterable[str]) -> None:
        words = {word for key in keys for word in key.split()}
        self.sure = {
            word for word in words if len(word) > 2 and word not in COMMON_WORDS | NOT_NAMES | PARTICLES
        }
        self.words = words


def find_mentions(view: View, known: KnownNames) -> Iterator[Found]:
    """Capitalised mentions in `view`, neighbouring words as one. A given name that is also a common
    word counts by itself only where it does not begin a sentence; a surname that is one, never."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(view.low):
        if word[0] not in known.words or not view.text[word.start()].isupper():
            continue
        if run and view.low[run[-1].end() : word.start()].strip(" "):
            yield from _mention(view, run, known)
            run = []
        run.append(word)
    yield from _mention(view, run, known)


def _mention(view: View, run: list[re.Match[str]], known: KnownNames) -> Iterator[Found]:
    words = [word[0] for word in run]
    if not words:
        return
    if not (known.sure & set(words) or len(words) > 1):
        start = run[0].start()
        if words[0] not in GIVEN_NAMES | NAMES_TOO or _SENTENCE_START.search(
            view.low, max(0, start - 4), start
        ):
            return
    yield Found(run[0].start(), run[-1].end(), "NAME", " ".join(words))
