"""Facts about a log as a whole that matter for each of its dialogues.

A single dialogue does not show which bracketed words are the log's own masking, or which odd words are names
of its products. A profile is made of the first dialogues of a log, so that the same log gives the same
verdicts wherever it is scored; it holds words, marks and counts, and is never written to a file: a manifest
has its fingerprint.

The profile also holds the log's distance from the dialogues that a release was calibrated on. A release has
the word pairs that are frequent there, as hashes, so that no text of theirs ships; the distance is the share
of the log's word pairs that are not among them. It sees other words and another order of words, not who
speaks or the order of turns, and says nothing about a single dialogue, nor about exact checks, which prove
what they find from the log itself. Choice of statistic, threshold and curve: docs/experiments/natural.md.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice, pairwise
from typing import Annotated
from zlib import crc32

from pydantic import Field, field_validator

from dialint.detector.artifacts import fingerprint
from dialint.detector.calibration import sigmoid
from dialint.detector.records import JUDGED_ROLES, Dialogue, Probability, Record, Turn
from dialint.detector.tool_use import tool_uses
from dialint.detector.yaml_document import read_packaged

PROFILED_DIALOGUES = 2000
MAX_WORDS = 100_000
"""Most words that are counted: the most frequent ones, then by the alphabet."""
MAX_MARKS = 5000
MIN_TOOL_SHARE = 0.95
"""Share of the dialogues of one origin with a result of a tool, from which all of them count as logged
with their calls. At .5 a file of 25 made-up chats of people without tools and 25 of bots with them had ten
accusations of R3 and I2 of the people, seven of them false (2026-11-30)."""
MAX_EARLY_SHARE = 0.04
"""Share of the dialogues with results in which an agent states figures before any, up to which all tools are
taken to be logged: .01 in tau_bench and .00 in STAR; .83 and .13 with only the results of bookings left in
them (2026-11-29)."""
MIN_PREPARED = 3
MIN_LINE_WORDS = 4
MAX_CHOICES = 15
"""Most values of an argument that is chosen from a list."""
MIN_CHOSEN = 0.7
"""Share of the values of such an argument, one for each dialogue, that are on the list."""
MIN_DIALOGUES = 2
"""Dialogues in whose customers' turns a mark occurs, from which it is the log's own."""

_MARK = re.compile(
    r"#[^\W\d][\w-]{0,30}+#"  # #NAME#, #PRS_ORG#
    r"|\[\[?[^\[\]\n]{1,60}+\]\]?+"  # [NAME], [[name_1]], [smile]
    r"|<<?[^<>\n]{1,60}+>>?+"  # <PHONE>
    r"|\{\{?[^{}\n]{1,60}+\}\}?+"  # {{Order Number}}
    r"|%[^\W\d]\w{1,30}+%"  # %NAME%
    r"|(?<![^\W_])[Xx]{2,}+(?:[-/ .@]{0,2}+[Xx]{2,}+){0,6}+(?![^\W\d_])"  # XXXX, xxx-xx-1234
    r"|\*{3,}+"
)
_DIGITS = re.compile(r"\d")
_NUMBER = re.compile(r"[_\s-]{0,3}+\d{1,20}+")
_WORD = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_FIGURE = re.compile(r"(?<![\w.])(?:[$€£]\s?\d[\d.,]*+|\d{1,2}:\d\d|[A-Z#]{0,3}\d[\d ]{2,15}\d)")
_CHOICE = re.compile(r"[^\W_]{2,20}+(?:[ .'-]{1,2}[^\W_]{1,20}+){0,3}")
_SENTENCE = re.compile(r"[^.!?\n]++[.!?\n]*+")
_LISTING = re.compile(r"\"(?:orders|reservations|bookings)\"\s?:\s?\[\s?[\"{\d]")
_RUN = re.compile(r"(?:[Xx]{3,}+|[X]{2,}+)(?:[-/ .@]{0,2}+[Xx]{2,}+)*+|\*{3,}+")


def find_marks(text: str) -> Iterator[re.Match[str]]:
    """The bracketed, hashed and angled words of a text, and its runs of X or stars: each is masking, an
    emoticon, or the unfilled slot of a template."""
    return _MARK.finditer(text)


def words(text: str) -> list[str]:
    """The words of a text as they are counted in `LogProfile.word_dialogues`: in lower case, without digits,
    with an inner apostrophe (’ as ')."""
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())]


