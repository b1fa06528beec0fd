"""What another threshold of a code would mean for a team's own dialogues. Nothing is changed here.

From stored verdicts with all probabilities and from people's decisions: findings and minutes of review a
week, the share that people confirm, the share of known errors that is kept; from the release's contract,
false accusations. What counts is the file of overrides, whose fingerprint stands in verdicts made with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import streamlit as st

from dialint.app.console.i18n import _, ngettext, paragraph, show_number, show_percent
from dialint.app.console.system.release_registry import ReleaseReport
from dialint.app.console.tables import select, share_text
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.calibration import CodeRelease
from dialint.detector.overrides import Overrides, dump_overrides
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import CodeTurns, load_code_turns

STEP = 0.01
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
    if today is None:
        st.caption(_("The release states no threshold for this code here."))
    else:
        text = _("Today’s threshold: {threshold}. Nothing is changed by moving the slider.")
        st.caption(safe_markdown(text.format(threshold=show_number(today, "0.00"))))
        if threshold == round(today, 2):
            threshold = today  # the slider has two decimals
    _show_figures(turns, how, threshold, today)
    n = ngettext("{n} dialogue", "{n} dialogues", turns.n_dialogues)
    text = _("From the newest {dialogues} with all probabilities, over {weeks} weeks.")
    text = text.format(dialogues=n, weeks=show_number(turns.n_weeks, "0.0"))
    about = paragraph("Below today’s threshold every")
    st.caption(safe_markdown(f"{text} {about}"))
    if threshold != today and (today is not None or threshold != 0.5):
        effect = _("suggestions from there on; the release states no threshold here")
        if today is not None and threshold < today:
            effect = _("lowered: suggestions between the two, no findings")
        elif today is not None:
            effect = _("raised: suggestions between the two, findings from there on")
        overrides = Overrides(release=release, thresholds={code: threshold})
        st.markdown(f"**{safe_markdown(_('A file with this threshold'))}** · {safe_markdown(effect)}")
        st.code(safe_text(dump_overrides(overrides)), language="yaml")
        st.caption(paragraph("`dialint score LOG --overrides FILE`"))


@st.cache_data(ttl=TTL_S, max_entries=4, show_spinner=False)
def _load(_store: Store, location: str, actor: str, release: str) -> dict[str, CodeTurns]:
    """Load the turns of a release, for this actor only, whose role each run of the page reads from the
    store."""
    return load_code_turns(_store, actor, release)


def _show_figures(turns: CodeTurns, how: CodeRelease | None, threshold: float, today: float | None) -> None:
    now = apply_threshold(turns, threshold, today)
    more = 0.0 if today is None else now.per_week - apply_threshold(turns, today, today).per_week
    delta = _("{difference} against today").format(difference=show_number(more, "+0.0;−0.0"))
    columns = st.columns(4)
    columns[0].metric(
        _("Findings a week"), safe_markdown(show_number(now.per_week, "0.0")),
        delta=safe_markdown(delta if abs(more) >= 0.05 else ""), delta_color="off",
    )  # fmt: skip
    for column, label, about, n in (
        (columns[1], _("Confirmed by people"),
         _("Of the findings at this threshold that somebody has decided."), now.decided),
        (columns[2], _("Known errors kept"),
         _("Of all errors that people saw in these dialogues, whatever the model said."), now.errors),
    ):  # fmt: skip
        share = show_percent(now.confirmed / n) if n else "–"
        column.metric(safe_markdown(label), safe_markdown(share), help=safe_markdown(about))
        column.caption(safe_markdown(f"{now.confirmed}/{n}: {share_text(now.confirmed, n)}"))
    minutes = now.minutes(turns.seconds)
    columns[3].metric(
        _("Minutes of review a week"),
        safe_markdown("–" if minutes is None else show_number(minutes, "0.0")),
        help=_("Dialogues with such a finding, at the median time that reviewers take for a dialogue."),
    )  # fmt: skip
    if turns.seconds:
        text = _("{n} s a dialogue").format(n=show_number(round(median(turns.seconds))))
        columns[3].caption(safe_markdown(text))
    contract = None if how is None or how.scan is None else how.scan.contract
    lines = [_("The release has no contract for this code: it promises no rate of false accusations.")]
    if contract is not None:
        text = paragraph("Below the contract’s threshold")
        if threshold + STEP / 2 >= contract.threshold:
            text = _("By the contract at most {rate} false accusations per 100 clean {unit} ({sure} sure).")
        lines = [
            text.format(
                threshold=show_number(contract.threshold, "0.00"), sure=show_percent(contract.confidence),
                rate=show_number(contract.false_accusations_per_100, "0.00"),
                unit=_("turns") if contract.per == "turn" else _("dialogues"),
            )
        ]  # fmt: skip
    if today is None or threshold < today:
        lines.append(_("Scored with this threshold, what lies below the release’s own are suggestions."))
    if now.clean:
        text = _("Of {n} turns that people found free of this error, {k} are flagged: {rate} per 100.")
        k = now.decided - now.confirmed
        rate = show_number(100 * k / now.clean, "0.0")
        lines.append(text.format(n=show_number(now.clean), k=show_number(k), rate=rate))
    for line in lines:
        st.markdown(safe_markdown(line))
