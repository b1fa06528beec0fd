"""What became of appeals: the decided ones, page by page, and how often they succeed, by code and release.

A code whose findings people seldom confirm becomes a suggestion (`labeling.exchange.demotion`); what that
rule says now is counted on demand, as the count reads every answer in the store.
"""

from __future__ import annotations

from collections import Counter
from urllib.parse import quote

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from dialint.app.console.i18n import _, paragraph, show_number, show_percent
from dialint.app.console.messages import report_refusals
from dialint.app.console.sessions import lead_route
from dialint.app.console.system.score_results import DOWNLOADS
from dialint.app.console.tables import DialogueLink, share_text, show_paging, show_table
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.overrides import Overrides, dump_overrides
from dialint.detector.taxonomy import Taxonomy
from dialint.labeling.exchange.demotion import DemoteConfig, demote
from dialint.labeling.store import appeals
from dialint.labeling.store.api import Store
from dialint.labeling.store.permissions import has_permission
from dialint.labeling.store.records import Account

PER_PAGE = 20
DEMOTIONS = f"{DOWNLOADS}/demotions"
RULE = DemoteConfig()
WRONG = ("overturned", "amended")
"""States in which the finding was wrong."""


def _state_name(state: str) -> str:
    return {
        "overturned": _("overturned"), "upheld": _("upheld"), "amended": _("amended"), "open": _("open"),
    }[state]  # fmt: skip


def show_decided(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """The decided appeals, newest first."""
    pages: list[int] = st.session_state.setdefault(f"decided pages:{account.id}", [])
    listed = appeals.list_decided(store, account.id, pages[-1] if pages else None, PER_PAGE)
    if not listed and not pages:
        st.info(_("No appeal is decided yet."))
        return
    show_table(
        (_("Number"), _("Dialogue"), _("Turn"), _("Code"), _("Outcome"), _("The agent"), _("The expert")),
        (
            (
                str(one.id), DialogueLink(one.dialogue), str(one.turn), code_title(one.code, taxonomy),
                _state_name(one.state), one.statement, one.reason or "–",
            )
            for one in listed
        ),
    )  # fmt: skip
    last = listed[-1].id if listed else None
    show_paging(pages, last, has_more=len(listed) == PER_PAGE, key="decided")


def show_rates(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    """How often appeals succeed, by code and by release, and the codes that the rule demotes."""
    counted = appeals.count_outcomes(store, account.id)
    if not counted:
        st.info(_("Nobody has appealed yet."))
        return
    by_code: dict[str, Counter[str]] = {}
    by_release: dict[str, Counter[str]] = {}
    for one in counted:
        by_code.setdefault(one.code, Counter())[one.state] += one.n
        by_release.setdefault(one.release, Counter())[one.state] += one.n
    left, right = st.columns(2, gap="medium")
    headings = (_("Decided"), _("Overturned"), _("Amended"), _("Found wrong"), _("Open"))
    with left:
        st.markdown(f"**{safe_markdown(_('By code'))}**")
        ordered = sorted(by_code.items(), key=lambda item: (-_wrong(item[1]), item[0]))
        show_table(
            (_("Code"), *headings), ((code_title(code, taxonomy), *_row(states)) for code, states in ordered)
        )
    with right:
        st.markdown(f"**{safe_markdown(_('By release'))}**")
        show_table(
            (_("Release"), *headings),
            ((release or "–", *_row(states)) for release, states in sorted(by_release.items())),
        )
    st.caption(paragraph("Shares with 95 % Wilson intervals."))
    _show_demotions(store, account, taxonomy)


def _wrong(states: Counter[str]) -> int:
    return sum(states[state] for state in WRONG)


def _row(states: Counter[str]) -> tuple[str, ...]:
    decided = states["upheld"] + _wrong(states)
    numbers = (show_number(decided), show_number(states["overturned"]), show_number(states["amended"]))
    return (*numbers, share_text(_wrong(states), decided), show_number(states["open"]))


def _show_demotions(store: Store, account: Account, taxonomy: Taxonomy) -> None:
    st.markdown(f"**{safe_markdown(_('Codes that become suggestions by themselves'))}**")
    rule = paragraph("A code of a release is demoted").format(
        least=show_number(RULE.least),
        below=show_percent(RULE.below),
        confidence=show_percent(RULE.confidence),
    )
    st.caption(safe_markdown(rule))

    def count() -> None:
        with report_refusals("appeals"):
            st.session_state["demotions"] = (account.id, demote(store, account.id, RULE))

    st.button(
        _("Count now"), key="count demotions", on_click=count,
        help=paragraph("Reads every answer in the store"),
    )  # fmt: skip
    stored = st.session_state.get("demotions")
    if stored is None or stored[0] != account.id:
        return
    counts = stored[1]
    demoted = {release: RULE.demoted(release, by_code) for release, by_code in counts.items()}
    with st.container(horizontal=True, gap="small"):
        for release in [name for name, codes in demoted.items() if codes and has_permission(account, "plan")]:
            st.link_button(
                safe_text(_("Save the file of {release}").format(release=release)),
                safe_text(f"{DEMOTIONS}/{quote(release, safe='')}"), icon=":material/download:",
                help=_("Codes that `dialint score --overrides FILE` only suggests, counted anew."),
            )  # fmt: skip
    rows = [
        (release, code, each, code in demoted[release])
        for release, by_code in counts.items()
        for code, each in by_code.items()
    ]
    rows.sort(key=lambda row: (not row[3], row[2].confirmed / row[2].answered, row[0], row[1]))
    show_table(
        (_("Release"), _("Code"), _("Confirmed"), _("Of"), _("Share"), _("Surely below"), _("What follows")),
        (
            (
                release, code_title(code, taxonomy), show_number(each.confirmed), show_number(each.answered),
                share_text(each.confirmed, each.answered), show_percent(each.upper(RULE.confidence)),
                _("demoted: a suggestion") if is_demoted
                else _("too few") if each.answered < RULE.least else _("stays a finding"),
            )
            for release, code, each, is_demoted in rows
        ),
    )  # fmt: skip


def send_demotions(store: Store, account: str, request: Request) -> Response | None:
    """The overrides with the demoted codes of a release, as an attachment; none without any."""
    release = request.path_params["release"]
    demoted = RULE.demoted(release, demote(store, account, RULE).get(release, {}))
    if not demoted:
        return None
    headers = {"content-disposition": 'attachment; filename="overrides.yaml"', "cache-control": "no-store"}
    content = dump_overrides(Overrides(release=release, demoted=demoted))
    return Response(content, media_type="application/yaml", headers=headers)


ROUTES = [lead_route(f"{DEMOTIONS}/{{release:path}}", send_demotions)]
