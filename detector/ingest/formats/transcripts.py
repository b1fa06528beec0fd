"""Transcripts: texts in which each turn follows the name of its speaker.

WebVTT and SRT, whose cues are joined until the speaker changes; chats that WhatsApp exports; lines such as
``Agent: Hello``, also within a record, as Salesforce's chats are. Times of cues count from the start of a
call and are left out. A speaker is a name: `speakers` gives it a role.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape

from dialint.detector.errors import Message, excerpt
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.html_text import is_html, read_html
from dialint.detector.ingest.log_format import RawDialogue, RawTurn, TextFormat
from dialint.detector.ingest.outcomes import BadRecord
from dialint.detector.ingest.times import DAY_FIRST, MONTH_FIRST, DateOrderDetector, TimeFormat, parse_iso
from dialint.detector.ingest.words import fold, phrases, starts
from dialint.detector.offsets import assemble

_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_DIGITS = {ord(digit): str(n % 10) for n, digit in enumerate("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹")}
_BLANKS = re.compile("[ \t\u00a0\u202f]+")
_NAME = r"([^\s:<>\[\](){}][^:<>\n]{0,59}?)"
_LINE = re.compile(rf"{_NAME}[ \t]*:(?:[ \t]+(.*)|[ \t]*)$")
_OFFSET_LINE = re.compile(
    rf"\(\s*(?:(\d{{1,3}})h\s+)?(?:(\d{{1,3}})m\s+)?(\d{{1,5}})s\s*\)\s*{_NAME}:[ \t]?(.*)$"
)
_AGENT_HEADER = re.compile(r"Agent ([^:]{1,60})$")
_CLOCK = r"(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_VTT = re.compile(r"WEBVTT(?:[ \t\r\n]|\Z)")
_CUE = re.compile(rf"{_CLOCK}[ \t]+-->[ \t]+{_CLOCK}")
_VOICE = re.compile(r"<v(?:\.[^\s>]{0,100})?[ \t]+([^>]{1,200})>")
_TAG = re.compile(r"</?[a-z0-9:.]{1,40}(?:[ \t][^<>]{0,200})?>", re.IGNORECASE)
_HALVES = {
    "A": ("上午", "凌晨", "早上", "午前", "오전", "ص", "π.μ.", "π. μ."),
    "P": ("下午", "中午", "晚上", "午後", "오후", "م", "μ.μ.", "μ. μ."),
}
"""Words for the halves of the day, besides "am" and "pm"."""
_HALF = "|".join(re.escape(word) for words in _HALVES.values() for word in words)
_HEAD = re.compile(
    r"\[?(?P<date>\d{1,4}(?:[./-]|\. |年)\d{1,2}(?:[./-]|\. |月)\d{1,4}(?:日|\.)?)(?: г\.)?[,،]? "
    r"(?:(?:klo|à|um|kl\.) )?"
    rf"(?:(?P<before>{_HALF}) ?)?(?P<clock>\d{{1,2}}[:.]\d{{2}}(?:[:.]\d{{2}})?)"
    rf"(?: ?(?P<after>[AaPp]\.? ?[Mm]\.?|{_HALF}))?(?: Uhr)?"
    r"(?:\] ?| [-\u2013\u2014] )"
)
_BRACKETED = re.compile(r"^[ \t]*\[([^\[\]:\n]{1,60})\](?=:)", re.MULTILINE)
"""Speakers in the form of WhisperX."""
_SPEAKER = re.compile(r"~? ?([^:\n]{1,60}): ?(.*)", re.DOTALL)
_QUOTES = (('"', '"'), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"))
_MEDIA = re.compile(r"<[^<>]{3,60}>|\S{1,120}\.\w{2,5} \([^()]{3,40}\)")
N_COMPARED = 200
"""Lines that are compared to recognise a transcript."""
MAX_SPEAKERS = 6


@dataclass(frozen=True)
class Line:
    """A turn of a transcript. `offset_s` counts from the start of the conversation; `role` is that which the
    transcript itself gives the speaker."""

    speaker: str
    text: str
    offset_s: int | None = None
    role: str | None = None

    def after(self, start: object) -> object:
        """The time of the turn in a conversation that began at `start`."""
        time = parse_iso(start) if isinstance(start, str) else None
        return None if time is None or self.offset_s is None else time + timedelta(seconds=self.offset_s)


def read_transcript(text: str) -> list[Line]:
    """Reads the turns of a text of lines that begin with their speaker, or with ``( 1m 19s )`` and the
    speaker; other lines continue the turn before. A header ``Agent NAME`` names the agent."""
    if is_html(text):
        text, _ = assemble(text, read_html(text).pieces)
    text = _BRACKETED.sub(r"\1", text)
    agents: set[str] = set()
    turns: list[tuple[str, int | None, list[str]]] = []
    lines = [line.strip() for line in text.splitlines()]
    timed = any(map(_OFFSET_LINE.match, lines))
    for line in lines:
        match = (_OFFSET_LINE if timed else _LINE).match(line)
        if match is not None and timed:
            hours, minutes, seconds, speaker, words = match.groups()
            offset = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds)
            turns.append((speaker, offset, [words]))
        elif match is not None:
            turns.append((match[1], None, [match[2]]))
        elif header := _AGENT_HEADER.match(line):
            agents.add(header[1])
        elif turns:
            turns[-1][2].append(line)
    agents.intersection_update(speaker for speaker, _, _ in turns)
    return [
        Line(
            speaker, "\n".join(filter(None, words)), offset,
            None if not agents else "agent" if speaker in agents else "customer",
        )
        for speaker, offset, words in turns
    ]  # fmt: skip


def _is_script(text: str) -> bool:
    """Returns whether nearly all lines begin with one of a few alternating speakers."""
    lines = [_BRACKETED.sub(r"\1", line.strip()) for line in text.splitlines()[:N_COMPARED] if line.strip()]
    names = Counter(match[1] for line in lines if (match := _LINE.match(line)))
    often = [name for name, n in names.items() if n > 1 or len(lines) < 6]
    return 2 <= len(names) <= MAX_SPEAKERS and bool(often) and sum(names.values()) >= 0.9 * len(lines)


def _read_script(text: str, fallback_id: str, _: ReadConfig) -> Iterator[RawDialogue]:
    turns = [RawTurn(line.speaker, line.text) for line in read_transcript(text)]
    yield RawDialogue(fallback_id, turns, roles_are_names=True)


def _is_srt(text: str) -> bool:
    lines = text.split("\n", 2)
    return len(lines) > 2 and lines[0].strip().isdecimal() and _CUE.match(lines[1].strip()) is not None


def _read_cues(text: str, fallback_id: str, _: ReadConfig) -> Iterator[RawDialogue]:
    """Reads one call; consecutive cues of one speaker are one turn."""
    turns: list[tuple[str, list[str]]] = []
    for speaker, words in _cues(text):
        if turns and speaker in (turns[-1][0], ""):
            turns[-1][1].append(words)
        else:
            turns.append((speaker or "unnamed", [words]))
    raw = [RawTurn(speaker, " ".join(words)) for speaker, words in turns]
    yield RawDialogue(fallback_id, raw, roles_are_names=True)


def _cues(text: str) -> Iterator[tuple[str, str]]:
    """Speaker ("" if a cue names none) and words of every cue."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        lines = block.strip().split("\n")
        start = next((at for at, line in enumerate(lines[:2]) if _CUE.match(line.strip())), None)
        if start is None:  # a header, a note, a style
            continue
        payload = _BRACKETED.sub(r"\1", "\n".join(lines[start + 1 :]))
        voices = _VOICE.split(payload)
        if len(voices) > 1:
            pairs = [("", voices[0]), *zip(voices[1::2], voices[2::2], strict=True)]
        else:
            match = _SPEAKER.match(payload) if _LINE.match(payload.split("\n")[0]) else None
            pairs = [(match[1], match[2])] if match else [("", payload)]
        for speaker, words in pairs:
            if text := " ".join(unescape(_TAG.sub("", words)).split()):
                yield unescape(speaker).strip(), text


