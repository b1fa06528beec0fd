"""Answers that lack a part: a word on stated distress, the requested answer or act, a greeting, their end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from dialint.detector.checks import CheckContext, Evidence, Hit, check
from dialint.detector.checks.calls import may_write
from dialint.detector.checks.claims import claims_undone_write, has_calls
from dialint.detector.checks.raw_text import raw_texts
from dialint.detector.checks.repeats import find_repeated
from dialint.detector.checks.values import name_words
from dialint.detector.checks.words import (
    content,
    find_phrases,
    has_phrase,
    patterns,
    sentences,
    split_words,
    trim,
    words_of,
)
from dialint.detector.policy import policy_for
from dialint.detector.records import JUDGED_ROLES, Dialogue, Turn
from dialint.detector.tool_use import per_dialogue, tool_uses

PATTERNS = patterns("answers")
_CLAUSE = re.compile(r"[,;:\n–—]|(?<![.!?])[.!?]++(?=\s|\Z)|\s-\s")
MAX_COURTESY = 8
"""Most words of a clause that is a courtesy."""
MAX_CALL = 2
"""Most words of a question that only calls for attention, or is a tag."""
MAX_TURNS = 50
"""Turns of a customer in a row that are read."""
MAX_AGAIN = 10
"""Most words of a request for what was left out."""
_LIST = re.compile(rf"[,;&]|\s(?:{'|'.join(words_of('joins'))})\s", re.IGNORECASE)
SAME_WORDS = 0.8
"""Least share of words of a question that is put again."""


@dataclass(frozen=True)
class Reply:
    """The messages of agents between two turns of the customer, at least one; with his turns before, at most
    `MAX_TURNS`, and after, and whether no message of agents follows."""

    before: tuple[Turn, ...]
    turns: tuple[Turn, ...]
    after: tuple[Turn, ...]
    is_last: bool

    @property
    def text(self) -> str:
        """The messages, with line feeds between."""
        return "\n".join(turn.text for turn in self.turns)

    def hit(self, why: str, code: str, turn: Turn | None = None) -> Hit:
        """Return a hit on one of the messages, or the last one."""
        turn = turn or self.turns[-1]
        return Hit(turn.index, *trim(turn.text), why, code)


@per_dialogue
def replies(dialogue: Dialogue) -> list[Reply]:
    """Return the replies of agents between the customer's turns, without text that only a machine reads."""
    raw = {hit.turn for hit in raw_texts(dialogue)}
    groups: list[tuple[tuple[Turn, ...], list[Turn]]] = []
    customer, has_agent_spoken = list[Turn](), False
    for turn in dialogue.turns:
        if not turn.text.strip():
            continue
        if turn.role == "customer":
            customer = [turn] if has_agent_spoken else [*customer[1 - MAX_TURNS :], turn]
            has_agent_spoken = False
        elif turn.role in JUDGED_ROLES:
            if not has_agent_spoken:
                groups.append((tuple(customer), []))
            groups[-1][1].append(turn)
            has_agent_spoken = True
    afters = [before for before, _ in groups[1:]] + [() if has_agent_spoken else tuple(customer)]
    return [
        Reply(before, tuple(turns), after, turns is groups[-1][1])
        for (before, turns), after in zip(groups, afters, strict=False)
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


@check(T2=Evidence(36, 51))
def ignores_distress(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an answer to a distress that the customer states of himself, without a word that acknowledges it,
    then or in an answer before (T2).

    Of 18 hits in 5,264 real dialogues 15 were right, of 33 in the written test set 21 (2026-11-29)."""
    is_acknowledged = False
    for reply in replies(dialogue):
        stated = next((each for each in reply.before if states_distress(each.text)), None)
        if stated is None or is_acknowledged:
            continue
        is_acknowledged = has_phrase(reply.text, "acknowledges") or has_phrase(reply.text, "feelings")
        if not is_acknowledged:
            why = f"the customer states distress in turn {stated.index}, and the answer passes over it"
            yield reply.hit(why, "T2", reply.turns[0])


@check(C1=Evidence(12, 18), C2=Evidence(), R1=Evidence(0, 1))
def passes_over_question(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an answer to a question that greets, thanks or takes leave and says nothing beside, that the
    customer calls none, or whose question he puts again in the same words (C1; C2 after several questions; R1
    if it takes leave last); and a leave after an answer to the rest of his turn (R1)."""
    repeated = {hit.turn for hit in find_repeated(dialogue)}  # that is M3, whatever else is wrong with it
    previous, last_text = "", ""
    for reply in replies(dialogue):
        previous, last_text = last_text, reply.text  # of the reply before
        if reply.turns[-1].index in repeated:
            continue
        request = next((turn for turn in reversed(reply.before) if requests(turn.text)), None)
        if request is None:
            continue
        why = f"what is asked in turn {request.index} is passed over"
        asking, after, own = requests(request.text), reply.after, content(reply.text)
        last = clauses(asking[-1])[-1]
        is_end = reply.is_last and not any(has_phrase(turn.text, "customer_closings") for turn in after)
        leaves = is_end and {phrase for _, phrase in find_phrases(reply.text, "closings")} - words_of(
            "no_leave"
        )
        is_agreed = not has_phrase(last, "open_questions") and has_phrase(reply.text, "agrees")
        if not is_agreed and not content(last) & own and is_courtesy(reply.text):
            yield reply.hit(f"{why}: a courtesy alone", "R1" if leaves else "C1")
        elif after and has_phrase(after[0].text, "not_answered") and not (own and own <= content(previous)):
            yield reply.hit(f"{why}, as the customer says next", "C1")
        elif after and any(is_put_again(each, after[0].text) and not content(each) & own for each in asking):
            yield reply.hit(f"{why}: the customer asks it again", "C2" if len(asking) > 1 else "C1")
        elif leaves and has_phrase(last, "topic") and answers_the_rest(reply, content(last)):
            yield reply.hit(f"{why}: the answer is to the rest of the turn", "R1")


@check(C2=Evidence(14, 15), languages=("en",))
def answers_in_part(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find an answer that gives one thing of a list and asks nothing back, where the customer next asks, in
    few words, for another thing of it (C2).

    All of MultiWOZ (2026-11-30): 14 of 15 right, read by the rule's author."""
    for reply in replies(dialogue):
        asks = questions(reply.text)
        if not reply.before or not reply.after or has_phrase(reply.text, "covers_all"):
            continue
        if asks and not has_phrase(asks[-1], "another"):
            continue
        own, after = content(reply.text), requests(reply.after[0].text)
        again = [content(each) for each in after if len(split_words(each)) <= MAX_AGAIN]
        lists = [list(map(content, _LIST.split(each))) for each in requests(reply.before[-1].text)]
        for thing, things in product(filter(own.isdisjoint, filter(None, again)), lists):
            if any(thing <= each for each in things) and any(
                each & own and thing.isdisjoint(each) for each in things
            ):
                yield reply.hit("the customer asks again for what the answer leaves out", "C2")
                break


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
        n_polite = max((len(phrase.split()) for _, phrase in find_phrases(part, "pleasantries")), default=0)
        if len(split_words(part)) > (int(is_polite), 3, MAX_COURTESY)[min(n_polite, 2)]:
            return False
        is_polite |= n_polite > 0
    return is_polite and not any(letter.isdigit() or letter == "?" for letter in text)


def is_put_again(question: str, text: str) -> bool:
    """Return whether a text has a question of the same words; "anything else?" is another one each time."""
    own = content(question)
    if len(own) < 2 or has_phrase(question, "another"):
        return False
    return any(
        len(own & content(each)) >= SAME_WORDS * max(len(own), len(content(each))) for each in questions(text)
    )


def answers_the_rest(reply: Reply, question: frozenset[str]) -> bool:
    """Return whether each sentence of a reply that is no courtesy has words of the customer's turns, and none
    has words of the question."""
    rest = content(" ".join(turn.text for turn in reply.before)) - question
    own = [each for each in sentences(reply.text) if not is_courtesy(each)]
    return (
        bool(own)
        and not question & content(reply.text)
        and all(content(each) & rest and "?" not in each for each in own)
        and not has_phrase(reply.text, "promises")
    )


NEAR = 4
"""Most words between who feels and what is felt."""


def states_distress(text: str) -> bool:
    """Return whether a customer states distress of himself, neither denied nor in jest nor over."""
    if has_phrase(text, "relieved"):
        return False
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


@check(T4=Evidence())
def missing_greeting(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find a first message of the agent, up to the customer's next turn, that does not return the customer's
    greeting though a source, a system turn or the policy speaks of greetings (T4). A dialogue that the
    agent's side begins is left alone.

    Of 36 hits without that condition 35 were right to readers who were asked (2026-11-29), but readers of
    whole dialogues listed none of 48 and one of 1,124. With it only that one of seven stays in the sample
    which its author labelled; the six corpora speak of no greetings."""
    policy = policy_for(dialogue, context.policies)
    rules = [clause.text for clause in policy.clauses] if policy else []
    rules += [*dialogue.sources, *(turn.text for turn in dialogue.turns if turn.role == "system")]
    if not any(has_phrase(rule, "greeting_rules") for rule in rules):
        return
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
        start, sentence = trim(first.text)[0], next(iter(sentences(first.text)), "")
        yield Hit(first.index, start, start + len(sentence), "the customer's greeting is not returned")


MAX_OPENING = 300
"""Characters of a turn in which a greeting is searched."""


_LAST_TURNS = 3
"""Turns of the agent before the end in which a refusal may stand."""


@check(R2=Evidence(16, 18, "suggestion"), languages=("en",))
def leaves_request_open(dialogue: Dialogue, context: CheckContext) -> Iterator[Hit]:
    """Find the end of a dialogue in which the customer asked for an act, no tool changed anything, and the
    agent neither refused nor handed over (R2); at the last turn of the agent.

    Silent where the customer withdrew, where the agent's last words are a question, where the agent writes
    calls that nobody runs (the cause, which is found itself: readers listed none of six, 2026-11-30), and
    where neither the dialogue nor the log holds calls of tools.

    Read on the once-half of tau_bench (2026-11-23): 16 of 18 right, .89 (.65 to .99), so a suggestion: on a
    log that holds only some of the tools an act may have been done elsewhere.
    """
    uses = tool_uses(dialogue)
    if not has_calls(dialogue, context):
        return
    customer = [turn for turn in dialogue.turns if turn.role == "customer"]
    spoken = [turn for turn in dialogue.turns if turn.role in JUDGED_ROLES and turn.text.strip()]
    done = [use.call.name for use in uses if not use.failed]
    if any(may_write(name) and name_words(name) and "think" not in name_words(name) for name in done):
        return
    request = next((turn.index for turn in customer if PATTERNS.request.search(turn.text)), None)
    if request is None or len(spoken) < _LAST_TURNS:
        return
    last = spoken[-1]
    if PATTERNS.asks.search(last.text) or any(PATTERNS.withdrawn.search(turn.text) for turn in customer[1:]):
        return
    refuses = any(PATTERNS.refusal.search(turn.text) for turn in spoken[-_LAST_TURNS:])
    if refuses or raw_texts(dialogue) or any(claims_undone_write(dialogue, context)):
        return
    why = f"asked for in turn {request}, and no tool did it by the end"
    yield Hit(last.index, *trim(last.text), why, "R2")
