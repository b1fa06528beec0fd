"""Renders a dialogue as model input: tokens, slots, the origin of each token, and repeated words.

A dialogue that does not fit the model is cut into windows: its turns into pieces that always fit, mostly one
piece a turn; a window is the dialogue's opening and a run of pieces. Every judged piece is judged in exactly
one window, with as many pieces before it as context as fit.

Training, scoring and serving use the same renderer. The text of a dialogue is encoded without control tokens,
which only the renderer adds, so that no text can imitate a role, a slot or a template.

`repeated_words` marks the words of a turn that occurred before in the dialogue, and on which side: a feature
for repeated questions, contradictions and ignored questions, as a small encoder compares distant words
poorly. Words are compared as they are written: "5" and "five" agree, "booked" and "booking" do not.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from dialint.detector.errors import DialogueFailed, ReleaseRefused, native_errors
from dialint.detector.records import JUDGED_ROLES, Dialogue, Record, Role, Turn
from dialint.detector.tool_use import tool_uses

if TYPE_CHECKING:
    from tokenizers import Tokenizer

N_KINDS = 5
"""0: no word, or a short one; 1: new; 2: repeated from the same side; 3: from the other side; 4: from
both."""

_WORD = re.compile(r"\d+(?:[.:,]\d+)*|[^\W\d_]+")
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    "twenty",
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBERS)}
MIN_LETTERS = 3


def repeated_words(
    turns: Iterable[tuple[bool, str]], *, own: bool = True
) -> list[list[tuple[int, int, int]]]:
    """The words of each turn as (start, end, kind), offsets into its text, end exclusive.

    `turns` are (is of the judged side, text), in order. A word is compared with earlier turns only, so that
    the kinds of a truncated dialogue are the same. Without `own`, earlier words of the judged side are
    ignored.
    """
    seen: tuple[set[str], set[str]] = (set(), set())
    results = []
    for judged, text in turns:
        words = [(match.start(), match.end(), _normalize_word(match[0])) for match in _WORD.finditer(text)]
        same, other = seen[judged], seen[not judged]
        results.append(
            [
                (start, end, 1 + (form in same) + 2 * (form in other))
                for start, end, form in words
                if _is_counted(form)
            ]
        )
        if own or not judged:
            same.update(form for _, _, form in words)
    return results


def normalized_words(text: str) -> frozenset[str]:
    """The words of a text that are compared, normalised."""
    forms = (_normalize_word(match[0]) for match in _WORD.finditer(text))
    return frozenset(form for form in forms if _is_counted(form))


def token_kinds(words: Sequence[tuple[int, int, int]], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The kind of each token, given its character offsets: that of the first word it touches, else 0.

    Tokens of byte-level tokenizers begin with the space before their word.
    """
    ends = [end for _, end, _ in words]
    kinds = []
    for start, end in offsets:
        position = bisect_right(ends, start)
        inside = start < end and position < len(words) and words[position][0] < end
        kinds.append(words[position][2] if inside else 0)
    return kinds


def _normalize_word(word: str) -> str:
    """Normalise a word: lower case, small numbers as digits, no thousands separator."""
    low = word.lower()
    return _DIGITS.get(low, low.replace(",", "") if low[0].isdigit() else low)


def _is_counted(form: str) -> bool:
    return form[0].isdigit() or len(form) >= MIN_LETTERS


OPENING_SHARE = 0.125
STRIDE_SHARE = 0.5


