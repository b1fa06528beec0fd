"""Text for the screen: escaping of text from outside, and sentences about findings and codes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache
from typing import get_args

from dialint.app.console.i18n import _, choose_name, ngettext, show_number, show_percent
from dialint.detector.languages import describe_gaps, language_name
from dialint.detector.records import Dialogue, Severity, Verdict
from dialint.detector.registry import SHIPPED_RELEASES
from dialint.detector.release import Release
from dialint.detector.taxonomy import Code, Names, Taxonomy, load_taxonomy
from dialint.labeling.store.insights import JudgedGroup

MAX_CELL = 160
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@=^\"'])")
_JOINED = re.compile(
    r"(?<=:)(?=[\w/+-])|(?<=www)(?=\.)|(?=@)|(?<=<)(?=-)|(?<=-)(?=[->])|(?<=[<>~])(?==)", re.IGNORECASE
)
"""Positions at which an invisible character is inserted, as escapes do not protect the text there: addresses
that Streamlit makes links of, icons, emoji and arrows, which it replaces after the escapes are resolved."""
_CUT = "\u2060"

_C0 = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\t\r"} | {0x7F: "\u2421"}
_BIDI = {
    0x061C: "ALM", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO",
    0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
_UNSEEN = {
    0x00AD: "SHY", 0x034F: "CGJ", 0x115F: "HCF", 0x1160: "HJF", 0x180E: "MVS", 0x200B: "ZWSP",
    0x200C: "ZWNJ", 0x200D: "ZWJ", 0x2028: "LSEP", 0x2029: "PSEP", 0x2060: "WJ", 0x3164: "HF", 0xFEFF: "BOM",
    0xFFA0: "HHF", 0xFFFC: "OBJ",
}  # fmt: skip
_RANGES = ((0x80, 0x9F), (0x2061, 0x2065), (0x206A, 0x206F), (0xFFF0, 0xFFFB), (0xE0000, 0xE0FFF))
HIDDEN = _BIDI | _UNSEEN | {code: f"U+{code:04X}" for low, high in _RANGES for code in range(low, high + 1)}
"""Names of characters that reverse the text around them or are invisible, except the C0 controls."""
_NOT_LATIN = r"[\u0590-\u1fff\u2190-\ufdff\ufe0f\U00010000-\U000dffff]"
_JOINER = r"[\u200c\u200d]"
_ALONE = "".join(chr(code) for code in (_BIDI | _UNSEEN))
_HIDDEN = f"[{_ALONE}{''.join(f'{chr(low)}-{chr(high)}' for low, high in _RANGES)}]"
HIDDEN_PATTERN = re.compile(f"{_HIDDEN}(?:(?<!{_JOINER})|(?!{_NOT_LATIN})|(?<!{_NOT_LATIN}{_JOINER}))")
"""Matches such a character. Joiners inside of emoji and of scripts that need them are not matched."""


def replace_controls(text: str) -> str:
    """Return `text` with a picture for each C0 control, one code point for one."""
    return text.translate(_C0)


def safe_text(text: str) -> str:
    """Escape text from outside for a place that reads no markup: nothing in it reverses or hides what is
    beside it. ``a\u202eb`` becomes ``a⟦RLO⟧b``."""
    return HIDDEN_PATTERN.sub(lambda match: f"⟦{HIDDEN[ord(match[0])]}⟧", replace_controls(text))


def safe_markdown(text: str) -> str:
    """Escape text from outside for a place where Streamlit reads Markdown: `safe_text` on one line, without
    markup."""
    return _SPECIAL.sub(r"\\\1", _JOINED.sub(_CUT, safe_text(" ".join(text.split()))))


def safe_html(text: str) -> str:
    """Escape text from outside for HTML: `safe_text`, without markup."""
    return html.escape(safe_text(text))


def shorten_text(text: str) -> str:
    """Return the text, or its beginning, for a cell of a table."""
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def percent(probability: float) -> str:
    """Format a probability for a person; never 0 % or 100 %, which would say that it is certain."""
    if probability < 0.01:
        return _("under 1 %")
    return _("over 99 %") if probability > 0.99 else show_percent(probability)


def code_title(code: str, taxonomy: Taxonomy) -> str:
    """Return code and name, as ``C1 Question ignored``; the bare code if it is of another taxonomy."""
    entry = taxonomy.codes.get(code)
    return code if entry is None else f"{code} {choose_name(entry.name)}"


def lookup_code(code: str, taxonomy: Taxonomy) -> Code:
    """Return the taxonomy's entry of a code; a placeholder with any severity if it has none."""
    words = "A code of another taxonomy. Your lead knows what it means."
    return taxonomy.codes.get(code) or Code.model_construct(
        code=code, name=Names.model_construct(en=code, es=code, ru=code), definition=words, test=words,
        example="", counter_example="", scope="span", severity="S2", severities=get_args(Severity),
        fault="agent", needs=(),
    )  # fmt: skip


