"""Makes ``detector/languages.npz`` of py3langid's model, for the languages of ``detector/languages.yaml``.

    python runs/language_model.py

To be run when a language is added, or for a newer model. py3langid's table of the moves of its automaton
takes .5 s and 60 MB to load; here each state has a name, the bytes that lead to it, from which
`detector/languages.py` derives a move at its first use.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import numpy as np
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from dialint.detector import languages


def main() -> None:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(languages._table()))
    states, waiting = {0: b""}, deque([0])
    while waiting:
        state = waiting.popleft()
        start = identifier.tk_row[state] << 8
        for letter, after in enumerate(identifier.tk_nextmove[start : start + 256]):
            if after not in states:
                states[after] = states[state] + bytes((letter,))
                waiting.append(after)
    names = sorted((text, state) for state, text in states.items())
    np.savez_compressed(
        Path(languages.__file__).with_suffix(".npz"),
        names=np.frombuffer(b"\xff".join(text for text, _ in names), np.uint8),
        rows=np.array([identifier.tk_output[state] for _, state in names], np.int32),
        weights=identifier.nb_ptc,
        prior=identifier.nb_pc,
        codes=np.array(identifier.nb_classes),
    )


if __name__ == "__main__":
    main()
