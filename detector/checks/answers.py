"""What an answer owes to the customer's last turns: a word on stated distress, an answer, no leave before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dialint.detector.checks.calls import raw_tool_call
from dialint.detector.checks.context import (
    CheckContext,
    CustomerTurns,
    Evidence,
    Hit,
    check,
    customer_turns,
)
from dialint.detector.checks.repeats import same_text_again
from dialint.detector.checks.words import content, find_phrases, has_phrase, sentences, split_words, words_of
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue

_CLAUSE = re.compile(r"[,;:\n–—]|[.!?]+(?=\s|\Z)|\s-\s")
MAX_COURTESY = 8
"""Most words of a clause that is a courtesy."""
MAX_CALL = 2
"""Most words of a question that only calls for attention, or is a tag."""
MAX_LEAVE = 12
"""Most words of a clause that takes leave."""
MAX_NEW = 2
"""Most content words of a clause about what is known that are new."""
MAX_BEFORE = 5
"""Most words of a clause before its wish."""
MAX_REST = 6
"""Most words of a sentence after what is asked or reported."""
SAME_WORDS = 0.8
"""Least share of words of a question that is put again."""


@dataclass(frozen=True)
class Reply:
    """What agents say between two turns of the customer: his turns before and after, the messages, at least
    one, and whether agents say nothing more."""

    before: CustomerTurns
    turns: tuple[Turn, ...]
    after: CustomerTurns
    is_last: bool

    @property
    def text(self) -> str:
        """The messages, with line feeds between."""
        return "\n".join(turn.text for turn in self.turns)

    def hit(self, why: str, code: str, turn: Turn | None = None) -> Hit:
        """Return a hit on one of the messages, or the last one."""
        turn = turn or self.turns[-1]
        start = len(turn.text) - len(turn.text.lstrip())
        return Hit(turn.index, start, len(turn.text.rstrip()), why, code)


@per_dialogue
def replies(dialogue: Dialogue) -> list[Reply]:
    """Return what agents say between the customer's turns; text that only a machine reads is none."""
    raw = {hit.turn for hit in raw_tool_call(dialogue)}
    groups: list[tuple[CustomerTurns, list[Turn]]] = []
    for turn, before in zip(dialogue.turns, customer_turns(dialogue), strict=True):
        if turn.role not in JUDGED_ROLES or not turn.text.strip():
            continue
        if not groups or groups[-1][0] is not before:
            groups.append((before, []))
        groups[-1][1].append(turn)
    last = groups[-1][1][-1].index if groups else 0
    rest = tuple(t for t in dialogue.turns if t.index > last and t.role == "customer" and t.text.strip())
    befores = [before for before, _ in groups[1:]] + [CustomerTurns(rest)]
    return [
        Reply(before, tuple(turns), after, turns is groups[-1][1])
        for (before, turns), after in zip(groups, befores, strict=False)
        if not any(turn.index in raw for turn in turns)
    ]