def severity_title(severity: str, taxonomy: Taxonomy) -> str:
    """Return code and name of a severity, as ``S2 Major``."""
    return next(
        (f"{each.code} {choose_name(each.name)}" for each in taxonomy.severities if each.code == severity),
        severity,
    )


def judged_codes(verdict: Verdict) -> frozenset[str] | None:
    """Return the codes that the verdict's release covers; None if that is not known."""
    shipped = _shipped_codes().get(verdict.release)
    if shipped is not None or verdict.probabilities is None:
        return shipped
    return frozenset(code for codes in verdict.probabilities.values() for code in codes)


def coverage_lists(verdict: Verdict, taxonomy: Taxonomy) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the codes that the release or its judge judged, and those that neither did; None if unknown."""
    covered, judge = judged_codes(verdict), verdict.judge
    if covered is None:
        return None
    by_judge = frozenset() if judge is None else frozenset(judge.codes) - judge.silent_codes
    searched = {code for code in taxonomy.codes if is_judged(code, covered, verdict.unjudged_codes, by_judge)}
    judged = tuple(code for code in taxonomy.codes if code in searched)
    return judged, tuple(code for code in taxonomy.codes if code not in searched)


def is_judged(
    code: str, covered: frozenset[str] | None, unjudged: frozenset[str], by_judge: frozenset[str]
) -> bool:
    """Return whether a code was judged: by the judge, or by the release, whose codes are `covered` (all, if
    that is not known), unless its verdict leaves the code `unjudged`."""
    return code in by_judge or (code not in unjudged and (covered is None or code in covered))


def count_judged(code: str, groups: Iterable[JudgedGroup]) -> int:
    """Return how many of the scored dialogues were judged for a code."""
    shipped = _shipped_codes()
    return sum(
        each.dialogues for each in groups
        if is_judged(code, shipped.get(each.release), each.unjudged, each.by_judge)
    )  # fmt: skip


def no_findings_text(verdict: Verdict, taxonomy: Taxonomy) -> str:
    """Say that there are no findings, among how many codes, and which codes were not judged."""
    lists = coverage_lists(verdict, taxonomy)
    if lists is None:
        return _("No findings. It is not known which codes were looked for.")
    judged, not_judged = lists
    if not not_judged:
        return _("No findings among all {n} codes.").format(n=show_number(len(judged)))
    text = _("No findings among the {n} codes that were looked for; {m} were not: {codes}.")
    numbers = {"n": show_number(len(judged)), "m": show_number(len(not_judged))}
    return text.format(**numbers, codes=", ".join(not_judged))


def quality_text(verdict: Verdict) -> str:
    """Format the quality of a scored verdict; a number only if the dialogue was judged as a whole."""
    if verdict.quality is None:
        return _("Quality unknown: a part was not judged")
    return _("Quality {n}").format(n=show_number(round(verdict.quality)))


@cache
def _shipped_codes() -> dict[str, frozenset[str]]:
    infos = (Release(folder, has_scan=False).info for folder in SHIPPED_RELEASES.values())
    return {info.id: frozenset(info.covered) for info in infos}


def coverage_text(verdict: Verdict | None, code: str) -> str:
    """Say in a sentence whether the model judged a code."""
    if verdict is None:
        return _("No model has judged this dialogue.")
    gaps, codes, release = verdict.not_judged, judged_codes(verdict), verdict.release
    not_judged = dict.fromkeys(language_name(gap.language) for gap in gaps if code in gap.codes)
    check_only = dict.fromkeys(language_name(gap.language) for gap in gaps if code in gap.check_only)
    if verdict.status == "failed":
        text = _("{release} failed on this dialogue, so it judged no code.")
    elif not_judged:
        text = _("{release} did not judge this code in: {languages}.")
    elif check_only:
        text = _("{release} looked for this code by an exact check only in: {languages}.")
    elif codes is None:
        text = _("It is not known whether {release} judges this code.")
    else:
        text = _("{release} judged this code.") if code in codes else _("{release} did not judge this code.")
    return text.format(release=release, languages=", ".join(not_judged or check_only))


def verdict_text(verdict: Verdict | None, n_proposed: int, n_suggested: int = 0) -> str:
    """Summarise the verdict; `n_proposed` of its findings and `n_suggested` suggestions are part of the
    task."""
    if verdict is None:
        return _("No model has judged this dialogue.")
    if verdict.status == "failed":
        failed = _("{release} failed on this dialogue ({failure}). That is not a clean dialogue.")
        return failed.format(release=verdict.release, failure=verdict.failure)
    gap = describe_gaps(verdict)
    if verdict.status == "not_judged" and not verdict.findings:
        silent = _("{release} did not judge this dialogue ({gap}). That is not a clean dialogue.")
        return silent.format(release=verdict.release, gap=gap)
    findings = ngettext("{n} finding", "{n} findings", n_proposed) if n_proposed else _("no findings")
    if not verdict.findings:
        findings = no_findings_text(verdict, load_taxonomy()).rstrip(".")
    hidden = len(verdict.findings) - n_proposed
    more = ""
    if hidden:
        more = _(", and {n} more that this task does not ask about").format(n=show_number(hidden))
    if n_suggested:
        more += ngettext(
            "; {n} suggestion below, not counted", "; {n} suggestions below, not counted", n_suggested
        )
    judged = ""
    if (judge := verdict.judge) is not None:
        codes = ", ".join(sorted(judge.silent_codes))
        limits = _("; it says nothing of {codes}").format(codes=codes) if codes else ""
        questions = ngettext("{n} question", "{n} questions", judge.readings + judge.second_looks)
        text = _("{name} was asked {questions}").format(name=judge.name, questions=questions)
        judged = f" {text}{limits}."
    return f"{verdict.release}: {findings}{more}{f' ({gap})' if gap else ''}.{judged}"


def origin_text(dialogue: Dialogue) -> str:
    """Return agent, team, channel and time of a dialogue; empty if the log does not say."""
    at = dialogue.started_at
    parts = [
        _("Agent {name}").format(name=dialogue.agent) if dialogue.agent is not None else "",
        _("team {name}").format(name=dialogue.team) if dialogue.team is not None else "",
        dialogue.channel or "",
        f"{at:%Y-%m-%d %H:%M}" if at is not None else "",
    ]
    return ", ".join(part for part in parts if part)


def explain_code(code: Code) -> str:
    """Return definition, test and examples of a code, as Markdown."""
    return (
        f"**{safe_markdown(code.definition)}**\n\n{safe_markdown(code.test)}\n\n"
        f"{safe_markdown(_('Error:'))} {safe_markdown(code.example)}\n\n"
        f"{safe_markdown(_('No error:'))} {safe_markdown(code.counter_example)}"
    )
