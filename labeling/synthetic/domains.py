"""Whether synthetic text fits a dialogue, and where: of its domain or of none, asking for nothing already
stated, at a place where a short exchange can stand.

A sentence about bins in a dialogue about coffee would be a topic jump, an error of another code, in the error
and in its twin alike. Decided by word lists alone; what the sentence says is not checked against the
facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from random import Random
from typing import TypeVar

from dialint.labeling.synthetic.dialogue_acts import asks_anything, is_closing, is_thanks
from dialint.labeling.synthetic.example_draft import ExampleDraft, shuffle
from dialint.labeling.synthetic.wordings import Texts, Wordings, render

_RULES = Wordings("rules/domains")
DOMAINS = _RULES.mapping("domains")
"""Patterns of each domain, matched at the start of a word."""

REQUEST_PATTERNS = _RULES.grammar("request_patterns")
"""By kind of detail, a pattern of requests for it, and one of texts that state it or asked for it before."""

Words = TypeVar("Words")

_ASKING = re.compile(
    r"\?|\b(?:please|pls|need|tell|give|send|may i|provide|confirm|let me have|state|spell|type|what)\b",
    re.IGNORECASE,
)

_NAME_MENTION = re.compile(
    r"\b(?:my|your|the) (?:first |full |last )?name\b|\bname is\b|\bthis is [A-Z]\w+|\bI(?:'?m| am) [A-Z]\w+"
    r"|\b(?:Mr|Mrs|Ms|Dr)\b|\[NAME|(?:^|[.!] )(?:Hi|Hello|Dear) [A-Z]\w+"
)

_BARE_ASK = 6
"""Words of a text that may be an ask without any verb."""

TRIES = 60
"""Default number of samples before a dialogue is given up."""

_DOMAIN_REGEXES = tuple(
    (name, re.compile(rf"\b(?:{words})", re.IGNORECASE)) for name, words in DOMAINS.items()
)

_REQUEST_REGEXES = tuple(
    (re.compile(request, re.IGNORECASE), re.compile(stated, re.IGNORECASE))
    for request, stated in REQUEST_PATTERNS.values()
)


@lru_cache(maxsize=1 << 15)
def domains_in(text: str) -> frozenset[str]:
    """The domains that the text speaks of; empty for words that fit any chat."""
    return frozenset(name for name, pattern in _DOMAIN_REGEXES if pattern.search(text))


def dialogue_domains(draft: ExampleDraft) -> frozenset[str]:
    """The domains that the dialogue speaks of."""
    return domains_in("\n".join((*(turn.text for turn in draft.turns), draft.domain)))


def asks_for_stated(words: str, draft: ExampleDraft, index: int) -> bool:
    """Whether the words ask for a detail that was stated before the turn at `index`."""
    if not _ASKING.search(words) and len(words.split()) > _BARE_ASK:
        return False
    patterns = [stated for ask, stated in _REQUEST_REGEXES if ask.search(words)]
    before = "\n".join(turn.text for turn in draft.turns[:index]) if patterns else ""
    return any(stated.search(before) for stated in patterns)


def names_somebody(draft: ExampleDraft) -> bool:
    """Whether somebody is named in the dialogue, so that any other name would be a wrong one."""
    return any(_NAME_MENTION.search(turn.text) for turn in draft.turns)


def sample_fitting(
    draft: ExampleDraft,
    rng: Random,
    sample_words: Callable[[], Words],
    texts: Callable[[Words], tuple[str, ...]],
    allowed: Callable[[Words], bool] = lambda words: True,
    anywhere: frozenset[str] = frozenset(),
    tries: int = TRIES,
) -> Words | None:
    """The first sample that is `allowed` and of which no text is of a domain foreign to the dialogue;
    the domains in `anywhere` fit everywhere. None after `tries` samples."""
    allowed_domains = dialogue_domains(draft) | anywhere
    for _ in range(tries):
        sample = sample_words()
        if all(domains_in(text) <= allowed_domains for text in texts(sample)) and allowed(sample):
            return sample
    return None


MIN_TURNS = 6
"""Turns of a dialogue that is long enough to hold a scene."""

Aspect = tuple[Texts, tuple[str, ...], Texts]
"""Questions, for each the numbers of its answers, and the answers; see the file."""

SIDE_QUESTIONS = Wordings("heldout/side_questions")
ASPECTS: dict[str, Aspect] = SIDE_QUESTIONS.records_by_name("aspects", "questions", "answered_by", "answers")


def scene_indexes(draft: ExampleDraft, rng: Random, last: bool = True) -> list[int]:
    """Indexes before a customer turn where the agent has just spoken and asked nothing, so that a scene
    opened by the customer fits in; inside the dialogue, not after leave was taken. In random order."""
    turns = draft.turns
    if len(turns) < MIN_TURNS:
        return []
    indexes = [
        index
        for index in range(2, len(turns))
        if turns[index].role == "customer"
        and turns[index - 1].role == "agent"
        and not turns[index - 1].touched
        and not turns[index].touched
        and not asks_anything(turns[index - 1].text)
        and not any(is_closing(turn.text) for turn in turns[:index])
        and (last or index + 2 < len(turns))
    ]
    return shuffle(indexes, rng)


def reply_indexes(draft: ExampleDraft, rng: Random, first: int = 1) -> list[int]:
    """Untouched agent turns right after an untouched customer turn that takes no leave, in random order."""
    turns = draft.turns
    indexes = [
        index
        for index in range(first, len(turns))
        if turns[index].role == "agent"
        and turns[index - 1].role == "customer"
        and not turns[index].touched
        and not turns[index - 1].touched
        and not is_closing(turns[index].text)
        and not (is_thanks(turns[index - 1].text) and "?" not in turns[index - 1].text)
    ]
    return shuffle(indexes, rng)


def sample_side_question(aspect: str, rng: Random) -> tuple[str, str]:
    """A question about the aspect, and an answer that does answer it."""
    questions, answered_by, answers = ASPECTS[aspect]
    which = rng.randrange(len(questions))
    fitting = answers[int(rng.choice(answered_by[which].split())) - 1]
    return render(questions[which], {}, rng), render(fitting, {}, rng)


def is_silent_on(pattern: str, texts: Iterable[str]) -> bool:
    """Whether none of the texts speaks of what the pattern (case ignored) means."""
    sought = re.compile(pattern, re.IGNORECASE)
    return not any(sought.search(text) for text in texts)
