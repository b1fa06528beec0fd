"""Messages as a person reads them: HTML, quoted replies, signatures and templates' lines, offsets to the log."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

import pyarrow as pa
import pytest
import reading
import yaml
from hypothesis import given
from hypothesis import strategies as st
from linear_time import growth
from pyarrow import parquet

from dialint.detector.ingest.html_text import is_html, read_html
from dialint.detector.ingest.read import Counts, ReadConfig
from dialint.detector.ingest.validation import Clean, clean_texts
from dialint.detector.offsets import assemble, from_original, to_original
from dialint.detector.records import Dialogue, Finding, Turn, Verdict

MOST = 100_000
CASES = yaml.safe_load(Path(__file__).with_name("cleaning.yaml").read_text(encoding="utf-8"))
ABOVE = CASES["above"]
QUESTION = "Where is my refund? I wait since March, you idiots."
ANSWER = "Your refund is on its way.\n\nBest regards,\nTom"


def clean(text: str, *before: str, html: bool | None = None) -> Clean:
    """A text cleaned, which comes after others in its dialogue."""
    return clean_texts([*before, text], [None] * len(before) + [html], MOST)[-1]


@pytest.mark.parametrize("text", CASES["about markup"])
def test_a_text_that_speaks_of_markup_stays(text: str) -> None:
    assert not is_html(text)
    assert clean(text) == Clean(text)


@pytest.mark.parametrize(("html", "text"), CASES["html"].items())
def test_html_is_read_as_text(html: str, text: str) -> None:
    assert is_html(html)
    assert clean(html).text == text


def test_html_beside_html_needs_less_to_show_it() -> None:
    inline = "Use <b>the blue one</b>, Tom &amp; Ann"
    assert clean(inline).text == inline
    assert clean(inline, "<p>Hello</p>").text == "Use the blue one, Tom & Ann"
    assert clean("a &lt; b", "<p>Hello</p>").text == "a < b"
    assert clean("I mean <br>, and <name>", "<p>Hello</p>").text == "I mean <br>, and <name>"


def test_a_declared_text_type_overrides_detection() -> None:
    assert clean("a <b>b</b>", html=True).text == "a b"
    assert clean("<p>a</p>", html=False).text == "<p>a</p>"
    assert clean("<p><img src='x'></p>", html=True).text == ""


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("sign", ["> ", ""])
def test_what_was_quoted_below_is_left_out(above: str, sign: str) -> None:
    quoted = "\n".join(sign + line for line in QUESTION.split("? "))
    result = clean(f"{ANSWER}\n\n{ABOVE[above]}{quoted}\n")
    assert (result.text, result.counted) == (ANSWER, ("W_QUOTED_REPLY",))


@pytest.mark.parametrize(
    "above", [name for name in ABOVE if "outlook" not in name and name[:2] not in ("or", "ur", "ze")]
)
def test_an_answer_below_a_quotation_stays(above: str) -> None:
    result = clean(f"{ABOVE[above]}> {QUESTION}\n> Anna\n\n{ANSWER}")
    assert (result.text, result.counted) == (ANSWER, ("W_QUOTED_REPLY",))


def test_an_answer_below_a_quotation_of_an_earlier_message_stays() -> None:
    assert clean(f"{ABOVE['german']}{QUESTION}\n\n{ANSWER}", QUESTION).text == ANSWER
    unheard = f"{ABOVE['german']}{QUESTION}\n\n{ANSWER}"
    assert clean(unheard).text == unheard  # nobody can say where the answer begins


def test_answers_between_quoted_lines_stay() -> None:
    text = "Hi,\n> Where is my refund?\nIt is on its way.\n> I wait since March, you idiots.\nSorry."
    assert clean(text, QUESTION).text == "Hi,\nIt is on its way.\nSorry."
    assert clean(text).text == text  # one line alone may be anything


@pytest.mark.parametrize("text", CASES["own"])
def test_own_words_stay(text: str) -> None:
    assert clean(text, "Hello", "Anything else?") == Clean(text)


@pytest.mark.parametrize("below", CASES["below"].values(), ids=list(CASES["below"]))
def test_what_stands_below_a_message_is_left_out(below: str) -> None:
    result = clean(ANSWER + below)
    assert (result.text, result.counted) == (ANSWER, ("W_SIGNATURE",))


def test_the_chrome_of_a_template_is_left_out() -> None:
    mail = f"##- Please type your reply above this line -##\n\n{ANSWER}\n\nView ticket"
    assert clean(mail) == Clean(ANSWER, clean(mail).edits, ("W_TEMPLATE_LINE",))
    assert clean("##- Bitte hier antworten -## Ist unterwegs.").text == "Ist unterwegs."
    assert clean("View ticket").text == "View ticket"


def test_everything_at_once_and_the_marks_of_html() -> None:
    mail = (
        '<div dir="ltr">Done, Anna.<br></div><div class="gmail_signature">Tom<br>Acme</div><br>'
        '<div class="gmail_quote"><div class="gmail_attr">On Mon, Mar 2, 2026 Anna wrote:<br></div>'
        '<blockquote class="gmail_quote"><div>where is it, idiots<br>Anna</div></blockquote>'
        "<div>And the voucher, too.</div></div>"
    )
    result = clean(mail)
    assert result.text == "Done, Anna.\nAnd the voucher, too."
    assert result.counted == ("W_HTML", "W_QUOTED_REPLY", "W_SIGNATURE")
    rule = "<p>Our rule:</p><blockquote>Returns within 30 days.</blockquote><p>So no.</p>"
    assert clean(rule).text == "Our rule:\nReturns within 30 days.\nSo no."
    assert clean(rule, "what of your returns within 30 days.").text == "Our rule:\nSo no."


@pytest.mark.parametrize(
    "above", ["On 1:11 a@b wrote:\n", "From: a@b\nTo: b\nSubject: c\n", "> a\n> b\n", "-- \n", ""]
)
def test_where_nothing_would_remain_all_stays(above: str) -> None:
    text = f"{above}> a\n> b\n> c"
    assert clean(text) == Clean(text)


WORDS = st.text("abc &<>'\";éß漢😀x1", min_size=1, max_size=12)
TAGS = st.sampled_from(
    ["<p>", "</p>", "<br>", "<b>", "</b>", "&nbsp;", "\n", '<a href="x>y">', "</a>", "<!-- c -->", "&amp;"]
)


@given(st.lists(st.one_of(TAGS, WORDS.map(escape)), max_size=30))
def test_each_remaining_character_maps_back_to_its_position(parts: list[str]) -> None:
    html = "<p>" + "".join(parts) + "</p>"
    text, edits = assemble(html, read_html(html).pieces)
    position = 0
    for place, char in enumerate(text):
        start, end = to_original(edits, place, place + 1)
        assert position <= start < end
        position = end
        source = html[start:end]
        if source.startswith("&") and len(source) > 1:
            assert source.endswith(";")
            assert not source[1:].count("&")
        elif char not in " \n":
            assert source == char
        assert from_original(edits, start, end) == (place, place + 1)
    assert from_original(edits, 0, len(html)) == (0, len(text))
    bare = re.sub(r'<!-- c -->|<a href="x>y">|</?(?:p|b|br|a)>', "", html)
    assert "".join(text.split()) == "".join(unescape(bare).split())


@given(st.lists(st.sampled_from(
    ["Hello.", "> quoted line", "> another", "", "On Mon, 2 Mar 2026 at 10:14, A <a@b.org> wrote:", "-- ", "Tom",
     "Sent from my iPhone", "View ticket", "From: a@b.org", "To: c", "Subject: d", "best regards,", "Tel. 030 1234567",
     "-----Original Message-----", "Unsubscribe", "<br>", "&amp;"]), max_size=14))  # fmt: skip
def test_any_mail_is_cut_down_to_its_own_lines(lines: list[str]) -> None:
    """Each character kept is that of the log; nothing is invented, and cleaning leaves something of what said
    something."""
    text = "\n".join(lines)
    result = clean_texts([text], [False], MOST)[0]
    for place, char in enumerate(result.text):
        start, end = to_original(result.edits, place, place + 1)
        assert text[start:end] == char
    assert bool(result.text.strip()) == bool(text.strip())
    assert set(result.text.split("\n")) <= {*lines, *map(str.rstrip, lines), ""}  # blanks at the end go
    assert bool(result.counted) == bool(result.edits)


MAIL = f"<div>{ANSWER.replace(chr(10), '<br>')}</div><blockquote type='cite'>{QUESTION}</blockquote>"
TEXTS = [("customer", "Where &amp; when?"), ("agent", MAIL), ("agent", "Is there more?")]


def as_canonical(folder: Path) -> Path:
    turns = [{"role": role, "text": text} for role, text in TEXTS]
    return written(folder / "log.jsonl", json.dumps({"id": "d", "turns": turns}))


def as_csv(folder: Path) -> Path:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [["ticket_id", "role", "body"], *(["d", role, text] for role, text in TEXTS)]
    )
    return written(folder / "log.csv", out.getvalue())


def as_parquet(folder: Path) -> Path:
    path, (roles, texts) = folder / "log.parquet", zip(*TEXTS, strict=True)
    parquet.write_table(pa.table({"ticket_id": ["d"] * 3, "role": roles, "html_body": texts}), path)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text + "\n")
    return path


def loaded(path: Path, config: ReadConfig = ReadConfig()) -> tuple[Dialogue, Counts]:  # noqa: B008
    (dialogue,), _, counts = reading.dialogues(path, config)
    return dialogue, counts


@pytest.mark.parametrize("way", [as_canonical, as_csv, as_parquet])
def test_every_way_in_cleans(tmp_path: Path, way: Callable[[Path], Path]) -> None:
    dialogue, counts = loaded(way(tmp_path))
    texts = [turn.text for turn in dialogue.turns]
    assert texts == ["Where & when?", ANSWER.replace("\n\n", "\n"), "Is there more?"]
    assert (counts.warnings["W_QUOTED_REPLY"], counts.warnings["W_HTML"]) == (1, 2)
    refund = dialogue.turns[1].text.index("refund")
    assert MAIL[slice(*dialogue.turns[1].to_log(refund, refund + 6))] == "refund"
    crossing = dialogue.turns[1].to_log(0, len(dialogue.turns[1].text))
    assert MAIL[slice(*crossing)] == ANSWER.replace("\n", "<br>")
    untouched, counts = loaded(way(tmp_path), ReadConfig(strip=False))
    assert [turn.text for turn in untouched.turns] == [text for _, text in TEXTS]
    assert not counts.warnings


def test_many_tags_reject_the_dialogue(tmp_path: Path) -> None:
    turns = [{"role": "agent", "text": "<p>" + "<b></b>" * 60_000 + "a</p>"}]
    path = written(tmp_path / "log.jsonl", json.dumps({"id": "d", "turns": turns}))
    _, (reject,), _ = reading.load(path)
    assert reject.code == "E_TURN_SIZE"


def verdict(turn: int, start: int, end: int, quote: str) -> Verdict:
    place = {"turn": turn, "start": start, "end": end, "quote": quote}
    finding = Finding.model_validate(
        {"code": "T1", "severity": "S2", "probability": 0.9, "reason": "r", **place}
    )
    verdict = {"dialogue_id": "d", "release": "r", "taxonomy": "1", "status": "scored", "quality": 50.0}
    return Verdict.model_validate({**verdict, "findings": (finding,)})


def test_a_verdict_of_a_log_is_placed_in_its_dialogue(tmp_path: Path) -> None:
    dialogue, _ = loaded(as_csv(tmp_path))
    at = MAIL.index("refund")
    (result,) = verdict(1, at, at + 6, "refund").placed_in(dialogue).findings
    assert dialogue.turns[1].text[result.start : result.end] == "refund"
    other = verdict(2, 3, 8, "there")
    assert other.placed_in(dialogue) is other
    at = MAIL.index("idiots")  # in what was left out: a verdict of an earlier version, or with --no-strip
    (result,) = verdict(1, at, at + 6, "idiots").placed_in(dialogue).findings
    assert 0 <= result.start < result.end <= len(dialogue.turns[1].text)


def test_edits_are_serialized_and_only_if_there_are_some(tmp_path: Path) -> None:
    dialogue, _ = loaded(as_csv(tmp_path))
    assert Dialogue.model_validate_json(dialogue.model_dump_json()) == dialogue
    assert "edits" not in Turn(index=0, role="agent", text="a").model_dump()
    bare = dialogue.without_edits()
    assert [turn.text for turn in bare.turns] == [turn.text for turn in dialogue.turns]
    assert not any(turn.edits for turn in bare.turns)


PUMPS = (
    "\n", "> ", ">\n", "> a\n", "On ", "On 1 a\n", "On 1:11 a wrote:\n", "On 1:11 a wrote:\n> x\n", "From: a\n",
    "From: 1@a\nTo: b\nSubject: c\n", "--\n", "-- \na\n", "___\n", "Am 1\n", "@:\n", "1:11 <a@b>:\n", "##-", "##- x -##",
    "##- x -##\n", "On 1:11 @ wrote:\nx\n", "best,\n", "unsubscribe\n", "a\n\n\n", "> a\n\nb\n", "(1)", ">\n\n", "1 ",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("pump", PUMPS)
@pytest.mark.parametrize("head", ["", "x\n"])
def test_mail_is_read_in_linear_time(pump: str, head: str) -> None:
    def make(n: int) -> Callable[[], object]:
        text = head + pump * (n // len(pump))
        return lambda: clean(text, text)

    assert growth(make, 20_000) < 10


@pytest.mark.parametrize("has_earlier", [True, False])
@pytest.mark.parametrize("program", CASES["answers"]["mails"])
def test_the_customers_words_in_an_answer_are_not_the_agents(program: str, has_earlier: bool) -> None:
    answers = CASES["answers"]
    mail = answers["mails"][program].format(**answers)
    earlier = answers["theirs"] if has_earlier else "Hello, I have a question."
    result = clean_texts([earlier, mail], [None, "<" in mail or None], MOST)[1]
    assert result.text == answers["own"]
    assert "W_QUOTED_REPLY" in result.counted


@pytest.mark.parametrize("text", CASES["own quotations"])
def test_own_quotations_and_other_dates_stay(text: str) -> None:
    html = "<" in text or None
    result = clean_texts(["Where is it?", text], [None, html], 100_000)[1]
    assert "W_QUOTED_REPLY" not in result.counted
    assert result.text == (assemble(text, read_html(text).pieces)[0] if html else text)
