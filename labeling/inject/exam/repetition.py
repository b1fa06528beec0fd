"""The same text again (M3): after a protest, as a canned answer twice, and lawfully when asked for."""

from __future__ import annotations

from random import Random

from dialint.labeling.inject.exam.staging import agent, as_agent, customer, pauses
from dialint.labeling.inject.exam.wordings.again import CANNED, CHASES, PARDONS, PRESSES, PROTESTS
from dialint.labeling.synthetic.draft import Draft, DraftTurn, Family, HardNegative, Made, Pool
from dialint.labeling.synthetic.insertion import spoken
from dialint.labeling.synthetic.places import plain, spliced, wrong

MIN_WORDS = 6


def _repeatable(draft: Draft, rng: Random) -> list[int]:
    """Pauses after a statement of the agent that is long enough to be told again."""
    return [place for place in pauses(draft, rng) if len(draft.turns[place - 1].text.split()) >= MIN_WORDS]


def _protested(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """The customer has understood and asks for something else; the twin's customer asks to hear it again."""
    for place in _repeatable(draft, rng):
        text = draft.turns[place - 1].text
        protest, pardon = (
            customer(spoken(rng.choice(words), {}, rng), draft) for words in (PROTESTS, PARDONS)
        )
        return Made(
            spliced(draft, place, place, (protest, _repeated(text, "M3.after-protest", protest))),
            spliced(draft, place, place, (pardon, plain("agent", text, "M3"))),
        )
    return None


def _canned(draft: Draft, rng: Random, pool: Pool) -> Made | None:
    """A side matter gets one canned answer twice; the twin's customer asks once and gets it once."""
    for place in pauses(draft, rng):
        words = as_agent(spoken(rng.choice(CANNED), {}, rng), draft)
        chase, press = (customer(spoken(rng.choice(each), {}, rng), draft) for each in (CHASES, PRESSES))
        again = _repeated(words, "M3.canned-twice", press)
        return Made(
            spliced(draft, place, place, (chase, agent(words, draft), press, again)),
            spliced(draft, place, place, (chase, plain("agent", words, "M3"))),
        )
    return None


def _repeated(text: str, family: str, before: DraftTurn) -> DraftTurn:
    """The text again; what was asked before it is passed over too."""
    return wrong(text, family, *(("M3", "C1") if "?" in before.text else ("M3",)))


def _asked(draft: Draft, rng: Random, pool: Pool) -> Draft | None:
    """Told again because the customer asked for it."""
    for place in _repeatable(draft, rng):
        pardon = customer(spoken(rng.choice(PARDONS), {}, rng), draft)
        again = plain("agent", draft.turns[place - 1].text, "M3")
        return spliced(draft, place, place, (pardon, again))
    return None


FAMILIES = (
    Family("M3", "M3.after-protest", _protested, "exam"),
    Family("M3", "M3.canned-twice", _canned, "exam"),
)
NEGATIVES = (HardNegative("M3", "M3.not-on-request", _asked, "exam"),)