def _head_text(line: str) -> str:
    return _BLANKS.sub(" ", _MARKS.sub("", line)).translate(_DIGITS)


def _read_whatsapp(text: str, fallback_id: str, config: ReadConfig) -> Iterator[RawDialogue]:
    """Reads one chat. Notices, deleted messages and media without words are counted and left out."""
    messages: list[tuple[int, re.Match[str], list[str]]] = []
    for number, line in enumerate(text.replace("\r\n", "\n").rstrip("\n").split("\n"), 1):
        head = _HEAD.match(_head_text(line))
        if head is not None and (not messages or _style(head) == _style(messages[0][1])):
            messages.append((number, head, [_after_head(line, head)]))
        elif messages:
            messages[-1][2].append(line)
    times = _times([head for _, head, _ in messages], config)
    for (number, _, _), before, after in zip(messages[1:], times, times[1:], strict=False):
        if before and after and after < before and not config.sort_turns:
            actual = Message("line {n} of the file is earlier than the message before", n=number)
            expected = Message(
                "times that do not fall; if the line was pasted into a message, put a blank before it"
            )
            raise BadRecord("E_TIME", "", actual, expected, fallback_id)
    turns = []
    for (_, _, rest), at in zip(messages, times, strict=True):
        match = _SPEAKER.fullmatch("\n".join(rest).lstrip("\u200e\u200f\u202a\u202c "))
        if match is not None and not any(_is_open(match[1], *signs) for signs in _QUOTES):
            words = _without_edit_mark(match[2])
            bare = _MARKS.sub("", words).strip()
            if not (words.startswith("\u200e") or _is_notice(bare) or _MEDIA.fullmatch(bare)):
                turns.append(RawTurn(_MARKS.sub("", match[1]).strip(), words, at))
    warnings = +Counter(W_EVENT_SKIPPED=len(messages) - len(turns))
    yield RawDialogue(fallback_id, turns, warnings=warnings, roles_are_names=True)


