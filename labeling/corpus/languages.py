"""The language of a dialogue, by py3langid (97 languages, its model comes with the package).

On all corpora of the project it agrees with the declared language in all but a handful of dialogues of
20 letters or more (2026-11-21); shorter text keeps the declared language.
"""

from __future__ import annotations

MIN_LETTERS = 20
"""Below this a guess is worth nothing: ``hello`` passes for Breton."""
SAMPLE = 300
"""Characters looked at; more changes nothing and takes longer."""


def language_of(text: str, declared: str) -> str:
    """ISO 639-1 code of the language that `text` is in; `declared` where it is too short to tell."""
    import py3langid

    sample = text[:SAMPLE]
    if sum(char.isalpha() for char in sample) < MIN_LETTERS:
        return declared
    return str(py3langid.classify(sample)[0])
