"""Whether an agent of a corpus repeats himself rightly, so that the dialogue may count as clean.

Errs towards no: a dialogue too few in the clean data costs less than an error that is called clean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from dialint.detector.checks import same_text_again
from dialint.detector.records import Dialogue, Turn
from dialint.labeling.inject.draft import DraftTurn
from dialint.labeling.inject.places import is_closing

MIN_WORDS = 6
"""Words of the shortest agent turn that counts as said twice."""

_CHANGE = re.compile(
    r"\b(?:instead|how about|what about|another|different|change|try|for my|second one|next one)\b", re.I
)


_OPEN = re.compile(r"\b(?:what|which|when|where|whom?|how (?:many|long)|name|number)\b[^.!]{0,500}\?", re.I)


def repeats_rightly(turns: Sequence[DraftTurn], looked_up: Collection[int] = ()) -> bool | None:
    """Whether what the agent says word for word again was called for each time: a new round of questions,
    a changed request, a new number, or words that come twice by nature. None if nothing is repeated.

    Agent turns of `looked_up` tell what a system answered since the customer last spoke: the same words
    are another answer then.

    In doubt it was not: of unlawful repeats the exact check finds the plain ones only.
    """
    talk = Dialogue(id="d", turns=tuple(Turn(index=i, role=t.role, text=t.text) for i, t in enumerate(turns)))
    places = repeated(turns)
    if not places:
        return None
    if any(hit.turn not in looked_up for hit in same_text_again(talk)):
        return False
    return all(_called_for(turns, before, place, place in looked_up) for before, place in places)


def repeated(turns: Sequence[DraftTurn]) -> list[tuple[int, int]]:
    """(Where the words were sent last, where they come again) for each agent turn that was sent before."""
    sent: dict[str, int] = {}
    found = []
    for place, turn in enumerate(turns):
        words = re.findall(r"[a-z]+", turn.text.lower())
        if turn.role == "agent" and len(turn.text.split()) >= MIN_WORDS:
            key = " ".join(words)
            if key in sent:
                found.append((sent[key], place))
            sent[key] = place
    return found


def _called_for(turns: Sequence[DraftTurn], before: int, place: int, looked_up: bool) -> bool:
    between, text = turns[before + 1 : place], turns[place].text
    said = [turn.text for turn in between if turn.role == "customer"]
    if not said:
        return False
    if looked_up or is_closing(text) or "anything else" in text.lower():
        return True
    asked = any(turn.role == "agent" and re.search(r"\?|__", turn.text) for turn in between)
    heard = set(re.findall(r"\w+", " ".join(turn.text for turn in turns[: before + 1]).lower()))
    new = set(re.findall(r"(?<!\w)(?:(?=[^\W\d]*+\d)\w++|\w+day\b)", said[-1].lower())) - heard
    changed = bool(new or _CHANGE.search(said[-1]))
    if "?" in text and _OPEN.search(text):
        return bool(_CHANGE.search(said[-1]))  # an open question that was answered is not asked again
    return (asked and len(said[-1]) > 2) or ("?" not in text and changed)
