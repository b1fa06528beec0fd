"""What a log as a whole says about each of its dialogues.

A single dialogue does not show which bracketed words are the log's own masking, or which odd words are names
of its products. A profile is made of the first dialogues of a log, so that the same log gives the same
verdicts wherever it is scored; it holds words, marks and counts, and is never written to a file: a manifest
has its fingerprint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from pathlib import Path

from dialint.detector.artifacts import fingerprint
from dialint.detector.domain import MEASURED_DIALOGUES, Domain
from dialint.detector.records import Dialogue
from dialint.detector.yaml_document import read_document

PROFILED_DIALOGUES = 2000
MAX_WORDS = 100_000
"""Most words that are counted: the most frequent ones, then by the alphabet."""
MAX_MARKS = 5000
MIN_TOOL_SHARE = 0.5
"""Share of the dialogues with a result of a tool, from which a log is known to hold its agents' calls."""
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
_NUMBER = re.compile(r"[_\s-]{0,3}+\d{1,20}+")
_WORD = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
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
    """``masked``: what the marks of well-known masking tools stand for; ``emoticons``: their names."""
    document = read_document(Path(__file__).with_suffix(".yaml"), "E_LOG_PROFILE").value
    return {name: frozenset(str(word).casefold() for word in entries) for name, entries in document.items()}


def mark_kind(mark: str) -> str:
    """A mark without its numbers and its case: ``[NAME_12]`` and ``[Name 3]`` are one kind."""
    return " ".join(_NUMBER.sub("", mark.casefold()).replace("_", " ").split())


def is_known_masking(mark: str) -> bool:
    """Whether a mark belongs to a family that masking tools write, whichever the log: ``#NAME#``, ``[NAME]``,
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
    """Of the first `n_dialogues` of a log."""

    n_dialogues: int = 0
    word_dialogues: Mapping[str, int] = field(default_factory=dict)
    """In how many of these dialogues each word occurs, in turns of any role; words as `words` finds them."""
    masking: tuple[str, ...] = ()
    """The kinds of marks (`mark_kind`) that recur in customers' turns, sorted: no template of an agent is
    behind them."""
    tool_dialogues: int = 0
    """In how many of these dialogues a tool returned something."""
    distance: float | None = None
    """How far the log is from what a release was calibrated on (`dialint.detector.domain`), in [0, 1]; None
    if that was not measured."""

    @property
    def has_tools(self) -> bool:
        """Whether the log holds the calls of tools, so that a dialogue without any had none."""
        return MIN_DIALOGUES <= self.tool_dialogues >= MIN_TOOL_SHARE * self.n_dialogues

    @cached_property
    def _kinds(self) -> frozenset[str]:
        return frozenset(self.masking)

    def is_masking(self, mark: str) -> bool:
        """Whether a mark is the log's own masking, or of a family that is known to be one."""
        return is_known_masking(mark) or mark_kind(mark) in self._kinds

    @cached_property
    def fingerprint(self) -> str:
        """Changes with anything that the profile says."""
        whole = [self.n_dialogues, dict(self.word_dialogues), self.masking, self.tool_dialogues]
        return fingerprint([*whole, *([] if self.distance is None else [self.distance])])


EMPTY_PROFILE = LogProfile()
"""Nothing is known of the log."""


def profile_log(dialogues: Iterable[Dialogue], domain: Domain | None = None) -> LogProfile:
    """The profile of a log, made of its first `PROFILED_DIALOGUES`; no more of it is read. With the `domain`
    of a release it holds the log's distance from that."""
    n = n_tools = n_pairs = n_unknown = 0
    counts: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    for dialogue in islice(dialogues, PROFILED_DIALOGUES):
        n += 1
        n_tools += any(turn.role == "tool" for turn in dialogue.turns)
        counts.update({word for turn in dialogue.turns for word in words(turn.text)})
        by_customers = (turn.text for turn in dialogue.turns if turn.role == "customer")
        marks.update({mark_kind(mark[0]) for text in by_customers for mark in find_marks(text)})
        if domain is not None and n <= MEASURED_DIALOGUES:
            unknown, pairs = domain.count_unknown(dialogue)
            n_unknown, n_pairs = n_unknown + unknown, n_pairs + pairs
    kinds = sorted(kind for kind, count in _most_frequent(marks, MAX_MARKS) if count >= MIN_DIALOGUES)
    distance = round(n_unknown / n_pairs, 4) if n_pairs else None
    return LogProfile(n, dict(_most_frequent(counts, MAX_WORDS)), tuple(kinds), n_tools, distance)


def _most_frequent(counts: Counter[str], n: int) -> list[tuple[str, int]]:
    """The `n` most frequent entries; ties by the alphabet, so that the same log has the same profile."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:n]
