"""Promoting a release and going back to the one before, with a reason, and who did so; the releases on this
machine: the embedded one, those of the registry, and those of a folder that the operator opened.

The store checks the right and records the change before the registry is touched; what the registry refuses
is recorded, too. A release is verified whole when it is first opened here, and again by the button; in
between its report is kept in memory, by the seal of its manifest.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, from_ms, ngettext, paragraph, show_number, show_percent, show_time
from dialint.app.console.messages import attempt, explain_as_sentence
from dialint.app.console.tables import Cell, show_table
from dialint.app.console.text import safe_markdown, safe_text
from dialint.detector.artifacts import MANIFEST
from dialint.detector.calibration import CodeRelease
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.registry import KINDS, Registry, ReleaseKind, VerifiedFolder, verify_folder
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.statistics import wilson_interval
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import Change, list_changes, record_change

NOTICE = "releases"
"""Of the messages of the page."""
MAX_REASON, MIN_REASON = 500, 3
EMPTY: dict[str, str | bool] = {
    "promote reason": "", "promote sure": False, "rollback reason": "", "rollback sure": False,
}  # fmt: skip
"""The fields that confirm a change, and their values in an empty form."""


def show_changes(store: Store, account: Account, entries: list[ReleaseEntry]) -> None:
    """Show what is in use, the two ways to change it, and the history."""
    left, right = st.columns(2, gap="large")
    with left:
        _show_promotion(store, account, entries)
    with right:
        _show_rollback(store, account)
    _show_history(store, account)


def _show_promotion(store: Store, account: Account, entries: list[ReleaseEntry]) -> None:
    st.markdown(f"**{safe_markdown(_('Promote'))}**")
    names = [*list_candidates(), *(
        f"{entry.kind}/{entry.name}" for entry in entries if entry.name != "embedded" and not entry.in_use
    )]  # fmt: skip
    if not names:
        st.info(_("No other release is here yet."))
        return
    name = st.selectbox(_("Release"), names, format_func=safe_text, key="promote release")
    sentence = _show_consequences(entries, name)
    with st.form("promote", clear_on_submit=False):
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="promote reason")
        sure = st.checkbox(safe_markdown(sentence), key="promote sure")
        pressed = st.form_submit_button(_("Promote"), type="primary")
    st.caption(paragraph("It is verified byte by byte"))
    if pressed and _is_confirmed(reason, sure):
        with attempt(NOTICE, EMPTY) as done:
            done(promote(store, account.id, name, reason.strip()))


def _show_consequences(entries: list[ReleaseEntry], name: str) -> str:
    """Verify a release and show what its promotion changes. Returns the sentence that one has to confirm."""
    try:
        source = find_candidate(name, is_recent=True)
    except DialintError as damaged:
        st.error(safe_markdown(explain_as_sentence(damaged)))
        return _("From now on this release scores what is scored with the current one.")
    current = next((entry for entry in entries if entry.kind == source.kind and entry.in_use), None)
    before = _("no judge") if current is None else current.name
    if source.kind == "scan" and current is not None:
        new = read_report(ReleaseEntry("scan", source.id, source.folder))
        rows = compare_reports(read_report(current), new)
        show_table((_("What changes"), safe_text(before), safe_text(source.id)), rows)
    st.caption(safe_markdown(_("Verified: {hash}…").format(hash=source.fingerprint[:16])))
    text = _("From now on {name} scores, instead of {before}.") if source.kind == "scan" else _(
        "From now on {name} is the current judge, instead of {before}.")  # fmt: skip
    return text.format(name=source.id, before=before)


def compare_reports(old: ReleaseReport, new: ReleaseReport) -> list[tuple[Cell, ...]]:
    """What a promotion changes, a row each: codes, thresholds, measured figures."""

    def list_codes(own: ReleaseReport, other: ReleaseReport) -> str:
        more = [code for code in own.codes if code not in other.codes]
        n = ngettext("{n} code", "{n} codes", len(own.codes))
        return n if not more else _("{codes}, only here: {more}").format(codes=n, more=", ".join(more))

    def threshold(report: ReleaseReport, code: str) -> float | None:
        how = report.how(code)
        return None if how is None or how.scan is None else how.scan.threshold

    rows: list[tuple[Cell, ...]] = [(_("Codes covered"), list_codes(old, new), list_codes(new, old))]
    for code in (code for code in old.codes if code in new.codes):
        first, second = threshold(old, code), threshold(new, code)
        if first != second:
            texts = ["–" if each is None else show_number(each, "0.00") for each in (first, second)]
            rows.append((_("Threshold of {code}").format(code=code), *texts))
    for label, figure in (
        (_("Right findings"), "precision_of_findings"),
        (_("Errors found"), "recall_of_errors"),
    ):
        values = [report.headline(figure) for report in (old, new)]
        rows.append((label, *("–" if each is None else show_percent(each) for each in values)))
    return rows


def _show_rollback(store: Store, account: Account) -> None:
    """The form to go back. After each change it is another one: a second click on the old one does
    nothing."""
    st.markdown(f"**{safe_markdown(_('Roll back'))}**")
    before: dict[ReleaseKind, str] = {}
    for kind in KINDS:
        try:
            pointer = Registry(kind).current()
        except DialintError as damaged:
            st.error(safe_markdown(explain_as_sentence(damaged)))
            continue
        if pointer is not None and pointer.earlier:
            before[kind] = f"{kind}: {pointer.id} → {pointer.earlier[-1]}"
    if not before:
        st.info(_("There is no release before the current one to go back to."))
        return
    with st.form(f"roll back:{sorted(before.values())}", clear_on_submit=False):
        kind = st.selectbox(
            _("From and to"), list(before), key="rollback kind",
            format_func=lambda each: safe_text(before[each]),
        )  # fmt: skip
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="rollback reason")
        sure = st.checkbox(_("I want the earlier release back."), key="rollback sure")
        pressed = st.form_submit_button(_("Roll back"))
    if pressed and _is_confirmed(reason, sure):
        with attempt(NOTICE, EMPTY) as done:
            done(roll_back(store, account.id, kind, reason.strip()))


def _is_confirmed(reason: str, sure: bool) -> bool:
    """Whether the form is complete; if not, says what is missing."""
    if len(reason.strip()) < MIN_REASON:
        st.warning(_("Say why: the reason stands in the audit log."))
        return False
    if not sure:
        st.warning(_("Tick the box to confirm."))
        return False
    return True


def promote(store: Store, actor: str, name: str, reason: str) -> str:
    """Make a release the current one; a refusal is recorded, too. Returns the notice."""
    record_change(store, actor, "promote", name, reason)
    try:
        source = find_candidate(name)
        pointer = Registry(source.kind).promote(source)
    except DialintError as refused:
        record_change(store, actor, "refused", name, reason, f"{refused.code}: {refused.message}")
        raise
    return _("{name} is current now.").format(name=pointer.id)


def roll_back(store: Store, actor: str, kind: ReleaseKind, reason: str) -> str:
    """Make the earlier release of a kind current again; a refusal is recorded, too. Returns the notice."""
    pointer = Registry(kind).current()
    name = f"{kind}/{pointer.earlier[-1] if pointer is not None and pointer.earlier else '-'}"
    record_change(store, actor, "rollback", name, reason)
    try:
        pointer = Registry(kind).rollback()
    except DialintError as refused:
        record_change(store, actor, "refused", name, reason, f"{refused.code}: {refused.message}")
        raise
    return _("{name} is current again.").format(name=pointer.id)


def _show_history(store: Store, account: Account) -> None:
    st.markdown(f"**{safe_markdown(_('Changes'))}**")
    names: dict[Change, str] = {
        "promote": _("promoted"), "rollback": _("rolled back to"), "refused": _("refused"),
    }  # fmt: skip
    changes = list_changes(store, account.id)
    if changes:
        show_table(
            (_("When"), _("Who"), _("What"), _("Release"), _("Reason")),
            [
                (
                    show_time(from_ms(each.at_ms)), each.account,
                    dict(names).get(each.action, each.action),  # type: ignore[call-overload]
                    each.release, ": ".join(part for part in (each.reason, each.message) if part),
                )
                for each in changes
            ],
        )  # fmt: skip
    else:
        st.caption(_("Nothing was changed in the console yet."))
    rows = []
    for kind in KINDS:
        try:
            rows += [
                (line.at, kind, line.action, line.before or "–", line.id) for line in Registry(kind).history()
            ]
        except DialintError as damaged:
            st.error(safe_markdown(explain_as_sentence(damaged)))
    if rows:
        with st.expander(_("The registry’s own history, by the command line, too")):
            show_table(
                (_("When"), _("Kind"), _("What"), _("Before"), _("Current since")),
                sorted(rows, reverse=True)[:100],
            )


RELEASES_VARIABLE = "DIALINT_CONSOLE_RELEASES"
"""Environment: a folder with releases that leads may promote; without it only those in the registry."""
CARD = "MODEL_CARD.md"
MAX_CARD = 100_000


@dataclass(frozen=True)
class ReleaseEntry:
    """A release: `name` is its id in the registry, or ``embedded``; `in_use` says whether the pointer is at
    it; `promoted_at` is when it was last made current (ISO 8601), if ever."""

    kind: ReleaseKind
    name: str
    folder: Path
    in_use: bool = False
    promoted_at: str = ""


@dataclass(frozen=True)
class ReleaseReport:
    """A verified scan release: its `release.json`, files with sizes and hashes, and its model card."""

    info: ReleaseInfo
    files: tuple[dict[str, Any], ...]
    card: str

    def measurements(self, code: str) -> dict[str, Any]:
        """What was measured of a code on errors of unseen kinds; empty if it was not. An interval without
        width, as reports had it where all drawn dialogues agreed, is replaced by Wilson's of the counts."""
        on_unseen: Any = self.info.report.get("test_unseen")
        codes = on_unseen.get("codes", {}) if isinstance(on_unseen, dict) else {}
        measured: dict[str, Any] = {**codes.get(code, {})}
        for name, count in (
            ("precision", "flagged"),
            ("recall", "n_errors"),
            ("average_precision", "n_errors"),
        ):
            interval, n = measured.get(f"{name}_95"), measured.get(count)
            if isinstance(interval, list) and interval[0] is not None and interval[0] == interval[1] and n:
                measured[f"{name}_95"] = list(wilson_interval(measured[name] * n, n))
        return measured

    def headline(self, name: str) -> float | None:
        """A figure of all codes together on errors of unseen kinds; none if it was not measured."""
        on_unseen: Any = self.info.report.get("test_unseen")
        value = on_unseen.get(name) if isinstance(on_unseen, dict) else None
        return value if isinstance(value, int | float) else None

    def how(self, code: str) -> CodeRelease | None:
        """How the release finds a code; none if it does not cover it."""
        return self.info.codes.get(code)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it covers."""
        return tuple(self.info.codes)


def list_releases() -> tuple[list[ReleaseEntry], DialintError | None]:
    """The embedded release and those in the registry, and why a registry cannot be read, if one cannot."""
    entries: list[ReleaseEntry] = []
    problem: DialintError | None = None
    for kind in KINDS:
        registry = Registry(kind)
        try:
            pointer = registry.current()
            at = {line.id: line.at for line in registry.history()}
        except DialintError as damaged:
            problem = damaged
            continue
        for name in registry.ids():
            is_current = pointer is not None and pointer.id == name
            entries.append(ReleaseEntry(kind, name, registry.folder / name, is_current, at.get(name, "")))
    entries.sort(key=lambda entry: (entry.kind != "scan", not entry.in_use, entry.name))
    is_default = not any(entry.kind == "scan" and entry.in_use for entry in entries)
    return [ReleaseEntry("scan", "embedded", EMBEDDED, is_default), *entries], problem


def read_report(entry: ReleaseEntry) -> ReleaseReport:
    """The report of a scan release.

    Raises:
        DialintError: it is damaged, or gone.
    """
    try:
        status = (entry.folder / MANIFEST).stat()
    except OSError:
        raise ConfigError("E_RELEASE", "{name} is gone", name=entry.name) from None
    return _read_report(entry.folder, status.st_mtime_ns)


@lru_cache(16)
def _read_report(folder: Path, changed_ns: int) -> ReleaseReport:
    release = Release(folder)
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace")[:MAX_CARD] if card.exists() else ""
    return ReleaseReport(release.info, tuple(release.manifest["files"]), text)


def verify_release(entry: ReleaseEntry) -> str:
    """Compare every byte of a release with its manifest now. Returns its fingerprint."""
    return verify_folder(entry.folder).fingerprint


def list_candidates() -> list[str]:
    """The folders that the operator opened for promotion, by name."""
    root = os.environ.get(RELEASES_VARIABLE)
    if not root or not Path(root).is_dir():
        return []
    return sorted(
        path.name
        for path in Path(root).iterdir()
        if (path / MANIFEST).is_file() and not path.is_symlink() and not path.name.startswith(".")
    )


def find_candidate(name: str, *, is_recent: bool = False) -> VerifiedFolder:
    """Return one of them, or of the registry (``scan/ID``), verified; `is_recent`: since its manifest last
    changed."""
    registered = {f"{entry.kind}/{entry.name}": entry.folder for entry in list_releases()[0]}
    if name in registered and not name.endswith("/embedded"):
        folder = registered[name]
    elif name not in list_candidates():
        raise ConfigError("E_RELEASE", "there is no such release on this machine")
    else:
        folder = Path(os.environ[RELEASES_VARIABLE]) / name
    return _verify(folder, (folder / MANIFEST).stat().st_mtime_ns) if is_recent else verify_folder(folder)


@lru_cache(16)
def _verify(folder: Path, changed_ns: int) -> VerifiedFolder:
    return verify_folder(folder)


def summarize_base(info: ReleaseInfo) -> str:
    """The base model and its licence, in words."""
    return f"{info.base.name} {info.base.revision} ({info.base.licence})"


def count_training(info: ReleaseInfo) -> dict[str, str]:
    """Facts about the training as text, by name: single values only."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in info.training.items()
        if not isinstance(value, dict | list) and value is not None
    }
