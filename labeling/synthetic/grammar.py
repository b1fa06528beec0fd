"""L2: grammar broken in the agent's own words by rules, or in whole sentences that are put in broken.

The clean twin is the same turn unbroken, the sentence in its right form, or the same slip in the
customer's mouth, which is nobody's fault. One mark for each place where error and twin part; where a word
is missing, the mark is on its neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from dialint.labeling.synthetic.domains import reply_indexes, sample_fitting
from dialint.labeling.synthetic.example_draft import (
    DraftTurn,
    ErrorPair,
    ExampleDraft,
    Family,
    HardNegative,
    Mark,
    Pool,
    Use,
    add_words,
    clean_turn,
    match_agent_style,
    shuffle,
    splice,
    untouched_agent_turns,
)
from dialint.labeling.synthetic.insertion import (
    apply_style,
    edit_turn,
    end_with_stop,
    insert_text,
    is_nothing_due,
    open_agent_turns,
    open_replies,
    sample_heldout_placement,
    sample_placement,
    sample_style,
)
from dialint.labeling.synthetic.resolution import NODS
from dialint.labeling.synthetic.wordings import Wordings, expand, render, resolve_choices

_TRAIN = Wordings("train/grammar")
BROKEN = _TRAIN.grammar("broken")
CHATTY = _TRAIN.texts("chatty")
QUOTES = _TRAIN.texts("quotes")

_HELDOUT = Wordings("heldout/grammar")
FOREIGN = _HELDOUT.texts("foreign")
HURRIED = _HELDOUT.texts("hurried")
UNUSUAL = _HELDOUT.texts("unusual")

_RULES = Wordings("rules/grammar")
OWN_WORDS = _RULES.pairs("own_words", "pattern", "becomes")
"""What a hurried or foreign writer makes of words that are there; ``@`` is for the first letter of "Are"."""


@dataclass(frozen=True)
class Rule:
    """`pattern` is a regular expression, case ignored; `becomes` are templates of which one is taken. Each
    leaves something that no native editor would let stand."""

    pattern: str
    becomes: tuple[str, ...]


def _read_rules(table: str) -> dict[str, tuple[Rule, ...]]:
    """Rules by mechanism."""
    rules = Wordings("rules/grammar_rules").records_by_group(table, "pattern", "becomes")
    return {name: tuple(Rule(*record) for record in group) for name, group in rules.items()}


RULES, DEV_RULES = _read_rules("train"), _read_rules("dev")
HOMOPHONES = _read_rules("homophones")["homophone"]
"""Rules that put a word in the place of another that sounds alike."""

CUSTOMER_SHARE = 0.3
"""Share of twins in which the customer makes the slip, where his words allow it."""


def rule_family(code: str, name: str, rules: tuple[Rule, ...], use: Use = "train") -> Family:
    """The family of errors that `rules` make; "<code>.<name>"."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        for index in shuffle(untouched_agent_turns(draft), rng):
            text = draft.turns[index].text
            order = list(rules)
            rng.shuffle(order)
            for rule in order:
                if done := apply_rule(text, rule, rng):
                    mark = Mark(code, f"{code}.{name}", done[1], done[2])
                    error = draft.with_turn(index, DraftTurn("agent", done[0], (mark,), touched=True))
                    return ErrorPair(error, _twin(draft, index, order, code, rng))
        return None

    return Family(code, f"{code}.{name}", make, use)


def _twin(draft: ExampleDraft, index: int, rules: list[Rule], code: str, rng: Random) -> ExampleDraft:
    """The draft with the turn at `index` as it was, at times with a customer who slips instead."""
    clean = draft.with_turn(index, clean_turn("agent", draft.turns[index].text, code))
    if rng.random() >= CUSTOMER_SHARE:
        return clean
    customers = [i for i, turn in enumerate(draft.turns) if turn.role == "customer" and not turn.touched]
    for other in shuffle(customers, rng):
        for rule in rules[:12]:
            if done := apply_rule(draft.turns[other].text, rule, rng):
                return clean.with_turn(other, clean_turn("customer", done[0]))
    return clean