@cache
def _families() -> Mapping[str, frozenset[str]]:
    """Returns the words in marks: ``masked``, those of common masking tools; ``emoticons``, their names."""
    lists = read_packaged("log_profile.yaml").items()
    return {name: frozenset(str(word).casefold() for word in entries) for name, entries in lists}


def mark_kind(mark: str) -> str:
    """A mark without its numbers and its case: ``[NAME_12]`` and ``[Name 3]`` are one kind."""
    return " ".join(_NUMBER.sub("", mark.casefold()).replace("_", " ").split())


def is_common_masking(mark: str) -> bool:
    """Returns whether a mark belongs to a family that masking tools write in any log: ``#NAME#``, ``[NAME]``,
    ``<PHONE_2>``, ``XXXX``, ``***``; or is an emoticon in brackets."""
    if _RUN.fullmatch(mark):
        return True
    inner = mark.strip("#[]<>{}%* ")
    kind = " ".join(_NUMBER.sub("", inner).replace("_", " ").replace("-", " ").split())
    families = _families()
    if mark[0] == "[" and kind.casefold() in families["emoticons"]:
        return True
    if mark[0] in "{%" or kind.casefold() not in families["masked"]:
        return mark[0] == "#" and inner.isupper()
    return inner.isupper() or (mark[0] == "[" and inner.islower()) or _NUMBER.search(inner) is not None