def _is_notice(words: str) -> bool:
    """Returns whether a message was deleted, or is a notice without words: a picture, a call."""
    folded = fold(words).rstrip(".")
    is_whole = folded in phrases("deleted_messages") or folded in phrases("wordless_messages")
    return is_whole or ("\n" not in words and folded.startswith(starts("deleted_by")))


def _without_edit_mark(words: str) -> str:
    """A message without ``<This message was edited>`` at its end, which may stand behind U+200E."""
    start, _, mark = words.rstrip().rpartition("<")
    is_mark = _MEDIA.fullmatch(f"<{mark}") and (
        start.endswith("\u200e") or fold(mark.rstrip(".>")) in phrases("edit_marks")
    )
    return start.rstrip("\u200e \n") or words if is_mark else words


def _style(head: re.Match[str]) -> tuple[str, str, bool, bool]:
    """The style of an export's heads, one for a file; another style is pasted text."""
    date, clock = (re.sub(r"\d{1,2}", "0", re.sub(r"\d{4}", "y", head[part])) for part in ("date", "clock"))
    return date, clock, bool(head["before"] or head["after"]), head[0].startswith("[")


def _is_open(name: str, opening: str, closing: str) -> bool:
    """Returns whether a quotation begins in a supposed name, as in the notice ``Ann created "Lamps:
    new"``."""
    return bool(name.count(opening) % 2 if opening == closing else name.count(opening) > name.count(closing))


def _time_text(head: re.Match[str]) -> str:
    sign = "." if "." in head["date"] else "/"
    date = sign.join(re.findall(r"\d+", head["date"]))
    word = head["before"] or head["after"]
    half = next((half for half, words in _HALVES.items() if word in words), word and word[0].upper())
    return f"{date} {head['clock'].replace('.', ':')}" + (f" {half}M" if half else "")


def _after_head(line: str, head: re.Match[str]) -> str:
    """The part of the original line after its head, which was matched without marks and with single
    blanks."""
    n_left, position = head.end(), 0
    while n_left and position < len(line):
        if not _MARKS.match(line[position]):
            blank = _BLANKS.match(line, position)
            position = blank.end() - 1 if blank else position
            n_left -= 1
        position += 1
    return line[position:]


def _times(heads: list[re.Match[str]], config: ReadConfig) -> list[datetime | None]:
    """The times of the messages, with the order of day and month of the options, else of the dates: a day
    above 12, or messages that are in order one way only.

    Raises:
        BadRecord: E_TIME, neither says.
    """
    wanted = config.mapped.time_format
    texts = list(map(_time_text, heads))
    dates = DateOrderDetector()
    for text in texts:
        dates.add(text)
    orders = (DAY_FIRST, MONTH_FIRST)
    ways = {order: list(map(TimeFormat.of(order).parse, texts)) for order in orders}
    if wanted in ways:
        return ways[wanted]
    if not dates.is_ambiguous:
        return ways[dates.order]
    in_order = [order for order, times in ways.items() if times == sorted(filter(None, times))]
    if len(in_order) == 1:
        return ways[in_order[0]]
    raise BadRecord("E_TIME", "", excerpt(heads[0][1]), dates.ambiguity_message())


webvtt = TextFormat("webvtt", lambda text: _VTT.match(text) is not None, _read_cues)
srt = TextFormat("srt", _is_srt, _read_cues)
whatsapp = TextFormat(
    "whatsapp", lambda text: _HEAD.match(_head_text(text.lstrip()[:100])) is not None, _read_whatsapp
)
transcript = TextFormat("transcript", _is_script, _read_script)