def apply_rule(text: str, rule: Rule, rng: Random) -> tuple[str, int, int] | None:
    """One match of the rule rewritten, and where the new words stand; None if there is no match."""
    matches = list(re.finditer(rule.pattern, text, re.IGNORECASE))
    if not matches:
        return None
    match = rng.choice(matches)
    new = match.expand(rng.choice(rule.becomes))
    if match[0][0].isupper():
        new = _recased(new, match[0].split()[0])
    if new.lower() == match[0].lower() or not new.strip():
        return None
    start = match.start()
    return text[:start] + new + text[match.end() :], start, start + len(new.rstrip())


def _recased(new: str, first: str) -> str:
    """`new` with a capital at its start, and none on the word `first` if that has moved inwards."""
    if first != "I" and not first.startswith("I'"):
        new = re.sub(rf"(?<=\s){re.escape(first)}\b", first.lower(), new)
    return new[:1].upper() + new[1:]


_BRACKET = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")

_NEXT = re.compile(r"\s*[^\s.,?!]*")

APART = 0.25
"""Share of sentences that make a turn of their own, where no answer of the agent's is due."""

_SLIPS = {
    "L1": Wordings("train/spelling").texts("customer"),
    "L2": _TRAIN.texts("customer"),
}
"""Sentences of customers with a slip, by code."""


@dataclass(frozen=True)
class Sentence:
    """A sentence and the offsets, end exclusive, of its brackets."""

    text: str
    spans: tuple[tuple[int, int], ...]


def both_forms(template: str, rng: Random) -> tuple[Sentence, Sentence]:
    """The broken and the right form of a template, the same choices taken in both."""
    template = resolve_choices(template, rng)
    return _form(template, 1), _form(template, 2)


def _form(template: str, side: int) -> Sentence:
    """One side of every bracket, single-spaced, with a capital at the start."""
    text, spans, at = "", [], 0
    for match in _BRACKET.finditer(template):
        text = _grown(text, template[at : match.start()])
        start = len(_grown(text, match[side])) - len(match[side])
        text = _grown(text, match[side])
        spans.append((max(0, start), len(text)))
        at = match.end()
    text = _grown(text, template[at:])
    return Sentence(text[:1].upper() + text[1:], tuple(_widened(text, start, end) for start, end in spans))


def _grown(text: str, more: str) -> str:
    if not text or text.endswith(" "):
        more = more.lstrip(" ")
    if more[:1] in (".", ",", "?", "!") and more:
        text = text.rstrip(" ")
    return text + more


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without spaces at its ends or, where nothing is left, the words to both sides of it."""
    start, end = min(start, len(text)), min(end, len(text))
    if not text[start:end].strip():
        start -= len(text[:start]) - len(text[:start].rstrip().rpartition(" ")[0])
        end += len(_NEXT.match(text[end:])[0])  # type: ignore[index]  # it matches the empty string too
    core = text[start:end].strip(" .,?!")
    start = text.index(core, start)
    return start, start + len(core)


def sentence_family(code: str, name: str, lines: tuple[str, ...]) -> Family:
    """The family whose errors are the brackets of `lines`."""
    family = f"{code}.{name}"

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = open_agent_turns(draft)
        forms = sample_fitting(
            draft, rng, lambda: both_forms(rng.choice(lines), rng), lambda two: (two[1].text,)
        )
        if not indexes or forms is None:
            return None
        bad, good = forms
        apart = [index for index in open_replies(draft) if is_nothing_due(draft, index)]
        if apart and "?" not in good.text and rng.random() < APART:
            return _apart(draft, rng.choice(apart), forms, family, rng)
        index = rng.choice(indexes)
        turn = draft.turns[index]
        style = sample_style(turn.text, rng, sample_placement(draft, index, rng))
        text, at, end = insert_text(turn.text, bad.text, style)
        error = draft.with_turn(index, _broken(text, bad, at, end, family))
        twin = draft.with_turn(index, clean_turn("agent", insert_text(turn.text, good.text, style)[0], code))
        return ErrorPair(error, _blamed(twin, code, rng))

    return Family(code, family, make)


def _broken(text: str, sentence: Sentence, at: int, end: int, family: str) -> DraftTurn:
    """An agent turn in which `said` stands from `at` to `end`, every bracket marked."""
    code = family.partition(".")[0]
    marks = tuple(Mark(code, family, at + a, min(at + b, end)) for a, b in sentence.spans if at + a < end)
    return DraftTurn("agent", text, marks, touched=True)


def _apart(
    draft: ExampleDraft, index: int, forms: tuple[Sentence, Sentence], family: str, rng: Random
) -> ErrorPair:
    """The sentence as a turn of its own before the turn at `index`, and the customer's nod."""
    style = sample_style(draft.turns[index].text, rng, "instead")
    bad, good = (apply_style(form.text, style) for form in forms)
    nod = clean_turn("customer", apply_style(render(rng.choice(NODS), {}, rng), style))
    error = _broken(bad, forms[0], 0, len(bad), family)
    twin = clean_turn("agent", good, family.partition(".")[0])
    return ErrorPair(splice(draft, index, index, (error, nod)), splice(draft, index, index, (twin, nod)))