@dataclass(frozen=True)
class LogProfile:
    """Facts about the first `n_dialogues` of a log."""

    n_dialogues: int = 0
    word_dialogues: Mapping[str, int] = field(default_factory=dict)
    """The number of these dialogues with each word, in turns of any role; words as `words` returns them."""
    masking: tuple[str, ...] = ()
    """The kinds of marks (`mark_kind`) that recur in customers' turns, sorted: no template of an agent is
    behind them."""
    tool_dialogues: int = 0
    """The number of these dialogues in which a tool returned something."""
    logged_origins: tuple[str, ...] | None = ()
    """The origins (`origin`) whose tool calls the log has, sorted; None: all."""
    early_dialogues: int = 0
    """The number of these in which an agent stated a figure without a source before any result of a tool."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Prepared lines: sentences of agents, as their `words`, with the number of these dialogues that have
    them, `MIN_PREPARED` or more."""
    listing_tools: tuple[str, ...] = ()
    """The tools that have returned a list of a customer's orders or bookings, sorted."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of the arguments that are chosen from a list, in lower case, by ``TOOL ARGUMENT``."""
    distance: float | None = None
    """The distance of the log from the calibration data of a release, in [0, 1]; None if not measured."""

    def logs_calls(self, dialogue: Dialogue) -> bool:
        """Returns whether the log has the tool calls of such dialogues, so that one without any made none."""
        return not self.is_partial and (
            self.logged_origins is None or origin(dialogue) in self.logged_origins
        )

    @property
    def is_partial(self) -> bool:
        """True if agents state facts that no logged tool returned: nothing follows from missing calls."""
        return MIN_DIALOGUES <= self.early_dialogues > MAX_EARLY_SHARE * self.tool_dialogues

    @cached_property
    def _kinds(self) -> frozenset[str]:
        return frozenset(self.masking)

    def is_masking(self, mark: str) -> bool:
        """Returns whether a mark is the log's own masking, or of a family of masking tools."""
        return is_common_masking(mark) or mark_kind(mark) in self._kinds

    def count_line(self, text: str, position: int) -> int:
        """Return in how many dialogues the sentence at a position of an agent's text stands, 0 for less than
        `MIN_PREPARED`."""
        lines = (match for match in _SENTENCE.finditer(text) if match.start() <= position < match.end())
        return next((self.lines.get(" ".join(words(match[0])), 0) for match in lines), 0)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything in the profile."""
        counts = [self.tool_dialogues, self.logged_origins, self.early_dialogues, dict(self.lines)]
        whole = [self.n_dialogues, dict(self.word_dialogues), self.masking, *counts, self.listing_tools]
        return fingerprint([*whole, dict(self.choices), *([] if self.distance is None else [self.distance])])


EMPTY_PROFILE = LogProfile()
"""The profile of an unknown log."""
LOGGED = LogProfile(n_dialogues=MIN_DIALOGUES, tool_dialogues=MIN_DIALOGUES, logged_origins=None)
"""The profile of a log with all tool calls, of which nothing else is known."""


def origin(dialogue: Dialogue) -> str:
    """Returns a key of dialogues that are logged in one way: channel, team, and whether people or bots
    answer."""
    answering = sorted({turn.role for turn in dialogue.turns} & set(JUDGED_ROLES))
    return " ".join([dialogue.channel or "-", dialogue.team or "-", *answering])


def profile_log(dialogues: Iterable[Dialogue], domain: Domain | None = None) -> LogProfile:
    """The profile of a log, made of its first `PROFILED_DIALOGUES`; no more of it is read. With the `domain`
    of a release it holds the log's distance from that."""
    n = n_tools = n_early = n_pairs = n_unknown = 0
    counts: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    arguments: Counter[tuple[str, str]] = Counter()
    listing = set[str]()
    origins, with_tools = Counter[str](), Counter[str]()
    for dialogue in islice(dialogues, PROFILED_DIALOGUES):
        n += 1
        origins[origin(dialogue)] += 1
        first = next((position for position, turn in enumerate(dialogue.turns) if turn.role == "tool"), None)
        if first is not None:
            n_tools += 1
            with_tools[origin(dialogue)] += 1
            uses = tool_uses(dialogue)
            listing.update(use.call.name for use in uses if _LISTING.search(use.result or ""))
            arguments.update(
                {
                    (f"{use.call.name} {key}", " ".join(value.casefold().split()))
                    for use in uses
                    for key, value in use.call.arguments.items()
                    if isinstance(value, str) and value.strip()
                }
            )
            n_early += _states_figures(dialogue.turns[:first], dialogue.sources)
        counts.update({word for turn in dialogue.turns for word in words(turn.text)})
        by_agents = (turn.text for turn in dialogue.turns if turn.role in JUDGED_ROLES)
        sentences = (words(match[0]) for text in by_agents for match in _SENTENCE.finditer(text))
        lines.update({" ".join(line) for line in sentences if len(line) >= MIN_LINE_WORDS})
        by_customers = (turn.text for turn in dialogue.turns if turn.role == "customer")
        marks.update({mark_kind(mark[0]) for text in by_customers for mark in find_marks(text)})
        if domain is not None and n <= MEASURED_DIALOGUES:
            unknown, pairs = domain.count_unknown(dialogue)
            n_unknown, n_pairs = n_unknown + unknown, n_pairs + pairs
    kinds = sorted(kind for kind, count in _most_frequent(marks, MAX_MARKS) if count >= MIN_DIALOGUES)
    distance = round(n_unknown / n_pairs, 4) if n_pairs else None
    most = dict(_most_frequent(counts, MAX_WORDS))
    prepared = {line: n for line, n in _most_frequent(lines, MAX_WORDS) if n >= MIN_PREPARED}
    tools = tuple(sorted(listing))
    choices = _choices(arguments)
    logged = sorted(
        each for each, k in with_tools.items() if MIN_DIALOGUES <= k >= MIN_TOOL_SHARE * origins[each]
    )
    return LogProfile(
        n, most, tuple(kinds), n_tools, tuple(logged), n_early, prepared, tools, choices, distance
    )


