"""A team's own thresholds of a release: chosen by the slider of the Thresholds view, listed for all codes,
and taken away as the file that `dialint score --overrides` reads.

    GET /download/thresholds/RELEASE?CODE=THRESHOLD&...

The choice is kept in the session only: what counts is the file, whose fingerprint stands in each verdict
that was made with it. The address holds what the file does, so there is nothing to store; the file is sent to
leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

import streamlit as st
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from dialint.app.console.i18n import _, choose_name, show_number
from dialint.app.console.sessions import lead_route
from dialint.app.console.system.score_results import DOWNLOADS
from dialint.app.console.tables import Cell, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.calibration import CodeRelease
from dialint.detector.overrides import Overrides, dump_overrides
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.database.transactions import Store

CHOSEN = "own thresholds"
MAX_CODES = 200


def load_chosen(release: str) -> dict[str, float]:
    """The thresholds of a release that were chosen in this session, by code; changed in place."""
    chosen: dict[str, float] = st.session_state.setdefault(CHOSEN, {}).setdefault(release, {})
    return chosen


def choose_threshold(release: str, code: str, key: str, today: float | None) -> None:
    """Keep what the slider `key` shows, or nothing where it shows the release's own threshold."""
    chosen, value = load_chosen(release), float(st.session_state[key])
    if today is not None and value == round(today, 2):
        chosen.pop(code, None)
    else:
        chosen[code] = value


def show_own_thresholds(release: str, codes: Mapping[str, CodeRelease]) -> None:
    """List what was chosen, what it means, and the file; `codes` are those of the release, if it is here."""
    st.markdown(f"**{safe_markdown(_('Thresholds of your own'))}**")
    chosen = load_chosen(release)
    if not chosen:
        st.caption(
            _(
                "Move the slider of a code: what you choose is listed here, for all codes of this release, "
                "and can be saved as a file for `dialint score --overrides`."
            )
        )
        return
    taxonomy = load_taxonomy()
    rows: list[tuple[Cell, ...]] = []
    for code, own in sorted(chosen.items()):
        how = codes.get(code)
        released = None if how is None or how.scan is None else how.scan.threshold
        title = f"{code} {choose_name(taxonomy.codes[code].name)}" if code in taxonomy.codes else code
        before = "–" if released is None else show_number(released, "0.00")
        rows.append((title, before, show_number(own, "0.00"), _describe(own, released)))
    show_table((_("Code"), _("Release"), _("Yours"), _("What it does")), rows)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.link_button(
            _("Save the file"), safe_text(thresholds_address(release, chosen)), type="primary",
            icon=":material/download:",
        )  # fmt: skip
        st.button(_("Discard them"), key="discard thresholds", on_click=lambda: _discard(release))
    st.caption(
        _(
            "`dialint score LOG --overrides FILE` scores with them. The file can take accusations back and "
            "make none: between the release’s threshold and a higher one of yours there are suggestions, and "
            "so there are below the release’s. For more findings, `dialint train calibrate` makes a release "
            "from labels of your log. The list is gone when you leave the console; the file stays."
        )
    )
    text = _("Verdicts that are made with this file say so by its fingerprint: {hash}…")
    fingerprint = Overrides(release=release, thresholds=chosen).fingerprint or ""
    st.caption(safe_markdown(text.format(hash=fingerprint[:16])))


def _describe(own: float, released: float | None) -> str:
    if released is None:
        return _("suggestions from there on; the release states no threshold here")
    if own < released:
        return _("lowered: suggestions between the two, no findings")
    return _("raised: suggestions between the two, findings from there on")


def _discard(release: str) -> None:
    load_chosen(release).clear()
    for key in [each for each in st.session_state if str(each).startswith(f"threshold:{release}:")]:
        del st.session_state[key]


def thresholds_address(release: str, codes: Mapping[str, float]) -> str:
    """The address of the file with these thresholds."""
    query = urlencode({code: f"{own:g}" for code, own in sorted(codes.items())})
    return f"{DOWNLOADS}/thresholds/{quote(release, safe='')}?{query}"


def send_thresholds(_store: Store, _account: str, request: Request) -> Response | None:
    """The file, as an attachment; none where the address makes none."""
    items = request.query_params.multi_items()
    try:
        codes = {code: float(own) for code, own in items[: MAX_CODES + 1]}
        if len(items) > MAX_CODES or len(codes) != len(items):
            raise ValueError("a code stands twice, or there are too many")
        overrides = Overrides(release=request.path_params["release"], thresholds=codes)
    except (ValueError, ValidationError):
        return None
    return Response(
        dump_overrides(overrides),
        media_type="application/yaml",
        headers={
            "content-disposition": 'attachment; filename="overrides.yaml"', "cache-control": "no-store",
        },
    )  # fmt: skip


ROUTES = [lead_route(f"{DOWNLOADS}/thresholds/{{release:path}}", send_thresholds)]