@check(L4=Evidence())
def cut_message(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a message that ends in the middle of a sentence, with a word that another must follow (L4)."""
    for reply in replies(dialogue):
        turn = reply.turns[-1]
        words = split_words(turn.text)
        if words and has_phrase(words[-1], "never_last") and turn.text.rstrip()[-1:].isalpha():
            yield reply.hit("the message breaks off", "L4")


@check(T2=Evidence(15, 19))
def ignores_distress(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an answer to a distress that the customer states of himself, without a word that acknowledges it
    (T2)."""
    for reply in replies(dialogue):
        stated = next((each for each in reply.before.turns if states_distress(each.text)), None)
        if stated is not None and not has_phrase(reply.text, "acknowledges"):
            why = f"the customer states distress in turn {stated.index}, and the answer passes over it"
            yield reply.hit(why, "T2", reply.turns[0])


@check(C1=Evidence(9, 11), C2=Evidence(), R1=Evidence(4, 4))
def passes_over_question(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an answer to a question that greets, thanks or takes leave and says nothing beside, that the
    customer calls none, or whose question he puts again in the same words (C1; C2 after several questions; R1
    if it takes leave last); and a leave over what is asked, requested or reported last (R1).

    The last rule has no hit in 5,533 real dialogues, most of which have no such error; of dialogues written
    for it by others it finds 39 of 50 errors, and accuses none of 50 correct ones (2026-11-29)."""
    repeated = {hit.turn for hit in same_text_again(dialogue)}  # that is M3, whatever else is wrong with it
    said = set[str]()
    for reply in replies(dialogue):
        if reply.turns[-1].index in repeated:
            continue
        asked = next((turn for turn in reversed(reply.before.turns) if requests(turn.text)), None)
        said |= content(reply.before.text) | numbers(split_words(reply.before.text))
        is_open = is_left_open(reply, said)
        said |= content(reply.text) | numbers(split_words(reply.text))
        if is_open:
            why = f"what is asked or reported in turn {reply.before.turns[-1].index} is passed over"
            yield reply.hit(f"{why}, and the agent takes leave", "R1")
            continue
        if asked is None:
            continue
        why = f"what is asked in turn {asked.index} is passed over"
        asking, after, own = requests(asked.text), reply.after.turns, content(reply.text)
        last = clauses(asking[-1])[-1]
        is_end = reply.is_last and not any(has_phrase(turn.text, "customer_closings") for turn in after)
        leaves = is_end and {phrase for _, phrase in find_phrases(reply.text, "closings")} - words_of(
            "no_leave"
        )
        is_agreed = not has_phrase(last, "open_questions") and has_phrase(reply.text, "agrees")
        if not is_agreed and not content(last) & own and is_courtesy(reply.text):
            yield reply.hit(f"{why}: a courtesy alone", "R1" if leaves else "C1")
        elif after and has_phrase(after[0].text, "not_answered"):
            yield reply.hit(f"{why}, as the customer says next", "C1")
        elif after and any(is_put_again(each, after[0].text) and not content(each) & own for each in asking):
            yield reply.hit(f"{why}: the customer asks it again", "C2" if len(asking) > 1 else "C1")


def questions(text: str) -> list[str]:
    """Return the sentences of a text that end with a question mark, without mere calls ("Hello?")."""
    return [
        each
        for each in sentences(text)
        if "?" in each
        and content(each)
        and len(split_words(clauses(each)[-1])) > MAX_CALL
        and not has_phrase(each, "small_talk")
    ]


def requests(text: str) -> list[str]:
    """Return the questions of a text; without any its last sentence, if it wishes something or says that
    nothing has helped, and the customer does not take leave."""
    last = sentences(text)[-1:]
    is_open = not has_phrase(text, "customer_closings") and not has_phrase(text, "polite")
    is_request = any(len(content(each)) > 1 and asks_for(each) for each in last)
    return questions(text) or (last if is_open and is_request else [])


def asks_for(sentence: str) -> bool:
    """Return whether a sentence begins with a wish, or says that nothing has helped."""
    is_wish = any(start <= 2 for start, _ in find_phrases(sentence, "own_wishes"))
    return (is_wish and not has_phrase(sentence, "denials")) or has_phrase(sentence, "not_helped")


def clauses(text: str) -> list[str]:
    """Return the parts of a text between commas, dashes and ends of sentences."""
    return [part.strip() for part in _CLAUSE.split(text) if split_words(part)]


def is_courtesy(text: str) -> bool:
    """Return whether each clause of a text greets, thanks or takes leave, with few words beside; one word, a
    name, may stand alone behind one."""
    is_polite = False
    for part in clauses(text):
        n_known = max((len(phrase.split()) for _, phrase in find_phrases(part, "pleasantries")), default=0)
        if len(split_words(part)) > (int(is_polite), 3, MAX_COURTESY)[min(n_known, 2)]:
            return False
        is_polite |= n_known > 0
    return is_polite and not any(letter.isdigit() or letter == "?" for letter in text)


def is_put_again(question: str, text: str) -> bool:
    """Return whether a text has a question of the same words; "anything else?" is another one each time."""
    own = content(question)
    if len(own) < 2 or has_phrase(question, "another"):
        return False
    return any(
        len(own & content(each)) >= SAME_WORDS * max(len(own), len(content(each))) for each in questions(text)
    )


def is_left_open(reply: Reply, said: set[str]) -> bool:
    """Return whether the last reply takes leave, and beside that has only content words of what was `said`
    before, while the customer's last sentence, but for a courtesy or a few words, asks, requests or reports a
    fault."""
    turns = reply.before.turns
    is_last = reply.is_last and not any(
        has_phrase(each.text, "customer_closings") for each in reply.after.turns
    )
    if not turns or not is_last or "?" in reply.text or not has_phrase(reply.text, "farewells"):
        return False
    parts = [each for each in sentences(turns[-1].text) if split_words(each)]
    while len(parts) > 1 and not is_open_matter(parts[-1]) and len(split_words(parts[-1])) <= MAX_REST:
        rest = parts.pop()
        if has_phrase(rest, "settled") or (has_phrase(rest, "customer_closings") and "?" not in parts[-1]):
            return False
    if not parts or not is_open_matter(parts[-1]) or has_phrase(parts[-1], "settled"):
        return False
    last = clauses(parts[-1])[-1]
    is_topic = has_phrase(last, "topic")
    asked = content(last if is_topic else parts[-1])
    known = said - asked
    n_new = MAX_NEW if is_topic or not has_phrase(parts[-1], "open_questions") else 0
    for n, clause in enumerate(clauses(reply.text)):
        words = split_words(clause)
        is_leave = has_phrase(clause, "farewells") and len(words) <= MAX_LEAVE
        goes_on = words[0] in words_of("goes_on")
        is_name = n > 0 and len(words) <= MAX_CALL and (clause[0].isupper() or len(words) == 1)
        is_beside = is_courtesy(clause) or is_known(content(clause), known, n_new)
        is_rest = (goes_on or is_name or is_beside) and not has_phrase(clause, "takes_up")
        if numbers(words) - said or not (is_leave or is_rest):
            return False
    return not asked & content(reply.text)


def numbers(words: list[str]) -> set[str]:
    """Return the words with digits."""
    return {word for word in words if any(map(str.isdigit, word))}


def is_open_matter(sentence: str) -> bool:
    """Return whether a sentence of a customer asks, requests or reports a fault."""
    words = split_words(sentence)
    if not content(sentence) or has_phrase(sentence, "small_talk"):
        return False
    if "?" in sentence:
        return bool(questions(sentence)) or has_phrase(sentence, "faults")
    is_agreed = has_phrase(words[0], "agrees")
    return not has_phrase(sentence, "customer_closings") and (
        has_phrase(words[0], "open_questions")
        or (
            not is_agreed
            and any(
                start <= MAX_BEFORE
                for part in clauses(sentence)
                for start, _ in find_phrases(part, "open_wishes")
            )
        )
        or has_phrase(sentence, "faults")
        or has_phrase(sentence, "not_helped")
        or (has_phrase(words[0], "contrasts") and has_phrase(words[-1], "denials"))
    )


def is_known(own: frozenset[str], known: set[str], n_new: int) -> bool:
    """Return whether content words are known but for `n_new`; a clause without any is so."""
    return len(own - known) <= n_new and (bool(own & known) or not own)


NEAR = 4
"""Most words between who feels and what is felt."""


def states_distress(text: str) -> bool:
    """Return whether a customer states distress of himself, neither denied nor in jest."""
    for sentence in sentences(text):
        if has_phrase(sentence, "in_jest"):
            continue
        selves, denials = (
            [start for start, _ in find_phrases(sentence, name)] for name in ("of_self", "denials")
        )
        for name in ("feelings", "calamities"):
            for place, _ in find_phrases(sentence, name):
                is_own = name == "calamities" or any(0 < place - start <= NEAR for start in selves)
                if is_own and not any(0 < place - start <= NEAR for start in denials):
                    return True
    return False


MAX_BEFORE_GREETING = 1
"""Most words of the customer before his greeting."""


@check(T4=Evidence(35, 36, "suggestion"))
def missing_greeting(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a first message of the agent, up to the customer's next turn, that does not return the customer's
    greeting (T4). A dialogue that the agent's side begins is left alone.

    Of 36 hits drawn from six corpora 35 were right (2026-11-29). They only suggest: 442 of 1,122 dialogues of
    STAR have one, and a greeting matters little to most teams."""
    greeted = False
    first: Turn | None = None
    for turn in dialogue.turns:
        if turn.is_unseen or not turn.text.strip():
            continue
        if turn.role == "customer" and greeted:
            if first is not None:
                break
        elif turn.role == "customer":
            greeted = any(
                place <= MAX_BEFORE_GREETING
                for place, _ in find_phrases(turn.text[:MAX_OPENING], "greetings")
            )
            if not greeted:
                return
        elif turn.role in JUDGED_ROLES:
            if not greeted or has_phrase(turn.text[:MAX_OPENING], "greetings"):
                return
            first = first or turn
    if first is not None:
        start = len(first.text) - len(first.text.lstrip())
        sentence = next(iter(sentences(first.text)), "")
        yield Hit(first.index, start, start + len(sentence), "the customer's greeting is not returned")


MAX_OPENING = 300
"""Characters of a turn in which a greeting is looked for."""