def _choices(arguments: Counter[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The lists that values of arguments are chosen from, of the dialogues in which each value occurs."""
    totals, lists = Counter[str](), dict[str, dict[str, int]]()
    for (name, value), n in arguments.items():
        totals[name] += n
        if n >= MIN_DIALOGUES and _CHOICE.fullmatch(value):
            lists.setdefault(name, {})[value] = n
    return {
        name: tuple(sorted(values))
        for name, values in sorted(lists.items())
        if 1 < len(values) <= MAX_CHOICES and sum(values.values()) >= MIN_CHOSEN * totals[name]
    }


def _states_figures(turns: Sequence[Turn], sources: Sequence[str]) -> bool:
    """Returns whether an agent states an amount, a time or a long number without a source."""
    stated = "".join(_DIGITS.findall(" ".join(sources)))
    for turn in turns:
        if turn.role not in JUDGED_ROLES:
            stated += "".join(_DIGITS.findall(turn.text))
        elif any("".join(_DIGITS.findall(figure[0])) not in stated for figure in _FIGURE.finditer(turn.text)):
            return True
    return False


def _most_frequent(counts: Counter[str], n: int) -> list[tuple[str, int]]:
    """The `n` most frequent entries; ties by the alphabet, so that the same log has the same profile."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:n]


MEASURED_DIALOGUES = 500
"""Most dialogues of a log that its distance is measured on, the first ones."""
MIN_FOR_DISTANCE = 20
"""Dialogues below which a log is not called far."""
MIN_REFERENCE = 1000
"""Dialogues that a reference needs: fewer hold too few of the pairs of their own domain."""
MAX_PAIRS = 20_000
"""Most word pairs of a reference: those in most dialogues."""
HASH_BYTES = 3
_LETTERS = re.compile(r"[^\W\d_]++")
FAR = 0.555
"""Distance from which a log is far: halfway between the farthest near log that was tried and the nearest far
one (2026-11-23, docs/experiments/natural.md)."""
SLOPE, OFFSET = 0.15, -2.2
"""Fitted on 98 judged suspicions in translated Weibo chats, of which 11 were right: the scan's probability
has little information there (2026-11-23, docs/experiments/natural.md)."""


def word_pairs(dialogue: Dialogue) -> set[int]:
    """Returns the hashes of the pairs of neighbouring words of messages, starts and ends of turns included,
    each below 2 ** (8 * `HASH_BYTES`)."""
    pairs: set[int] = set()
    for turn in dialogue.turns:
        if turn.role in ("system", "tool") or turn.is_unseen:
            continue
        words = ["", *_LETTERS.findall(turn.text.casefold()), ""]
        pairs.update(crc32(f"{a} {b}".encode()) >> (32 - 8 * HASH_BYTES) for a, b in pairwise(words))
    return pairs


class Domain(Record):
    """The calibration data of a release, and how it judges a log that is far from it; part of
    `release.json`.

    `pairs` are the hashed word pairs of `n_dialogues` dialogues, `HASH_BYTES` bytes each, sorted, in base64;
    `corpora` names where they are from. A log is far from the distance `far_from` on. There a probability of
    the scan is sigmoid(`slope` x its logit + `offset`), as fitted on judged findings in far logs.
    """

    pairs: str
    corpora: tuple[str, ...]
    n_dialogues: Annotated[int, Field(ge=1)]
    far_from: Probability = FAR
    slope: Annotated[float, Field(gt=0)] = SLOPE
    offset: float = OFFSET

    @field_validator("pairs")
    @classmethod
    def _check_pairs(cls, value: str) -> str:
        if len(b64decode(value, validate=True)) % HASH_BYTES:
            raise ValueError(f"pairs must be {HASH_BYTES} bytes each")
        return value

    @cached_property
    def _hashes(self) -> frozenset[int]:
        content = b64decode(self.pairs)
        starts = range(0, len(content), HASH_BYTES)
        return frozenset(int.from_bytes(content[start : start + HASH_BYTES], "big") for start in starts)

    def count_unknown(self, dialogue: Dialogue) -> tuple[int, int]:
        """Returns the number of different word pairs of a dialogue that the reference lacks, and of all."""
        pairs = word_pairs(dialogue)
        return len(pairs - self._hashes), len(pairs)

    def is_far(self, distance: float | None, n_dialogues: int) -> bool:
        """Returns whether a log of `n_dialogues` at this distance is far."""
        return distance is not None and n_dialogues >= MIN_FOR_DISTANCE and distance >= self.far_from

    def temper(self, probability: float) -> float:
        """The probability of a suspicion of the scan in a far log. Never more than it was, and an exact 0
        stays, as the code does not apply there."""
        if probability <= 0.0:
            return 0.0
        limited = min(probability, 1 - 1e-12)
        z = self.slope * math.log(limited / (1 - limited)) + self.offset
        return min(probability, sigmoid(z))


def fit_domain(corpora: dict[str, Iterable[Dialogue]]) -> Domain | None:
    """The reference made of dialogues by the name of their corpus; None for fewer than `MIN_REFERENCE`.
    Corpora count by their numbers of dialogues."""
    counts: Counter[int] = Counter()
    n = 0
    for dialogues in corpora.values():
        for dialogue in dialogues:
            counts.update(word_pairs(dialogue))
            n += 1
    if n < MIN_REFERENCE:
        return None
    frequent = sorted(counts, key=lambda pair: (-counts[pair], pair))[:MAX_PAIRS]
    content = b"".join(pair.to_bytes(HASH_BYTES, "big") for pair in sorted(frequent))
    return Domain(pairs=b64encode(content).decode(), corpora=tuple(sorted(corpora)), n_dialogues=n)