@dataclass(frozen=True)
class Piece:
    """Tokens `start` to `end` (exclusive) of one turn; a blank turn is one piece without tokens."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """Pieces in dialogue order; `judged[i]`: whether piece i gets its verdict in this window."""

    pieces: tuple[Piece, ...]
    judged: tuple[bool, ...]


def smallest_capacity(overhead: int) -> int:
    """The least tokens a window must hold, so that a piece of one token fits into its share."""
    return math.ceil((overhead + 1) / STRIDE_SHARE)


def plan_windows(
    lengths: Sequence[int], judged: Sequence[bool], capacity: int, overhead: int
) -> tuple[Window, ...]:
    """Windows for turns of `lengths` tokens of which some are `judged`.

    `capacity` is what a window may hold in tokens; each piece costs its tokens and `overhead`.
    At least half of a window is context for what is judged in it, once the dialogue is that long;
    the opening takes at most an eighth.

    Raises:
        ValueError: `capacity` is too small to hold anything.
    """
    largest = int(capacity * STRIDE_SHARE) - overhead
    if largest < 1:
        raise ValueError(f"a capacity of {capacity} tokens is too small")
    pieces = [
        Piece(turn, at, min(at + largest, length))
        for turn, length in enumerate(lengths)
        for at in range(0, max(length, 1), largest)
    ]
    costs = [piece.end - piece.start + overhead for piece in pieces]
    if sum(costs) <= capacity:
        return (Window(tuple(pieces), tuple(judged[p.turn] for p in pieces)),)

    opening = _fitting(costs, int(capacity * OPENING_SHARE))
    windows: list[Window] = []
    done = 0
    while done < len(pieces):
        room = capacity if not windows else int(capacity * STRIDE_SHARE)
        end = done + max(1, _fitting(costs[done:], room))
        start = end
        left = capacity - (sum(costs[:opening]) if windows else 0)
        while start > 0 and costs[start - 1] <= left:
            start -= 1
            left -= costs[start]
        positions = [*range(min(opening, start)), *range(start, end)]
        windows.append(
            Window(
                tuple(pieces[position] for position in positions),
                tuple(position >= done and judged[pieces[position].turn] for position in positions),
            )
        )
        done = end
    return tuple(windows)


def _fitting(costs: Sequence[int], room: int) -> int:
    """Returns how many of the first `costs` fit into `room` together."""
    count = 0
    for cost in costs:
        if cost > room:
            break
        room -= cost
        count += 1
    return count


TOGETHER = 256
"""Turns that are encoded in one call."""
RESULT_CHARACTERS, CALL_CHARACTERS = 300, 400
"""Most characters that are read of a tool's result and of a turn's calls."""
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)


class RenderConfig(Record):
    """The rendering of dialogues by a release; part of `release.json`.

    `roles` maps the roles that are rendered to the control token before their turns, and `names` to plain
    text after that; a role without a token is left out. The control token `slot` follows each judged turn,
    with `closes_all` every turn; `begin` is before each window and may be empty.
    `calls`: whether the calls of a turn, their arguments and the results of tools are rendered; without it
    only the name of a call that was run, and whether it failed.
    `history`: whether the model gets the kinds of repeated words.
    """

    context_tokens: Annotated[int, Field(ge=1)]
    roles: dict[Role, Annotated[str, Field(min_length=1)]]
    names: dict[Role, str] = Field(default_factory=dict)
    begin: str
    slot: Annotated[str, Field(min_length=1)]
    closes_all: bool = False
    calls: bool = False
    history: bool = False

    @model_validator(mode="after")
    def _judges_someone(self) -> RenderConfig:
        if not set(self.roles) & set(JUDGED_ROLES):
            raise ValueError("roles name nobody whose turns are judged")
        return self

    @property
    def control(self) -> tuple[str, ...]:
        return tuple(mark for mark in (*self.roles.values(), self.begin, self.slot) if mark)


@dataclass(frozen=True)
class Slot:
    """A slot: its position in the window, and the turn it judges with the token range and
    character offsets (of the turn's text) of the piece before it."""

    position: int
    turn: int
    first_token: int
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Rendered:
    """One window as token ids. `word_kinds` has each token's kind, and is empty if the model does not use
    it."""

    ids: tuple[int, ...]
    slots: tuple[Slot, ...]
    word_kinds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class _Encoded:
    """A turn's token ids with their character offsets into the turn's text, and their history."""

    ids: Sequence[int]
    offsets: Sequence[tuple[int, int]]
    word_kinds: Sequence[int] = ()


class Renderer:
    """Renders dialogues as windows of token ids. Has a tokenizer and no state."""

    def __init__(self, config: RenderConfig, tokenizer_json: str) -> None:
        """`tokenizer_json` is the text of a Hugging Face ``tokenizer.json``.

        Raises:
            ReleaseRefused: the tokenizer is none or lacks a control token, or windows are too small.
        """
        self.config = config
        tokenizer = load_tokenizer(tokenizer_json)
        ids = {mark: tokenizer.token_to_id(mark) for mark in config.control}
        missing = [mark for mark, token in ids.items() if token is None]
        if missing:
            raise ReleaseRefused("E_RELEASE", f"the tokenizer lacks the control tokens {missing}")
        self._control = {mark: token for mark, token in ids.items() if token is not None}
        self._reserved = frozenset(self._control.values())
        self._tokenizer = plain_tokenizer(tokenizer_json)
        self._marks = {
            role: (self._control[mark], *self._encode([config.names.get(role, "")])[0].ids)
            for role, mark in config.roles.items()
        }
        if self._capacity < smallest_capacity(self._overhead):
            raise ReleaseRefused(
                "E_RELEASE", f"windows of {config.context_tokens} tokens are too small for any turn"
            )

    @property
    def _capacity(self) -> int:
        """Tokens of a window that turns may take."""
        return self.config.context_tokens - bool(self.config.begin)

    @property
    def _overhead(self) -> int:
        """Most tokens that are added to a turn: its role's mark and the slot."""
        return max(map(len, self._marks.values())) + 1

    def render(self, dialogue: Dialogue, *, own_history: bool = True) -> tuple[Rendered, ...]:
        """The dialogue's windows. Every judged turn has one slot for each of its pieces. Without
        `own_history`, repetitions of the judged side's own words are not marked.

        Raises:
            DialogueFailed: no turn of it can be judged.
        """
        turns = [
            (turn, text)
            for turn, text in self._with_tool_uses(dialogue)
            if turn.role in self.config.roles and (turn.role == "tool" or text.strip() or not turn.is_unseen)
        ]
        judged = [turn.role in JUDGED_ROLES and bool(text.strip()) for turn, text in turns]
        if not any(judged):
            raise DialogueFailed("E_NO_AGENT_TURN", f"dialogue {dialogue.id}: no agent turn to judge")
        encoded = self._encode([text for _, text in turns])
        if self.config.history:
            spoken = (
                (turn.role in JUDGED_ROLES, "" if turn.role == "tool" else turn.text) for turn, _ in turns
            )
            words = repeated_words(spoken, own=own_history)
            encoded = [
                replace(e, word_kinds=token_kinds(w, e.offsets)) for w, e in zip(words, encoded, strict=True)
            ]
        windows = plan_windows([len(text.ids) for text in encoded], judged, self._capacity, self._overhead)
        return tuple(self._window(window, [turn for turn, _ in turns], encoded) for window in windows)

    def _with_tool_uses(self, dialogue: Dialogue) -> Iterator[tuple[Turn, str]]:
        """The turns with the text that is rendered: with their calls and what came of them, or each tool's
        result replaced by the name of its call and whether that failed. Offsets into a turn's words stay
        what they are."""
        uses = {use.result_turn: use for use in tool_uses(dialogue) if use.was_run}
        for turn in dialogue.turns:
            if turn.role == "tool" and self.config.calls:
                yield turn, turn.text[:RESULT_CHARACTERS]
            elif turn.role == "tool" and "tool" in self.config.roles:
                use = uses.get(turn.index)  # as "get order details", "cancel order failed"
                words = "" if use is None else re.sub(r"[\W_]++", " ", use.call.name)
                yield turn, f"{words} failed" if use is not None and use.failed else words
            elif self.config.calls and turn.tool_calls:
                yield turn, f"{turn.text}\n{calls_text(turn)}" if turn.text.strip() else calls_text(turn)
            else:
                yield turn, turn.text

    def _window(self, window: Window, turns: list[Turn], encoded: list[_Encoded]) -> Rendered:
        config = self.config
        ids = [self._control[config.begin]] if config.begin else []
        word_kinds = [0] * len(ids)
        slots = []
        for piece, judged in zip(window.pieces, window.judged, strict=True):
            turn, text = turns[piece.turn], encoded[piece.turn]
            mark = self._marks[turn.role]
            ids.extend(mark)
            first = len(ids)
            ids.extend(text.ids[piece.start : piece.end])
            word_kinds += [*(0 for _ in mark), *text.word_kinds[piece.start : piece.end]]
            is_judged = turn.role in JUDGED_ROLES
            if is_judged and judged:
                limit = len(turn.text)
                within = text.offsets[piece.start : piece.end]
                offsets = tuple((min(start, limit), min(end, limit)) for start, end in within)
                slots.append(Slot(len(ids), turn.index, first, offsets))
            if is_judged or config.closes_all:
                ids.append(self._control[config.slot])
                word_kinds.append(0)
        return Rendered(tuple(ids), tuple(slots), tuple(word_kinds) if config.history else ())

    def _encode(self, texts: list[str]) -> list[_Encoded]:
        """Each text's tokens, hidden characters left out, offsets those of the text as given."""
        encoded: list[_Encoded] = []
        shared: dict[Any, Any] = {}
        for start in range(0, len(texts), TOGETHER):
            for one in self._encode_some(texts[start : start + TOGETHER]):
                if len(texts) > TOGETHER:  # equal numbers and pairs once: half the memory of a long dialogue
                    one = _Encoded(
                        *([shared.setdefault(item, item) for item in part] for part in (one.ids, one.offsets))
                    )
                encoded.append(one)
        return encoded

    def _encode_some(self, texts: list[str]) -> Iterator[_Encoded]:
        visible = [visible_text(text) for text in texts]
        batch = self._tokenizer.encode_batch([text for text, _ in visible], add_special_tokens=False)
        for encoding, (_, positions) in zip(batch, visible, strict=True):
            ids, offsets = encoding.ids, encoding.offsets
            if not self._reserved.isdisjoint(ids):
                raise DialogueFailed("E_CONTROL_TOKEN", "text was encoded as a control token")
            if positions is not None:
                offsets = [
                    (positions[a], positions[b - 1] + 1) if b > a else (positions[a], positions[a])
                    for a, b in offsets
                ]
            yield _Encoded(ids, offsets)


def calls_text(turn: Turn) -> str:
    """Returns the calls of a turn as the model reads them, truncated."""
    written = " ".join(
        f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in turn.tool_calls
    )
    return f"Call: {written[:CALL_CHARACTERS]}"


def visible_text(text: str) -> tuple[str, list[int] | None]:
    """`text` without invisible and bidirectional control characters, and the position of each remaining
    character; None if nothing was removed."""
    if text.isascii() or not HIDDEN.search(text):
        return text, None
    retained = [(index, char) for index, char in enumerate(text) if not HIDDEN.match(char)]
    return "".join(char for _, char in retained), [*(index for index, _ in retained), len(text)]


TRIAL = "Hello, \u00e9t\u00e9 2026! \u4e2d"
"""A text that shows whether a tokenizer works at all."""


def load_tokenizer(tokenizer_json: str) -> Tokenizer:
    """The tokenizer that the text of a ``tokenizer.json`` describes; it has tokenized a text.

    Raises:
        ReleaseRefused: it describes none.
    """
    from tokenizers import Tokenizer  # heavy, and the judge's prompts need only this module's patterns

    with native_errors(lambda name: ReleaseRefused("E_RELEASE", "tokenizer.json describes no tokenizer")):
        tokenizer = Tokenizer.from_str(tokenizer_json)
        tokenizer.encode(TRIAL)
    return tokenizer


def plain_tokenizer(tokenizer_json: str) -> Tokenizer:
    """The tokenizer without its added tokens, truncation and padding: all input is plain text."""
    raw = json.loads(tokenizer_json)
    raw.update(added_tokens=[], truncation=None, padding=None, post_processor=None)
    return load_tokenizer(json.dumps(raw))