def _blamed(twin: ExampleDraft, code: str, rng: Random) -> ExampleDraft:
    """The twin; one time in five the customer says a broken sentence in it, which is no agent's error."""
    customers = [i for i, turn in enumerate(twin.turns) if turn.role == "customer" and not turn.touched]
    if not customers or rng.random() >= 0.2:
        return twin
    index = rng.choice(customers)
    text = twin.turns[index].text
    broken = both_forms(rng.choice(_SLIPS[code]), rng)[0].text
    return twin.with_turn(
        index, clean_turn("customer", insert_text(text, broken, sample_style(text, rng, "after"))[0])
    )


def right_negative(code: str, name: str, lines: tuple[str, ...]) -> HardNegative:
    """Unusual but right sentences beside or instead of an agent's own."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        indexes = open_agent_turns(draft)
        line = sample_fitting(draft, rng, lambda: rng.choice(lines), lambda text: (text,))
        if not indexes or line is None:
            return None
        index = rng.choice(indexes)
        text = draft.turns[index].text
        style = sample_style(text, rng, sample_placement(draft, index, rng))
        return draft.with_turn(index, clean_turn("agent", insert_text(text, line, style)[0], code))

    return HardNegative(code, f"{code}.not-{name}", make)


def quoted_negative(code: str) -> HardNegative:
    """The agent quotes a broken sentence that the customer wrote."""

    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        for index in shuffle(open_agent_turns(draft), rng):
            if not index or draft.turns[index - 1].role != "customer" or draft.turns[index - 1].touched:
                continue
            words = both_forms(rng.choice(_SLIPS[code]), rng)[0].text.rstrip(".?!")
            question = draft.turns[index - 1].text
            lead = rng.choice(QUOTES).replace("@words", words)
            made = draft.with_turn(
                index - 1,
                clean_turn("customer", insert_text(question, words, sample_style(question, rng, "after"))[0]),
            )
            return made.with_turn(index, clean_turn("agent", f"{lead} {draft.turns[index].text}", code))
        return None

    return HardNegative(code, f"{code}.not-quoted", make)


Slipped = tuple[str, int, int]
"""The changed text, and where in it the new words begin and end."""
_BRACES = re.compile(r"\{([^{}=]*)=>([^{}]*)\}")

_OWN_RULES = tuple((re.compile(pattern), new) for pattern, new in OWN_WORDS)


def replace_span(text: str, start: int, end: int, new: str) -> Slipped:
    return text[:start] + new + text[end:], start, start + len(new)


def _own_words(text: str, rng: Random) -> Slipped | None:
    """Words of the turn itself, as a hurried or foreign writer leaves them."""
    applicable = [(rule, new) for rule, new in _OWN_RULES if rule.search(text)]
    if not applicable:
        return None
    rest = [
        each for each in applicable if each[0] is not _OWN_RULES[0][0]
    ]  # a word typed twice fits anywhere
    rule, new = rng.choice(rest if rest and rng.random() < 0.75 else applicable)
    match = rng.choice(list(rule.finditer(text)))
    made = match.expand(new).replace("@", "A" if match[0][0].isupper() else "a")
    tail = re.match(r"\A\w+", text[match.end() :]) if made.endswith(" ") else None
    changed, start, end = replace_span(text, match.start(), match.end(), made)
    return changed, start, end + (tail.end() if tail else 0)


def _hasty(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
    for index in shuffle(open_agent_turns(draft), rng):
        turn = draft.turns[index]
        if slipped := _own_words(turn.text, rng):
            text, start, end = slipped
            error = draft.with_turn(
                index, edit_turn(turn, text, Mark("L2", "L2.hurried-own-words", start, end))
            )
            return ErrorPair(error, draft.with_turn(index, clean_turn("agent", turn.text, "L2")))
    return None


def _heldout_forms(template: str, rng: Random) -> tuple[str, str, int, int]:
    """The wrong sentence, the right one, and heldout_where the slip is in the wrong one."""
    text = expand({"say": (template,)}, rng)
    slip = _BRACES.search(text)
    if slip is None:
        raise ValueError(f"no slip in {template!r}")
    head, tail = text[: slip.start()], text[slip.end() :]
    return head + slip[1] + tail, head + slip[2] + tail, len(head), len(head) + len(slip[1])


def _sentence(name: str, templates: tuple[str, ...]) -> Family:
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ErrorPair | None:
        indexes = open_agent_turns(draft)
        if not indexes:
            return None
        index = rng.choice(indexes)
        turn = draft.turns[index]
        bad, good, begin, end = _heldout_forms(rng.choice(templates), rng)
        style = sample_style(turn.text, rng, sample_heldout_placement(draft, index, rng))
        text, start, _ = insert_text(turn.text, end_with_stop(bad, style), style)
        mark = Mark("L2", f"L2.{name}", start + begin, start + end)
        right = insert_text(turn.text, end_with_stop(good, style), style)[0]
        return ErrorPair(
            draft.with_turn(index, edit_turn(turn, text, mark)),
            draft.with_turn(index, clean_turn("agent", right, "L2")),
        )

    return Family("L2", f"L2.{name}", make, "heldout")


def added_negative(code: str, name: str, words: tuple[str, ...]) -> HardNegative:
    def make(draft: ExampleDraft, rng: Random, pool: Pool) -> ExampleDraft | None:
        for index in reply_indexes(draft, rng):
            own = DraftTurn("agent", draft.turns[index].text)
            turn = add_words(own, match_agent_style(rng.choice(words), draft), first=rng.random() < 0.5)
            return draft.with_turn(index, clean_turn("agent", turn.text, code))
        return None

    return HardNegative(code, f"{code}.not-{name}", make, "heldout")


FAMILIES: tuple[Family, ...] = (
    *(rule_family("L2", name, rules) for name, rules in RULES.items()),
    *(rule_family("L2", name, rules, use="dev") for name, rules in DEV_RULES.items()),
    *(sentence_family("L2", name, lines) for name, lines in BROKEN.items()),
    _sentence("calque", FOREIGN),
    _sentence("hurried-rewrite", HURRIED),
    Family("L2", "L2.hurried-own-words", _hasty, "heldout"),
)
NEGATIVES: tuple[HardNegative, ...] = (
    right_negative("L2", "chatty", CHATTY),
    quoted_negative("L2"),
    added_negative("L2", "elliptic-or-bookish", UNUSUAL),
)
