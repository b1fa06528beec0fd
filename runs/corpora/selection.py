"""Selects the dialogues of all corpora: quality, copies, group and split; counts what was dropped, by reason.

Quality is length, encoding, both sides present, repetition, machine output recorded as speech, and abuse.
`RUDE` matches swearing and insults: from an agent it is what dialint detects, so it is never a reason. `VILE`
matches slurs and sexual talk: from a customer, with nothing else of use beside it, a reason to leave a
dialogue out. Both patterns expect lower case, cover the languages of the corpora and do not detect rudeness
in general. Does not check labels or correctness; reads and writes no file.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sources import SOURCES, CorpusDialogue

from dialint.detector.languages import detect_language
from dialint.detector.near_duplicates import (
    NEAR_DUPLICATE,
    RELATED,
    group_names,
    near_pairs,
    shingles,
    words,
)

RUDE = re.compile(
    r"\b(?:idiots?|idiotic|morons?|stupid|dumb(?:ass)?|imbeciles?|shut up|shut the|screw you|go to hell|"
    r"(?:mother)?fuck\w*|f\*+k?|bull?shit\w*|shit\w*|crap|damn(?:ed)?|bastards?|bitch\w*|ass+hole\w*|jerks?|"
    r"losers?|pathetic|are you (?:deaf|blind|crazy)|wtf|stfu|piss(?:ed)? off)\b|"
    r"\b(?:идиот\w*|дурак\w*|дура|тупой|тупая|заткни\w*|дерьм\w*|сволоч\w*|козёл|козел)\b|"
    r"傻[逼瓜子]|白痴|混蛋|滚蛋|他妈的|去死|垃圾客服"
)

VILE = re.compile(
    r"\b(?:nigg(?:er|a)s?|fag(?:got)?s?|kikes?|chinks?|spics?|trann(?:y|ies)|retard(?:ed|s)?|whores?|sluts?|"
    r"cunts?|blow ?jobs?|hand ?jobs?|porn\w*|horny|masturbat\w*|dildos?|vagina|penis|pussy|boobs|tits|"
    r"cumming|have sex|sex with|suck my|naked pic\w*|nudes)\b|"
    r"\b(?:пидор\w*|шлюх\w*|блядь|хуй\w*|пизд\w*|порно\w*)\b|"
    r"操你|鸡巴|婊子|色情"
)

MIN_TURNS, MAX_TURNS = 2, 120
MIN_WORDS, MAX_WORDS = 8, 8000
MAX_BROKEN = 0.005
"""Share of characters that are replacement marks, control codes or mojibake."""
MAX_REPEATED = 0.5
"""Share of the turns of five words or more that repeat an earlier turn."""
MAX_SQUEEZE = 8.0
"""Bytes of text over bytes of it deflated; a usual dialogue lies between 1.2 and 4."""
MAX_MACHINE = 0.25
"""Share of the turns that are code, markup or strings no person types."""
VILE_TURNS = 1 / 3
"""Share of the customer's turns from which the dialogue counts as vile."""
USEFUL_WORDS = 12
"""Fewer agent words than this beside vile talk are of no use."""

LIMITS = {
    "near": NEAR_DUPLICATE,
    "kin": RELATED,
    "turns": [MIN_TURNS, MAX_TURNS],
    "words": [MIN_WORDS, MAX_WORDS],
    "max_broken_share": MAX_BROKEN,
    "max_repeated_share": MAX_REPEATED,
    "max_squeeze": MAX_SQUEEZE,
    "max_machine_share": MAX_MACHINE,
    "vile_turns_share": round(VILE_TURNS, 3),
    "useful_words": USEFUL_WORDS,
}
"""The limits above, for a manifest."""

_BROKEN = re.compile(
    r"[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ue000-\uf8ff]|Ã[\x80-\xbf©¨¶¼¤§±³]|â€[™œ“”¦\x9d]?|Ð[\x80-\xbf]"
)
_MACHINE = re.compile(
    r"^\s*(?:[\[{]\s*[\"{\[]|<(?:html|div|\?xml|!doctype))|</\w+>|Traceback \(most recent|"
    r"\"(?:name|arguments|api|response)\"\s*:|[A-Za-z0-9+/=_-]{60,}|^\s*(?:Thought|Action|Observation):",
    re.IGNORECASE,
)


def rejection_reason(dialogue: CorpusDialogue) -> str | None:
    """Why the dialogue is left out, None if it is not: ``hidden``, ``one_sided``, ``short``, ``long``,
    ``encoding``, ``machine``, ``repetitive`` or ``vile``; the first that applies, in this order."""
    if dialogue.hidden:
        return "hidden"
    if not (dialogue.texts_by("agent") and dialogue.texts_by("customer")):
        return "one_sided"
    count = len(words(dialogue.text))
    if count < MIN_WORDS or len(dialogue.turns) < MIN_TURNS:
        return "short"
    if count > MAX_WORDS or len(dialogue.turns) > MAX_TURNS:
        return "long"
    broken = sum(len(match) for match in _BROKEN.findall(dialogue.text))
    if broken / max(1, len(dialogue.text)) > MAX_BROKEN:
        return "encoding"
    machine = sum(bool(_MACHINE.search(text)) for _, text in dialogue.turns)
    if machine / len(dialogue.turns) > MAX_MACHINE:
        return "machine"
    if _is_repetitive(dialogue):
        return "repetitive"
    return "vile" if _is_mostly_vile(dialogue) else None


