"""What another threshold of a code would mean for a team's own dialogues. Nothing is changed here.

From stored verdicts with all probabilities and from people's decisions: findings and minutes of review a
week, the share that people confirm, the share of known errors that is kept; from the release's contract,
false accusations. What counts is the file of overrides, whose fingerprint stands in verdicts made with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import streamlit as st

from dialint.app.console.charts import MARKED, MUTED, STRONG
from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.system.release_reports import ReleaseReport
from dialint.app.console.tables import select, share_text
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.calibration import CodeRelease
from dialint.detector.overrides import Overrides, dump_overrides
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import CodeTurns, load_code_turns

STEP = 0.01
GRID = tuple(round(0.05 + at * 0.025, 3) for at in range(39))
"""Thresholds of the chart, up to 1."""
TTL_S = 120.0
"""For this long the turns of a release are kept in memory; newer verdicts and answers come in later."""


@dataclass(frozen=True)
class AtThreshold:
    """The consequences of one threshold: of `decided` flagged turns, `confirmed` are errors by people's
    answers; `errors` and `clean` turns are all in which people saw an error, or none."""

    per_week: float
    dialogues_per_week: float
    confirmed: int
    decided: int
    errors: int
    clean: int

    def minutes(self, seconds: Sequence[float]) -> float | None:
        """Minutes of review a week, at the median time for a dialogue; none if no time is known."""
        return self.dialogues_per_week * median(seconds) / 60 if seconds else None


def apply_threshold(turns: CodeTurns, threshold: float, today: float | None) -> AtThreshold:
    """What a threshold means. `today`: the release's own one. A turn that the scan marked from there on and
    that is no finding was lowered by another rule, and stays so; below it nobody knows what the others would
    say, so there every turn counts."""
    flagged = [
        each
        for each in turns.turns
        if each.probability >= threshold and (each.is_finding or today is None or each.probability < today)
    ]
    decided = [each for each in flagged if each.answer is not None]
    answered = [each for each in turns.turns if each.answer is not None]
    n_errors = sum(bool(each.answer) for each in answered)
    return AtThreshold(
        per_week=len(flagged) / turns.n_weeks,
        dialogues_per_week=len({each.dialogue for each in flagged}) / turns.n_weeks,
        confirmed=sum(bool(each.answer) for each in decided),
        decided=len(decided),
        errors=n_errors + turns.n_unscanned,
        clean=len(answered) - n_errors,
    )


def show_threshold(
    store: Store, account: Account, reports: dict[str, ReleaseReport], stored: list[str]
) -> None:
    """Show the slider and what it means."""
    if not stored:
        st.info(_("The store has no verdicts yet. Score a log and add it to the store."))
        return
    left, right = st.columns(2)
    release = select(_("Release"), stored, "threshold release", at=left)
    with st.spinner(_("Reading the verdicts…")):
        by_code = _load(store, str(store.engine.url), account.id, release)
    if not by_code:
        st.info(paragraph("Verdicts of this release were"))
        return
    released = reports[release].info.codes if release in reports else {}
    taxonomy = load_taxonomy()

    codes = sorted(by_code, key=lambda code: (-sum(each.is_finding for each in by_code[code].turns), code))
    code = select(_("Code"), {each: code_title(each, taxonomy) for each in codes}, "threshold code", at=right)
    turns, how = by_code[code], released.get(code)
    today = None if how is None or how.scan is None else how.scan.threshold
    key = f"threshold:{release}:{code}"
    if key not in st.session_state:
        st.session_state[key] = round(today if today is not None else 0.5, 2)
    threshold = st.slider(
        _("Threshold"), min_value=0.05, max_value=1.0, step=STEP, key=key,
        help=_("The least probability of a finding. Moving it changes nothing but this page."),
        disabled=how is not None and how.scan is None,
    )  # fmt: skip
    st.caption(safe_markdown(_today_text(today)))
    if today is not None and threshold == round(today, 2):
        threshold = today  # the slider has two decimals
    _show_figures(turns, how, threshold, today)
    _show_chart(turns, threshold, today)
    n = ngettext("{n} dialogue", "{n} dialogues", turns.n_dialogues)
    weeks = show_number(turns.n_weeks, "0.0")
    text = _("From the newest {dialogues} with all probabilities, over {weeks} weeks.")
    st.caption(
        safe_markdown(
            text.format(dialogues=n, weeks=weeks) + " " + paragraph("Below today’s threshold every")
        )
    )
    if threshold != today and (today is not None or threshold != 0.5):
        _show_overrides(release, code, threshold, today)


@st.cache_data(ttl=TTL_S, max_entries=4, show_spinner=False)
def _load(_store: Store, location: str, actor: str, release: str) -> dict[str, CodeTurns]:
    """Load the turns of a release, for this actor only, whose role each run of the page reads from the
    store."""
    return load_code_turns(_store, actor, release)


def _today_text(today: float | None) -> str:
    if today is None:
        return _("The release states no threshold for this code here.")
    return _("Today’s threshold: {threshold}. Nothing is changed by moving the slider.").format(
        threshold=show_number(today, "0.00")
    )


def _show_figures(turns: CodeTurns, how: CodeRelease | None, threshold: float, today: float | None) -> None:
    now = apply_threshold(turns, threshold, today)
    before = None if today is None else apply_threshold(turns, today, today)
    columns = st.columns(4)
    columns[0].metric(
        _("Findings a week"), safe_markdown(show_number(now.per_week, "0.0")),
        delta=safe_markdown(_delta(now.per_week, None if before is None else before.per_week)),
        delta_color="off",
    )  # fmt: skip
    share = "–" if not now.decided else show_percent(now.confirmed / now.decided)
    columns[1].metric(
        _("Confirmed by people"), safe_markdown(share),
        help=_("Of the findings at this threshold that somebody has decided."),
    )  # fmt: skip
    columns[1].caption(
        safe_markdown(f"{now.confirmed}/{now.decided}: {share_text(now.confirmed, now.decided)}")
    )
    recall = "–" if not now.errors else show_percent(now.confirmed / now.errors)
    columns[2].metric(
        _("Known errors kept"), safe_markdown(recall),
        help=_("Of all errors that people saw in these dialogues, whatever the model said."),
    )  # fmt: skip
    columns[2].caption(
        safe_markdown(f"{now.confirmed}/{now.errors}: {share_text(now.confirmed, now.errors)}")
    )
    minutes = now.minutes(turns.seconds)
    columns[3].metric(
        _("Minutes of review a week"),
        safe_markdown("–" if minutes is None else show_number(minutes, "0.0")),
        help=_("Dialogues with such a finding, at the median time that reviewers take for a dialogue."),
    )  # fmt: skip
    if turns.seconds:
        text = _("{n} s a dialogue").format(n=show_number(round(median(turns.seconds))))
        columns[3].caption(safe_markdown(text))
    lines = [_contract_text(how, threshold)]
    if today is None or threshold < today:
        lines.append(_("Scored with this threshold, what lies below the release’s own are suggestions."))
    if now.clean:
        text = _("Of {n} turns that people found free of this error, {k} are flagged: {rate} per 100.")
        k = now.decided - now.confirmed
        rate = show_number(100 * k / now.clean, "0.0")
        lines.append(text.format(n=show_number(now.clean), k=show_number(k), rate=rate))
    for line in lines:
        st.markdown(safe_markdown(line))


def _delta(now: float, before: float | None) -> str:
    if before is None or abs(now - before) < 0.05:
        return ""
    return _("{difference} against today").format(difference=show_number(now - before, "+0.0;−0.0"))


def _contract_text(how: CodeRelease | None, threshold: float) -> str:
    contract = None if how is None or how.scan is None else how.scan.contract
    if contract is None:
        return _("The release has no contract for this code: it promises no rate of false accusations.")
    unit = _("turns") if contract.per == "turn" else _("dialogues")
    rate = show_number(contract.false_accusations_per_100, "0.00")
    sure = show_percent(contract.confidence)
    if threshold + STEP / 2 >= contract.threshold:
        text = _("By the contract at most {rate} false accusations per 100 clean {unit} ({sure} sure).")
        return text.format(rate=rate, unit=unit, sure=sure)
    text = paragraph("Below the contract’s threshold")  # fmt: skip
    return text.format(threshold=show_number(contract.threshold, "0.00"), rate=rate, unit=unit)


def _show_chart(turns: CodeTurns, threshold: float, today: float | None) -> None:
    points: list[dict[str, Any]] = []
    names = (_("Confirmed by people"), _("Known errors kept"))
    for at in GRID:
        there = apply_threshold(turns, at, today)
        for name, whole in zip(names, (there.decided, there.errors), strict=True):
            if whole:
                points.append({"threshold": at, "series": name, "share": there.confirmed / whole})
    if not points:
        st.caption(_("Nobody has decided on a turn of this code yet, so there is no share to draw."))
        return
    color = {
        "field": "series", "type": "nominal", "title": None, "legend": {"orient": "top"},
        "scale": {"domain": list(names), "range": [STRONG, MARKED]},
    }  # fmt: skip
    x = {"type": "quantitative", "title": _("Threshold"), "scale": {"domain": [0, 1]}}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": points},
            "mark": {"type": "line", "point": {"size": 28}, "tooltip": True},
            "encoding": {
                "x": {**x, "field": "threshold"},
                "y": {
                    "field": "share", "type": "quantitative", "title": None, "scale": {"domain": [0, 1]},
                    "axis": {"format": ".0%", "tickCount": 5},
                },
                "color": color,
                "strokeDash": {**color, "scale": {"domain": list(names), "range": [[1, 0], [5, 3]]}},
            },
        }
    ]  # fmt: skip
    for place, dash in ((threshold, [1, 0]), (today, [5, 4])):
        mark = {"type": "rule", "strokeDash": dash, "strokeWidth": 1.5, "color": MUTED}
        if place is not None:
            layers.append(
                {"data": {"values": [{"at": place}]}, "mark": mark, "encoding": {"x": {**x, "field": "at"}}}
            )
    st.vega_lite_chart(
        {"layer": layers},
        height=260,
        theme="streamlit",
        alt=_("Shares by threshold, as in the figures above"),
    )


def _show_overrides(release: str, code: str, threshold: float, today: float | None) -> None:
    """Show the file with which `dialint score` takes a threshold, and what it does."""
    if today is None:
        text = _("suggestions from there on; the release states no threshold here")
    elif threshold < today:
        text = _("lowered: suggestions between the two, no findings")
    else:
        text = _("raised: suggestions between the two, findings from there on")
    overrides = Overrides(release=release, thresholds={code: threshold})
    st.markdown(f"**{safe_markdown(_('A file with this threshold'))}** · {safe_markdown(text)}")
    st.code(safe_text(dump_overrides(overrides)), language="yaml")
    st.caption(paragraph("`dialint score LOG --overrides FILE`"))
