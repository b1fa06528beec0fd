"""Spot checks on the Releases page: drawn from the store, read and judged here, and evaluated.

A spot check is a folder of `dialint eval spot-check`, with the same sheet, so that it may as well be filled
in as a spreadsheet; ``overrides.yaml`` beside it is the result that scoring takes. All are in one folder of
the server, which the operator may name.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_number
from dialint.app.console.messages import attempt, explain_as_sentence, report_refusals
from dialint.app.console.tables import Cell, percent_bounds, select, show_table
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.artifacts import MANIFEST, fingerprint
from dialint.detector.environment import home_folder
from dialint.detector.errors import DialintError
from dialint.detector.overrides import NaturalPrecision, read_overrides, update_overrides
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.verdict_files import unescape_cell
from dialint.eval.judgements import count_judgements, read_sheet, read_spot_check
from dialint.eval.spot_check import (
    JUDGEMENTS,
    NOTHING,
    SHEET,
    DrawSize,
    SpotCheck,
    draw,
    write_rows,
    write_sheet,
)
from dialint.labeling.store import dialogues
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import load_judged

SPOT_CHECKS_VARIABLE = "DIALINT_CONSOLE_SPOT_CHECKS"
"""Environment: the folder with the folders of spot checks; without it one in ``$DIALINT_HOME``."""
RESULT = "overrides.yaml"
MAX_FOLDERS = 100
NOTICE = "releases"
WRITING = Lock()
"""Held while a sheet is read and written anew."""


def checks_folder() -> Path:
    """The folder of the spot checks."""
    return Path(os.environ.get(SPOT_CHECKS_VARIABLE) or home_folder() / "spot_checks")


def list_spot_checks() -> list[str]:
    """The spot checks of this server, the newest first: folders that have a sheet or a result."""
    folders = (path for path in checks_folder().glob("*") if (path / MANIFEST).is_file())
    names = [path.name for path in folders if (path / SHEET).exists() or (path / RESULT).exists()]
    return sorted(names, reverse=True)[:MAX_FOLDERS]


def show_spot_checks(store: Store, account: Account, releases: list[str]) -> None:
    """Draw a spot check from what one of the `releases` judged, read one, and show its result."""
    checks = list_spot_checks()
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with right:
        _show_drawing(store, account, releases)
    if not checks:
        left.info(
            _(
                "No spot check is here. A spot check says how often findings are right on your own log: draw "
                "one, and judge its rows in about an hour of reading."
            )
        )
        return
    name = select(_("Spot check"), checks, "spot check", at=left)
    folder = checks_folder() / name
    try:
        result = read_overrides(folder / RESULT).spot_check if (folder / RESULT).exists() else None
        if result is not None and not (folder / SHEET).exists():  # judged elsewhere
            _show_result(result)
            return
        sample, rows = read_spot_check(folder / SHEET), read_sheet(folder / SHEET)
        counted = count_judgements(sample, rows)
    except DialintError as damaged:
        st.error(safe_markdown(explain_as_sentence(damaged)))
        return
    left, right = st.columns([5, 4], gap="large")
    with left:
        _show_reading(store, account, name, sample, rows)
    with right:
        if any(row["judgement"] or row["missed"] for row in rows):
            _show_result(counted)
            is_new = result is None or result.model_copy(update={"judged_on": counted.judged_on}) != counted

            def evaluate() -> None:
                with report_refusals(NOTICE):
                    update_overrides(folder / RESULT, counted.release, spot_check=counted)

            st.button(
                _("Evaluate"), key="evaluate spot check", type="primary", disabled=not is_new,
                on_click=evaluate, help=_("Writes what is judged as the result that scoring keeps to."),
            )  # fmt: skip
            if result is not None:
                if not is_new:
                    st.caption(_("Evaluated, with all that is judged."))
                with st.expander(safe_text(RESULT)):
                    st.caption(
                        _("For `dialint score --overrides`: codes that are seldom right are only suggested.")
                    )
                    st.code(safe_text((folder / RESULT).read_text("utf-8")), language="yaml")
        else:
            text = _("Nothing is judged yet of {n} rows, which were drawn from verdicts of {release}.")
            n = show_number(len(rows))
            st.caption(safe_markdown(text.format(n=n, release=sample.release)))


def _show_drawing(store: Store, account: Account, releases: list[str]) -> None:
    with st.popover(_("Draw a spot check"), disabled=not releases), st.form("draw spot check", border=False):
        release = select(_("Verdicts of"), releases)
        n_findings = st.number_input(
            _("Findings and suggestions"), 1, 500, 60,
            help=_("Two thirds are findings where there are enough; rare codes are not forgotten."),
        )  # fmt: skip
        n_turns = st.number_input(
            _("Turns without a finding"), 0, 500, 60, help=_("They show how many errors are missed."),
        )  # fmt: skip
        pressed = st.form_submit_button(_("Draw"), type="primary")
    if pressed:
        with attempt(NOTICE) as done:
            judged = load_judged(store, account.id, release)
            log_hash = fingerprint(sorted(dialogue.id for dialogue, _verdict in judged))
            taxonomy, size = load_taxonomy(), DrawSize(findings=int(n_findings), turns=int(n_turns))
            read = (dialogue for dialogue, _verdict in judged)
            sample, lines = draw([verdict for _dialogue, verdict in judged], read, log_hash, taxonomy, size)
            name = f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{re.sub('[^A-Za-z0-9._-]', '-', release)}"
            write_sheet(checks_folder() / name, sample, lines, taxonomy)
            st.session_state["spot check"] = name
            text = ngettext("{n} row was drawn.", "{n} rows were drawn.", len(lines))
            done(f"{text} {_('Judge them in any number of sittings; each answer is kept.')}")


def _show_reading(
    store: Store, account: Account, name: str, sample: SpotCheck, rows: list[dict[str, str]]
) -> None:
    """The next row without a judgement, and the buttons that give one."""
    open_rows = [row for row in rows if not (row["judgement"] or row["missed"])]
    done = st.session_state.setdefault(f"judged:{name}", [])
    st.progress(
        1 - len(open_rows) / max(1, len(rows)),
        safe_text(_("{n} of {all} rows judged").format(
            n=show_number(len(rows) - len(open_rows)), all=show_number(len(rows)))),
    )  # fmt: skip

    def judge(number: str, judgement: str, missed: str) -> None:
        with report_refusals(NOTICE):
            enter_judgement(name, number, judgement, missed)
            done.append(number)

    def take_back() -> None:
        with report_refusals(NOTICE):
            if done:  # not at a second click
                enter_judgement(name, done.pop(), "", "")

    if done:
        st.button(_("Take back the last answer"), key="judge back", type="tertiary", on_click=take_back)
    if not open_rows:
        st.success(_("Every row is judged."))
        return
    row = open_rows[0]
    dialogues.read(store, account.id, unescape_cell(row["dialogue"]) or "")  # the store records who reads it
    texts = {column: unescape_cell(cell) or "" for column, cell in row.items()}
    with st.container(border=True):
        if row["kind"] == "turn":
            st.markdown(f"**{safe_markdown(_('Which errors are in the last turn?'))}**")
        else:
            question = _("Is this error in the last turn? {code}")
            question = question.format(code=code_title(texts["code"], load_taxonomy()))
            st.markdown(f"**{safe_markdown(question)}**")
            st.caption(safe_markdown(texts["question"].partition(": ")[2]))
        with st.container(height=300):
            st.text(safe_text(texts["context"].partition("[the turn to judge]")[0].strip()))
        st.text(safe_text(texts["text"]))
        if texts["quote"]:
            st.markdown(f"“{safe_markdown(texts['quote'])}”")
            st.caption(safe_markdown(texts["reason"]))
        number = row["number"]
        if row["kind"] == "turn":
            codes = st.multiselect(
                _("Errors"), sample.codes, format_func=safe_text, key=f"missed:{name}:{number}"
            )
            with st.container(horizontal=True):
                st.button(
                    _("These errors"), key="judge errors", disabled=not codes, type="primary",
                    on_click=judge, args=(number, "", " ".join(codes)),
                )  # fmt: skip
                st.button(_("No error"), key="judge none", on_click=judge, args=(number, "", NOTHING))
        else:
            words = {"right": _("Right"), "wrong": _("Wrong"), "arguable": _("Arguable")}
            with st.container(horizontal=True):
                for judgement in JUDGEMENTS:
                    st.button(
                        safe_text(words[judgement]), key=f"judge {judgement}", on_click=judge,
                        args=(number, judgement, ""),
                    )  # fmt: skip
            st.caption(
                _(
                    "Right: you would deduct for it and could defend that. Arguable: a fair colleague might "
                    "not count it; it counts as not right."
                )
            )


def enter_judgement(name: str, number: str, judgement: str, missed: str) -> None:
    """Write a judgement of a row into the sheet; both empty take it back.

    Raises:
        DialintError: the sheet cannot be read, or not written.
    """
    sheet = checks_folder() / name / SHEET
    with WRITING:
        rows = read_sheet(sheet)
        for row in rows:
            if row["number"] == number:
                row["judgement"], row["missed"] = judgement, missed
        write_rows(sheet, rows)


def _show_result(result: NaturalPrecision) -> None:
    text = _("{release}, judged on {day}: {summary}.")
    st.caption(
        safe_markdown(text.format(release=result.release, day=result.judged_on, summary=result.summary))
    )
    taxonomy = load_taxonomy()
    advice = {
        "keep": _("keep"), "suggestion only": _("suggest only"), "too few judged": _("too few judged"),
    }  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for kind, judged in ((_("finding"), result.findings), (_("suggestion"), result.suggestions)):
        for code, each in judged.items():
            recommendation = advice[result.advice(code)] if judged is result.findings else ""
            right = "–"
            if each.precision is not None:
                right = "{}/{} ({}–{})".format(each.right, each.n, *percent_bounds(*each.interval))
            title = code_title(code, taxonomy)
            rows.append((title, kind, show_number(each.reported), right, recommendation))
    show_table((_("Code"), _("Kind"), _("Reported"), _("Right, of those judged"), _("Advice")), rows)
    turns = result.turns
    if turns.read:
        missed = ", ".join(f"{code} × {n}" for code, n in turns.missed.items()) or "–"
        text = _("Of {n} turns without a finding that were read, {k} had an error: {missed}.")
        st.markdown(
            safe_markdown(
                text.format(n=show_number(turns.read), k=show_number(turns.with_errors), missed=missed)
            )
        )