def is_agent_rude(dialogue: CorpusDialogue) -> bool:
    """Whether the agent swears, insults or worse: an error to detect, so such dialogues are counted, not
    dropped."""
    return _has_rude_words(dialogue.texts_by("agent"))


def is_customer_rude(dialogue: CorpusDialogue) -> bool:
    """Whether the customer does; the agent's replies to that are useful training data."""
    return _has_rude_words(dialogue.texts_by("customer"))


def _has_rude_words(texts: list[str]) -> bool:
    text = "\n".join(texts).lower()
    return bool(RUDE.search(text) or VILE.search(text))


def _is_repetitive(dialogue: CorpusDialogue) -> bool:
    texts = [" ".join(tokens) for _, text in dialogue.turns if len(tokens := words(text)) >= 5]
    repeated = sum(count - 1 for count in Counter(texts).values())
    raw = dialogue.text.encode()
    squeeze = len(raw) / len(zlib.compress(raw, 6))
    return (len(texts) >= 4 and repeated / len(texts) > MAX_REPEATED) or squeeze > MAX_SQUEEZE


def _is_mostly_vile(dialogue: CorpusDialogue) -> bool:
    """Whether the customer talks vilely, the agent does not, and little else is in the dialogue."""
    customer = dialogue.texts_by("customer")
    vile = sum(bool(VILE.search(text.lower())) for text in customer)
    if not vile or is_agent_rude(dialogue):
        return False
    agent_words = sum(len(words(text)) for text in dialogue.texts_by("agent"))
    return vile / len(customer) >= VILE_TURNS or agent_words < USEFUL_WORDS


@dataclass(frozen=True)
class SelectedDialogue:
    """A dialogue to write; `group` is a hash, `split` one of train, heldout and measure."""

    dialogue: CorpusDialogue
    language: str
    group: str
    split: str


@dataclass(frozen=True)
class Selection:
    """The selected dialogues; per source, counts of them and of what was dropped, by reason."""

    dialogues: list[SelectedDialogue] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    dropped: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def select_dialogues(dialogues: Iterable[CorpusDialogue], languages: Sequence[str]) -> Selection:
    """Filter, find copies, group and split."""
    selection = Selection()
    good = _filter_quality(dialogues, languages, selection)
    groups, copies = _groups_and_copies([dialogue for dialogue, _ in good])
    for index, (dialogue, language) in enumerate(good):
        name = dialogue.source.name
        if index in copies:
            selection.dropped[name][copies[index]] += 1
            continue
        split = split_of(groups[index]) if dialogue.source.use == "train" else "measure"
        group = hashlib.sha256(groups[index].encode()).hexdigest()[:16]  # the name itself may hold text
        selection.dialogues.append(SelectedDialogue(dialogue, language, group, split))
        rude = {"rude_agents": is_agent_rude(dialogue), "rude_customers": is_customer_rude(dialogue)}
        selection.counts[name].update({"kept": 1, split: 1, **rude})
    return selection


def _filter_quality(
    dialogues: Iterable[CorpusDialogue], languages: Sequence[str], selection: Selection
) -> list[tuple[CorpusDialogue, str]]:
    good = []
    for dialogue in sorted(dialogues, key=_rank):
        source = dialogue.source
        language = detect_language(dialogue.text, source.language)
        selection.counts[source.name].update(read=1)
        reason = rejection_reason(dialogue)
        if reason is None and languages and language not in languages:
            reason = "language"
        if reason:
            selection.dropped[source.name][reason] += 1
        else:
            selection.counts[source.name].update(language_as_declared=language == source.language)
            good.append((dialogue, language))
    return good


def _rank(dialogue: CorpusDialogue) -> tuple[bool, int, int, str]:
    """Sort key; the first of several copies is selected: trainable, then the earlier source, the longer
    text."""
    source = dialogue.source
    return source.use != "train", SOURCES.index(source), -len(dialogue.text), dialogue.id


def _groups_and_copies(dialogues: Sequence[CorpusDialogue]) -> tuple[list[str], dict[int, str]]:
    """The group of every dialogue, and by index the kind of copy (``exact`` or ``near``).

    A near-copy is one of a selected dialogue: a chain of near-copies is not dropped as a whole.
    """
    first: dict[bytes, int] = {}
    copies: dict[int, str] = {}
    for index, dialogue in enumerate(dialogues):
        digest = hashlib.sha256(" ".join(words(dialogue.text)).encode()).digest()
        if first.setdefault(digest, index) != index:
            copies[index] = "exact"
    pairs = near_pairs([shingles(dialogue.text) for dialogue in dialogues], RELATED)
    for later, earlier, value in pairs:  # in order of the later one, so the earlier is decided
        if value >= NEAR_DUPLICATE and later not in copies and earlier not in copies:
            copies[later] = "near"
    keys = [dialogue.kin for dialogue in dialogues]
    return group_names(keys, ((later, earlier) for later, earlier, _ in pairs)), copies


HELD_OUT = 0.2
"""Share of the groups that is kept from training."""


def split_of(group: str) -> str:
    """Return train or heldout, by a hash of the group."""
    index = int.from_bytes(hashlib.sha256(group.encode()).digest()[:4]) / 2**32
    return "train" if index < 1 - HELD_OUT else "heldout"
