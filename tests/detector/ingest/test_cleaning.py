"""Messages as a person reads them: HTML, quoted replies, signatures and templates' lines, offsets to the log."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

import pyarrow as pa
import pytest
import reading
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dialint.detector.ingest.html_text import is_html, read_html
from dialint.detector.ingest.read import Counts, ReadConfig
from dialint.detector.ingest.validation import Clean, clean_texts
from dialint.detector.offsets import assemble, from_original, to_original
from dialint.detector.records import Dialogue, Finding, Turn, Verdict

MOST = 100_000
ASKED = "Where is my refund? I wait since March, you idiots."
ANSWER = "Your refund is on its way.\n\nBest regards,\nTom"


def clean(text: str, *before: str, html: bool | None = None) -> Clean:
    """A text cleaned, which comes after others in its dialogue."""
    return clean_texts([*before, text], [None] * len(before) + [html], MOST)[-1]


PLAIN = (
    "My page shows <br> where a line should end.",
    "Use <br> or <br/> to break a line.",
    'Write "<br>" there, or `<br>`.',
    "It holds if a < b > c, and a<b>c as well.",
    "Hello <name>, your order <order_id> and {first_name}.",
    "<customer name>, thank you for <company>",
    "<link>",
    "Dear <title> <name>,",
    "Put <p>Hello</p> into your page, then <div> around it.",
    "```\n<div class='x'>Hello</div>\n```",
    "Use <a href=\"https://example.org\">a link</a> in the editor.",
    "Write to <anna@example.org> or see <https://example.org/a?b=1&c=2>.",
    "AT&T &amp; friends; R&D &copy; 2026",
    "I <3 you > all",
    "<!-- TODO: greet --> hello",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_that_speaks_of_markup_stays(text: str) -> None:
    assert not is_html(text)
    assert clean(text) == Clean(text)


HTML = {
    "<p>Hello Anna,</p><p>it is <b>done</b>.</p>": "Hello Anna,\nit is done.",
    "<div>Hello<br>you &amp; me</div>": "Hello\nyou & me",
    "Hello Anna,<br><br>it is done.": "Hello Anna,\nit is done.",
    "Hello Anna,<br />\r\nit is done.": "Hello Anna,\nit is done.",
    'See <a href="https://example.org/a" target="_blank">https://example.org/a</a> now': "See https://example.org/a now",
    "<html><head><title>x</title><style>p {}</style></head><body>Hi<script>a()</script></body></html>": "Hi",
    "<p>Dear &lt;name&gt;, dear <first_name>, {order}</p>": "Dear <name>, dear <first_name>, {order}",
    "<p>a &lt; b &gt; c, a < b</p>": "a < b > c, a < b",
    "<table><tr><td>Size</td><td>XL</td></tr><tr><td>Price</td><td>5&nbsp;&euro;</td></tr></table>": "Size XL\nPrice 5 €",
    "<ul><li>one</li><li>two</li></ul>": "one\ntwo",
    "<p>x<o:p></o:p></p><!--[if mso]><p>y</p><![endif]-->": "x",
    "<p>It is <code>&lt;br&gt;</code></p><pre>a\n  b</pre>": "It is <br>\na\nb",
    '<p>a <img alt="2 > 1" src="x"> b <a title="<3">c</a></p>': "a b c",
    "<p>broken <b>tags</p>": "broken tags",
    "<p>an open <!-- comment</p>": "an open",
    "<div>a <script>never closed</div>": "a never closed",
}


@pytest.mark.parametrize("html", HTML)
def test_html_is_read_as_text(html: str) -> None:
    assert is_html(html)
    assert clean(html).text == HTML[html]


def test_html_beside_html_needs_less_to_show_it() -> None:
    inline = "Use <b>the blue one</b>, Tom &amp; Ann"
    assert clean(inline).text == inline
    assert clean(inline, "<p>Hello</p>").text == "Use the blue one, Tom & Ann"
    assert clean("a &lt; b", "<p>Hello</p>").text == "a < b"
    assert clean("I mean <br>, and <name>", "<p>Hello</p>").text == "I mean <br>, and <name>"


def test_what_a_field_says_counts() -> None:
    assert clean("a <b>b</b>", html=True).text == "a b"
    assert clean("<p>a</p>", html=False).text == "<p>a</p>"
    assert clean("<p><img src='x'></p>", html=True).text == ""


ABOVE = {
    "gmail": "On Mon, 2 Mar 2026 at 10:14, Anna <anna@example.org> wrote:\n",
    "gmail, wrapped": "On Mon, 2 Mar 2026 at 10:14, Anna Maria von Weber und Partner\n<anna@example.org> wrote:\n",
    "german": "Am 02.03.2026 um 10:14 schrieb Anna Weber <anna@example.org>:\n",
    "german, outlook": "Von: Anna Weber <anna@example.org>\nGesendet: Montag, 2. März 2026 10:14\nAn: Hilfe\nBetreff: AW: Geld\n\n",
    "french": "Le lun. 2 mars 2026 à 10:14, Anna <anna@example.org> a écrit :\n",
    "spanish": "El lun, 2 mar 2026 a las 10:14, Anna (<anna@example.org>) escribió:\n",
    "portuguese": "Em seg., 2 de mar. de 2026 às 10:14, Anna <anna@example.org> escreveu:\n",
    "italian": "Il giorno lun 2 mar 2026 alle ore 10:14 Anna <anna@example.org> ha scritto:\n",
    "dutch": "Op ma 2 mrt 2026 om 10:14 schreef Anna <anna@example.org>:\n",
    "polish": "W dniu pon., 2.03.2026 o 10:14 Anna <anna@example.org> napisał(a):\n",
    "russian": "пн, 2 мар. 2026 г. в 10:14, Анна <anna@example.org> писал(а):\n",
    "russian, no verb": "пн, 2 мар. 2026 г. в 10:14, Анна <anna@example.org>:\n",
    "russian, short": "02.03.2026 10:14, Анна пишет:\n",
    "outlook": "________________________________\nFrom: Anna <anna@example.org>\nSent: Monday, March 2, 2026 10:14 AM\nTo: Help\nSubject: RE: Money\n\n",
    "outlook, bold": "*From:* Anna <anna@example.org>\n*Sent:* Monday, March 2, 2026\n*To:* Help\n*Subject:* Money\n\n",
    "original": "-----Original Message-----\nFrom: Anna\n",
    "urspruenglich": "-----Ursprüngliche Nachricht-----\nVon: Anna\n",
    "zendesk": "##- Please type your reply above this line -##\n\n",
    "zendesk, german": "##- Bitte geben Sie Ihre Antwort über dieser Zeile ein. -##\n".replace("ein. -", "ein -"),
}  # fmt: skip


@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("sign", ["> ", ""])
def test_what_was_quoted_below_is_left_out(above: str, sign: str) -> None:
    quoted = "\n".join(sign + line for line in ASKED.split("? "))
    found = clean(f"{ANSWER}\n\n{ABOVE[above]}{quoted}\n")
    assert (found.text, found.counted) == (ANSWER, ("W_QUOTED_REPLY",))


@pytest.mark.parametrize(
    "above", [name for name in ABOVE if "outlook" not in name and name[:2] not in ("or", "ur", "ze")]
)
def test_an_answer_below_a_quotation_stays(above: str) -> None:
    found = clean(f"{ABOVE[above]}> {ASKED}\n> Anna\n\n{ANSWER}")
    assert (found.text, found.counted) == (ANSWER, ("W_QUOTED_REPLY",))


def test_an_answer_below_words_that_were_heard_stays() -> None:
    assert clean(f"{ABOVE['german']}{ASKED}\n\n{ANSWER}", ASKED).text == ANSWER
    unheard = f"{ABOVE['german']}{ASKED}\n\n{ANSWER}"
    assert clean(unheard).text == unheard  # nobody can say where the answer begins


def test_answers_between_quoted_lines_stay() -> None:
    text = "Hi,\n> Where is my refund?\nIt is on its way.\n> I wait since March, you idiots.\nSorry."
    assert clean(text, ASKED).text == "Hi,\nIt is on its way.\nSorry."
    assert clean(text).text == text  # one line alone may be anything


OWN = (
    'On 3 March at 10:14 you wrote:\n"I never got it."\nWe have looked: it was delivered.',
    "Am 3. März um 10:14 schrieben Sie:\n„Nie bekommen.“\nWir haben nachgesehen.",
    'You said "where is my refund", and it is on its way.\nTom',
    "Your trip:\nFrom: Berlin\nTo: Munich\nDate: 3 March 2026\nHave fun!",
    "Your rule:\n> 500 items get a discount\nBye",
    ">_<\noh dear\n>:(",
    "Sent from my warehouse today\nBye",
    "You can unsubscribe in your settings.\nTo unsubscribe, open Settings, then News.",
    "Disclaimer: prices change.\nYours is 5 €.",
    "> quoted\n> alone",
    "Best regards,\nTom\nP.S. A voucher is on its way to anna@example.org",
    "-----Original Message-----\nFrom: Anna <anna@example.org>\nTo: x\nSubject: y\n\nForwarded, no word of mine.",
    "Steps:\n---\nFrom: the menu\nTo: the folder\nSubject: any",
    "First:\n--------\nThis is step one.\n--------\nThis is step two.",
    "Your order is found.\nThank you.\nNext:\nwe send order #W0000002 today.\nAnything else?",
    "Best regards,\nLeo\nYour order #40712345 and W0000002 leave today.",
    "Here is what changed:\n- From: 5 € to 6 €\n- To: all",
)


@pytest.mark.parametrize("text", OWN)
def test_own_words_stay(text: str) -> None:
    assert clean(text, "Hello", "Anything else?") == Clean(text)


BELOW = {
    "delimiter": "\n\n-- \nTom Baker\nAcme Ltd\nFirst floor",
    "telephone": "\n\nSent from my iPhone",
    "handy": "\n\nVon meinem iPhone gesendet",
    "envoye": "\n\nEnvoyé de mon iPhone",
    "enviado": "\n\nEnviado desde mi iPhone",
    "otpravleno": "\n\nОтправлено с iPhone",
    "outlook": "\nGet Outlook for iOS",
    "contact": "\nAcme Ltd\nPhone: +49 30 1234567",
    "disclaimer": "\n\nThis e-mail is confidential and meant for its reader only.\nIf you are not, delete it.",
    "vertraulich": "\n\nDiese E-Mail enthält vertrauliche Informationen.",
    "unsubscribe": "\n\nUnsubscribe\nhttps://example.org/u",
    "otpisatsya": "\n\nОтписаться от рассылки",
    "zendesk": "\n\nThis email is a service from Acme Support. Delivered by Zendesk",
}


@pytest.mark.parametrize("below", BELOW)
def test_what_stands_below_a_message_is_left_out(below: str) -> None:
    found = clean(ANSWER + BELOW[below])
    assert (found.text, found.counted) == (ANSWER, ("W_SIGNATURE",))


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
    found = clean(mail)
    assert found.text == "Done, Anna.\nAnd the voucher, too."
    assert found.counted == ("W_HTML", "W_QUOTED_REPLY", "W_SIGNATURE")
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
def test_each_character_kept_leads_back_to_its_place(parts: list[str]) -> None:
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
def test_what_is_kept_of_any_mail_are_its_own_lines(lines: list[str]) -> None:
    """Each character kept is that of the log; nothing is invented, and cleaning leaves something of what said
    something."""
    text = "\n".join(lines)
    found = clean_texts([text], [False], MOST)[0]
    for place, char in enumerate(found.text):
        start, end = to_original(found.edits, place, place + 1)
        assert text[start:end] == char
    assert bool(found.text.strip()) == bool(text.strip())
    assert set(found.text.split("\n")) <= {*lines, *map(str.rstrip, lines), ""}  # blanks at the end go
    assert bool(found.counted) == bool(found.edits)


MAIL = f"<div>{ANSWER.replace(chr(10), '<br>')}</div><blockquote type='cite'>{ASKED}</blockquote>"
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
    (found,) = verdict(1, at, at + 6, "refund").placed_in(dialogue).findings
    assert dialogue.turns[1].text[found.start : found.end] == "refund"
    other = verdict(2, 3, 8, "there")
    assert other.placed_in(dialogue) is other
    at = MAIL.index("idiots")  # in what was left out: a verdict of an earlier version, or with --no-strip
    (found,) = verdict(1, at, at + 6, "idiots").placed_in(dialogue).findings
    assert 0 <= found.start < found.end <= len(dialogue.turns[1].text)


def test_edits_are_kept_in_records_and_only_where_there_are_some(tmp_path: Path) -> None:
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
    def took_s(size: int) -> float:
        text = head + pump * (size // len(pump))
        began = time.process_time()
        clean(text, text)
        return time.process_time() - began

    short_s = max(took_s(20_000), 0.02)
    # 4 times as long if linear, 16 if not; one slow moment of the machine is no proof
    assert any(took_s(80_000) < 10 * short_s for _ in range(4))


OWN, THEIRS = "Good morning, it arrives on Friday.", "I recieved nothing since Monday."
HEAD = "<b>From:</b> Ann &lt;a@example.org&gt;<br><b>Sent:</b> Monday, 2 March 2026 09:14<br>"
QUOTED_MAILS = {
    "bare": f"<p>{OWN}</p><blockquote>{THEIRS}</blockquote>",
    "answered below": f"<blockquote><p>{THEIRS}</p></blockquote><p>{OWN}</p>",
    "Zimbra": f'<div>{OWN}</div><hr id="zwchr"><div data-marker="__HEADERS__">{HEAD}</div>'
              f'<div data-marker="__QUOTED_TEXT__">{THEIRS}</div>',
    "Zimbra's rule alone": f'<div>{OWN}</div><hr id="zwchr"><div>{THEIRS}</div>',
    "Zimbra's mark alone": f'<div>{OWN}</div><div data-marker="__QUOTED_TEXT__"><p>{THEIRS}</p></div>',
    "Outlook": f'<p>{OWN}</p><hr tabindex="-1"><div id="divRplyFwdMsg">{HEAD}</div><div>{THEIRS}</div>',
    "Outlook on the web": f'<p>{OWN}</p><div id="appendonsend"></div><div>{THEIRS}</div>',
    "Outlook, copied": f'<p>{OWN}</p><div id="x_divRplyFwdMsg">From: Ann</div><div>{THEIRS}</div>',
    "Outlook, head without subject": f"<p>{OWN}</p><div>{HEAD}</div><p>{THEIRS}</p>",
    "one line": f"<p>{OWN}</p><p>From: Ann Sent: Monday, 2 March 2026 To: Us Subject: Late</p><p>{THEIRS}</p>",
    "German": f"<p>{OWN}</p><p>Von: Ann Gesendet: Montag, 2. März 2026 An: Uns Betreff: Spät</p><p>{THEIRS}</p>",
    "French": f"<p>{OWN}</p><p>De : Ann<br>Envoyé : lundi 2 mars 2026 09:14<br>À : Nous</p><p>{THEIRS}</p>",
    "no lines at all": f"<span>{OWN}</span> From: Ann Sent: 2 March 2026 To: Us Subject: Late {THEIRS}",
    "Gmail": f'<div>{OWN}</div><div class="gmail_quote"><div class="gmail_attr">On Monday Ann wrote:</div>'
             f'<blockquote class="gmail_quote">{THEIRS}</blockquote></div>',
    "Gmail, no introduction": f'<div>{OWN}</div><div class="gmail_quote">{THEIRS}</div>',
    "Gmail, no blockquote": f'<div>{OWN}</div><div class="gmail_quote"><div class="gmail_attr">Am Montag schrieb '
                            f'Ann:</div><div>{THEIRS}</div></div>',
    "Apple": f'<div>{OWN}</div><blockquote type="cite"><div>{THEIRS}</div></blockquote>',
    "Yahoo": f'<div>{OWN}</div><div class="yahoo_quoted"><div>On Monday, Ann wrote:</div><p>{THEIRS}</p></div>',
    "Thunderbird": f'<p>{OWN}</p><div class="moz-cite-prefix">Am 02.03. schrieb Ann:</div>'
                   f'<blockquote type="cite">{THEIRS}</blockquote>',
    "Thunderbird, no blockquote": f'<p>{OWN}</p><div class="moz-cite-prefix">Ann schrieb:</div><p>{THEIRS}</p>',
    "GMX": f'<div>{OWN}<div name="quote"><b>Gesendet:</b> Montag<br>{THEIRS}</div></div>',
    "plain": f"{OWN}\n\nVon: Ann\nGesendet: Montag, 2. März 2026\n\n{THEIRS}",
    "plain, Russian": f"{OWN}\n\nОт: Анна\nОтправлено: 2 марта 2026 г.\n\n{THEIRS}",
    "plain, one line": f"{OWN}\n\nDe: Ana Enviado: lunes, 2 de marzo de 2026 Para: Nos\n\n{THEIRS}",
}  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("program", QUOTED_MAILS)
def test_the_customers_words_in_an_answer_are_not_the_agents(program: str, known: bool) -> None:
    mail = QUOTED_MAILS[program]
    earlier = THEIRS if known else "Hello, I have a question."
    result = clean_texts([earlier, mail], [None, "<" in mail or None], 100_000)[1]
    assert result.text == OWN
    assert "W_QUOTED_REPLY" in result.counted


@pytest.mark.parametrize(
    "text",
    [
        "<p>Our rule says:</p><blockquote>Refunds take five days.</blockquote>",
        "<blockquote>Refunds take five days.</blockquote>",
        "<p>Your trip.</p><p>From: London<br>Date: 2 March 2026 09:14<br>To: Paris</p><p>Enjoy!</p>",
        "Your trip is booked.\nFrom: London 09:14\nTo: Paris 11:20\nSee you.",
        "Booked. From: London Date: 2 March 2026 To: Paris.\nSee you.",
        "Please fill in.\nFrom: the day of purchase\nTo: the day of return",
        "It left.\nSent: 2 March 2026 09:14",
    ],
)
def test_own_quotations_and_other_dates_stay(text: str) -> None:
    html = "<" in text or None
    result = clean_texts(["Where is it?", text], [None, html], 100_000)[1]
    assert "W_QUOTED_REPLY" not in result.counted
    assert result.text == (assemble(text, read_html(text).pieces)[0] if html else text)
