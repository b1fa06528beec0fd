"""The releases on this machine: the embedded one, those of the registry, and those of a folder that the
operator opened, with their reports and the comparison of two; promoting one and going back to the one before,
with a reason, and who did so. The store checks the right and records a change before the registry is touched;
what the registry refuses is recorded, too.

A release is verified whole when it is first opened here; its report is kept in memory until its manifest
changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from dialint.app.console.i18n import _, from_ms, paragraph, show_number, show_time
from dialint.app.console.messages import attempt, explain_as_sentence
from dialint.app.console.tables import Cell, select, show_table
from dialint.app.console.text import code_title, safe_markdown
from dialint.detector.artifacts import MANIFEST
from dialint.detector.errors import ConfigError, DialintError
from dialint.detector.registry import (
    KINDS,
    WHOLE,
    Registry,
    ReleaseKind,
    VerifiedFolder,
    verify_folder,
)
from dialint.detector.release import EMBEDDED, Release, ReleaseInfo
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.store.api import Store
from dialint.labeling.store.records import Account
from dialint.labeling.store.release_verdicts import Change, list_changes, record_change

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
    """A verified scan release: its `release.json`, and its model card."""

    info: ReleaseInfo
    card: str

    @property
    def measured(self) -> dict[str, Any]:
        """What was measured of all codes together on dialogues never trained on; empty if nothing was."""
        on_test: Any = self.info.report.get("test")
        return on_test if isinstance(on_test, dict) else {}

    def measurements(self, code: str) -> dict[str, Any]:
        """What was measured of a code."""
        measured: dict[str, Any] = self.measured.get("codes", {}).get(code, {})
        return measured

    def threshold(self, code: str) -> str:
        """From which probability on the scan accuses, in words."""
        how = self.info.codes.get(code)
        if how is None:
            return _("not covered")
        if how.scan is None:
            return _("check")
        return "–" if how.scan.threshold is None else show_number(how.scan.threshold, "0.00")


def list_releases() -> tuple[list[ReleaseEntry], list[DialintError]]:
    """The embedded release and those in the registries, and why, for each registry that cannot be read."""
    entries: list[ReleaseEntry] = []
    problems: list[DialintError] = []
    for kind in KINDS:
        registry = Registry(kind)
        try:
            pointer = registry.current()
            at = {line.id: line.at for line in registry.history() if line.share == WHOLE}
        except DialintError as damaged:
            problems.append(damaged)
            continue
        for name in registry.ids():
            is_current = pointer is not None and pointer.id == name
            entries.append(ReleaseEntry(kind, name, registry.folder / name, is_current, at.get(name, "")))
    entries.sort(key=lambda entry: (entry.kind != "scan", not entry.in_use, entry.name))
    is_default = not any(entry.kind == "scan" and entry.in_use for entry in entries)
    return [ReleaseEntry("scan", "embedded", EMBEDDED, is_default), *entries], problems


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


def read_reports(entries: list[ReleaseEntry]) -> dict[str, ReleaseReport]:
    """The reports of the scan releases that are not damaged, by the id that verdicts have; of two copies of
    one release the second by its name."""
    reports: dict[str, ReleaseReport] = {}
    for entry in entries:
        with suppress(DialintError):
            if entry.kind == "scan":
                report = read_report(entry)
                reports.setdefault(entry.name if report.info.id in reports else report.info.id, report)
    return reports


@lru_cache(16)
def _read_report(folder: Path, changed_ns: int) -> ReleaseReport:
    release = Release(folder)
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace")[:MAX_CARD] if card.exists() else ""
    return ReleaseReport(release.info, text)


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


def read_figure(measured: Mapping[str, Any], name: str) -> tuple[float | None, tuple[float, float] | None]:
    """Return a measured figure and its 95 % interval, as far as there are."""
    low, high = measured.get(f"{name}_95") or (None, None)
    return measured.get(name), None if low is None or high is None else (low, high)


def show_reports(one: ReleaseReport, two: ReleaseReport) -> None:
    """Show what two releases were measured to do, code by code, and their thresholds."""

    def pair(first: dict[str, Any], second: dict[str, Any], name: str) -> tuple[str, str]:
        (x, a), (y, b) = read_figure(first, name), read_figure(second, name)
        texts = ["–" if each is None else show_number(each, "0.00") for each in (x, y)]
        if a is not None and b is not None:
            texts[0] += " ▲" if a[0] > b[1] else ""
            texts[1] += " ▲" if b[0] > a[1] else ""
        return texts[0], texts[1]

    total = (one.measured, two.measured)
    rows: list[tuple[Cell, ...]] = [
        (
            _("All together"), "–", "–", *pair(*total, "precision_of_findings"),
            *pair(*total, "recall_of_errors"), "–", "–",
        )
    ]  # fmt: skip
    for code in dict.fromkeys((*one.info.codes, *two.info.codes)):
        cells: list[str] = [code_title(code, load_taxonomy())]
        for name in ("average_precision", "precision", "recall"):
            cells += pair(one.measurements(code), two.measurements(code), name)
        rows.append((*cells, one.threshold(code), two.threshold(code)))
    labels = (_("AP"), _("Precision"), _("Recall"), _("Threshold"))
    st.caption(safe_markdown(f"A = {one.info.id}, B = {two.info.id}"))
    show_table((_("Code"), *(f"{label} {mark}" for label in labels for mark in ("A", "B"))), rows)
    st.caption(_("▲ marks the better one where the 95 % intervals do not overlap."))


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
    name = select(_("Release"), names, "promote release")
    sentence = _("From now on this release scores what is scored with the current one.")
    try:
        source = find_candidate(name, is_recent=True)
    except DialintError as damaged:
        st.error(safe_markdown(explain_as_sentence(damaged)))
    else:
        current = next((entry for entry in entries if entry.kind == source.kind and entry.in_use), None)
        if source.kind == "scan" and current is not None:
            show_reports(read_report(current), read_report(ReleaseEntry("scan", source.id, source.folder)))
        st.caption(safe_markdown(_("Verified: {hash}…").format(hash=source.fingerprint[:16])))
        text = _("From now on {name} scores, instead of {before}.") if source.kind == "scan" else _(
            "From now on {name} is the current judge, instead of {before}.")  # fmt: skip
        sentence = text.format(name=source.id, before=_("no judge") if current is None else current.name)
    with st.form("promote", clear_on_submit=False):
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="promote reason")
        sure = st.checkbox(safe_markdown(sentence), key="promote sure")
        pressed = st.form_submit_button(_("Promote"), type="primary")
    st.caption(paragraph("It is verified byte by byte"))
    if pressed:
        _confirm(reason, sure, lambda: promote(store, account.id, name, reason.strip()))


def _confirm(reason: str, sure: bool, change: Callable[[], str]) -> None:
    """Make the change of a form if it is complete, else say what is missing."""
    if len(reason.strip()) < MIN_REASON:
        st.warning(_("Say why: the reason stands in the audit log."))
    elif not sure:
        st.warning(_("Tick the box to confirm."))
    else:
        with attempt(NOTICE, EMPTY) as done:
            done(change())


def _show_rollback(store: Store, account: Account) -> None:
    """The form to go back. After each change it is another one: a second click on the old one does
    nothing."""
    st.markdown(f"**{safe_markdown(_('Roll back'))}**")
    before: dict[ReleaseKind, str] = {}
    for kind in KINDS:
        with suppress(DialintError):  # a damaged one, which the page names above
            if steps := _rollback_steps(kind):
                before[kind] = f"{kind}: {' → '.join(steps)}"
    if not before:
        st.info(_("There is no release before the current one to go back to."))
        return
    with st.form(f"roll back:{sorted(before.values())}", clear_on_submit=False):
        kind = select(_("From and to"), before, "rollback kind")
        reason = st.text_input(_("Reason"), max_chars=MAX_REASON, key="rollback reason")
        sure = st.checkbox(_("I want the earlier release back."), key="rollback sure")
        pressed = st.form_submit_button(_("Roll back"))
    if pressed:
        _confirm(reason, sure, lambda: roll_back(store, account.id, kind, reason.strip()))


def _rollback_steps(kind: ReleaseKind) -> tuple[str, str] | None:
    """The release that a rollback takes back, and the one that is current after it."""
    registry = Registry(kind)
    pointer, rollout = registry.current(), registry.rollout()
    if pointer is None or (rollout is None and not pointer.earlier):
        return None
    return (pointer.id, pointer.earlier[-1]) if rollout is None else (rollout.id, pointer.id)


def promote(store: Store, actor: str, name: str, reason: str) -> str:
    """Make a release the current one; a refusal is recorded, too. Returns the notice."""
    with _recorded(store, actor, "promote", name, reason):
        source = find_candidate(name)
        registry = Registry(source.kind)
        current, rollout = registry.current(), registry.rollout()
        passed = rollout is not None and rollout.fingerprint == source.fingerprint
        if current is not None and current.id != source.id and not passed:
            raise ConfigError(
                "E_RELEASE",
                "{id} has passed no gates yet: `dialint release promote FOLDER --gold SETS --by NAME`",
                id=source.id,
            )
        gates = rollout.gates if rollout is not None and passed else ()
        compared_with = None if current is None else current.id
        pointer = registry.promote(source, by=actor, gates=gates, compared_with=compared_with)
    return _("{name} is current now.").format(name=pointer.id)


@contextmanager
def _recorded(store: Store, actor: str, action: Change, name: str, reason: str) -> Iterator[None]:
    record_change(store, actor, action, name, reason)
    try:
        yield
    except DialintError as refused:
        record_change(store, actor, "refused", name, reason, f"{refused.code}: {refused.message}")
        raise


def roll_back(store: Store, actor: str, kind: ReleaseKind, reason: str) -> str:
    """Make the earlier release of a kind current again; a refusal is recorded, too. Returns the notice."""
    name = f"{kind}/{(_rollback_steps(kind) or '-')[-1]}"
    with _recorded(store, actor, "rollback", name, reason):
        pointer = Registry(kind).rollback(by=actor, reason=reason)
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
        with suppress(DialintError):
            history = Registry(kind).history()
            for line in history:
                action = line.action if line.share == WHOLE else f"{line.action} {line.share} %"
                rows.append((line.at, kind, action, line.before or "–", line.id, line.by, line.reason))
    if rows:
        with st.expander(_("The registry’s own history, by the command line, too")):
            show_table(
                (_("When"), _("Kind"), _("What"), _("Before"), _("After"), _("Who"), _("Reason")),
                sorted(rows, reverse=True)[:100],
            )
