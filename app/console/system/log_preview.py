"""Preview of a log before it is scored: format, columns, counts, a few masked dialogues, rejects.

A process of its own reads the log, as that may take minutes and memory and the console has other people to
serve:

    python -c "from dialint.app.console.system.log_preview import main; main()" LOG MAPPING
"""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from dialint.app.console.i18n import _, ngettext, show_number, show_percent
from dialint.app.console.messages import explain_text
from dialint.app.console.tables import show_table
from dialint.app.console.text import safe_markdown
from dialint.app.scoring.background import Job, worker_environment
from dialint.detector.errors import DialintError, Message, WorldError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.preview import Preview, as_yaml, preview
from dialint.detector.ingest.read import open_logs
from dialint.detector.ingest.words import format_word
from dialint.detector.masking.dialogue import mask_dialogue

SELF = (sys.executable, "-c", "from dialint.app.console.system.log_preview import main; main()")
N_RECORDS = 5000
N_TURNS, WIDTH = 12, 400
"""Turns of each dialogue that are shown, and characters of each turn."""
TIMEOUT_S = 60.0
MEMORY_BYTES = 4 << 30
"""Address space of the process, much of it code; a log takes under 512 MB."""
PREVIEW_PX = 330
"""Height of the first dialogues, so that the options below are in sight."""


@dataclass(frozen=True)
class LogPreview:
    """A preview, with masked dialogues; the `mapping` is empty where the format needs none. `estimated` is
    the number of records of the whole log, if `result` is not complete."""

    result: Preview
    mapping: str
    estimated: int


@st.cache_data(max_entries=20, show_spinner=False)
def preview_log(log: str, mapping: str, changed_ns: int) -> LogPreview:
    """Preview a log in a process of its own; `changed_ns` is the time of its `mapping`, if it has one.

    Raises:
        WorldError: E_PREVIEW, it took too long or the process died.
    """
    try:
        done = subprocess.run(
            [*SELF, log, mapping], timeout=TIMEOUT_S, env=worker_environment(), check=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise WorldError(
            "E_PREVIEW", "looking at the log took more than {seconds:.0f} seconds", seconds=TIMEOUT_S
        ) from None
    except subprocess.CalledProcessError:
        raise WorldError("E_PREVIEW", "the log could not be looked at") from None
    content: LogPreview = pickle.loads(done.stdout)
    return content


def preview_job(job: Job) -> LogPreview:
    """Preview a job's log, by its mapping if it has one."""
    mapping = str(job.mapping) if job.mapping.exists() else ""
    return preview_log(str(job.log), mapping, job.mapping.stat().st_mtime_ns if mapping else 0)


def describe_log(log: str, mapping: str) -> LogPreview:
    """Preview a log in this process."""
    try:
        source, *others = open_logs([log])
        result = preview(source, ReadConfig(mapping=Path(mapping) if mapping else None), N_RECORDS)
    except DialintError as refused:
        return LogPreview(Preview(log, Message(""), refused=refused.text, code=refused.code), "", 0)
    if others:
        result.facts.append(Message("and {n} more files", n=len(others)))
        result.is_complete = False
    if result.refused is None and not result.is_readable:
        result.refused = Message("no record of it can be read as a dialogue")
    n, size = result.counts.read, max(source.size, 1)
    estimated = n if result.is_complete else round(n * size / max(result.counts.bytes_read, 1))
    result.dialogues = [mask_dialogue(dialogue)[0] for dialogue in result.dialogues]
    mapping = "" if result.native else as_yaml(result)
    result.config = ReadConfig()
    return LogPreview(result, mapping, estimated)


def show_preview(job: Job, seen: LogPreview) -> None:
    """Show the preview of a log, and its error in one sentence."""
    result = seen.result
    if result.refused is not None:
        code = f" ({result.code})" if result.code else ""
        text = explain_text(job.for_screen(result.refused)).rstrip(".")
        st.error(safe_markdown(f"{_('This log cannot be scored')}: {text}{code}."))
        if not result.format:
            return
    counts = result.counts
    good = counts.read - counts.rejected - counts.duplicates
    about = "" if result.is_complete else _(" of the first {n}").format(n=show_number(counts.read))
    columns = st.columns(4)
    columns[0].metric(
        _("Dialogues"), safe_markdown(show_number(good) + about), help=_("Read without an error.")
    )
    columns[1].metric(_("Rejected"), safe_markdown(show_number(counts.rejected)))
    columns[2].metric(_("Repeated"), safe_markdown(show_number(counts.duplicates)))
    columns[3].metric(
        _("In the whole log"),
        safe_markdown(("" if result.is_complete else "≈ ") + show_number(seen.estimated)),
        help=_("Records; estimated by the size of those that were read."),
    )
    facts = ", ".join(explain_text(each) for each in (result.format, *result.facts, *result.problems))
    st.caption(safe_markdown(_("Recognised: {facts}.").format(facts=facts)))
    if notes := ", ".join(f"{name} × {show_number(n)}" for name, n in sorted(counts.warnings.items())):
        st.caption(safe_markdown(_("Put right while reading: {notes}.").format(notes=notes)))
    if words := ", ".join(map(format_word, result.privacy)):
        st.warning(
            safe_markdown(_("Words of the privacy column that are not known: {words}.").format(words=words))
        )
    labels = [_("First dialogues"), _("Columns"), _("Rejected")]
    first, fields, rejects = st.tabs([safe_markdown(label) for label in labels])
    with first, st.container(height=PREVIEW_PX if result.dialogues else "content", border=False):
        if not result.dialogues:
            st.caption(_("No dialogue was read."))
        for at, dialogue in enumerate(result.dialogues):
            origin = [dialogue.language, dialogue.channel, dialogue.agent, dialogue.team]
            n = ngettext("{n} turn", "{n} turns", len(dialogue.turns))
            title = " · ".join(filter(None, (dialogue.id, n, ", ".join(filter(None, origin)))))
            with st.expander(safe_markdown(title), expanded=at == 0):
                for turn in dialogue.turns[:N_TURNS]:
                    text = " ".join(turn.text.split())[:WIDTH]
                    st.markdown(f"**{safe_markdown(turn.role)}** {safe_markdown(text)}")
                if len(dialogue.turns) > N_TURNS:
                    st.caption(_("… more turns follow. Personal data are shown as placeholders."))
    with fields:
        if not result.fields:
            st.caption(_("This format is known; it needs no columns to be named."))
        else:
            sources = {True: _("by its content"), False: _("by its name")}
            rows = [
                (meaning, path, sources[meaning in result.by_content])
                for meaning, path in result.fields.items()
            ]
            show_table((_("Meaning"), _("Column or path"), _("How it was found")), rows)
            if result.words:
                roles = ", ".join(
                    f"{format_word(word)} = {role or '?'}" for word, role in result.words.items()
                )
                st.caption(safe_markdown(_("Speakers: {speakers}.").format(speakers=roles)))
            if result.unread:
                names = ", ".join(result.unread[:20]) + (" …" if len(result.unread) > 20 else "")
                st.caption(safe_markdown(_("Not read: {names}.").format(names=names)))
    with rejects:
        _show_rejects(job, result)


def _show_rejects(job: Job, result: Preview) -> None:
    counts = result.counts
    if not counts.rejected:
        st.caption(_("No record was rejected."))
        return
    codes = ", ".join(f"{code} × {show_number(n)}" for code, n in counts.codes.most_common())
    share = counts.rejected / max(counts.read, 1)
    text = _("{share} of the records: {counts}. The first ones:")
    st.caption(safe_markdown(text.format(share=show_percent(share, "0.0"), counts=codes)))
    show_table(
        (_("Line"), _("Field"), _("Code"), _("Found"), _("Expected")),
        [
            (
                str(each.line), each.path or _("record"), each.code, explain_text(each.found),
                explain_text(job.for_screen(each.expected)),
            )
            for each in result.rejects
        ],
    )  # fmt: skip
    limit = ReadConfig().max_bad
    if share > limit:
        text = _("More than {share} bad records stop the job before anything is kept.")
        st.warning(safe_markdown(text.format(share=show_percent(limit))))


def main() -> None:
    """Write the pickled `LogPreview` of the log that the command line names to standard output."""
    with suppress(ValueError, OSError):  # a lower limit is set already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    try:
        content = describe_log(*sys.argv[1:3])
    except MemoryError:
        refused = Message("the log takes too much memory to be looked at")
        content = LogPreview(Preview("", Message(""), refused=refused), "", 0)
    sys.stdout.buffer.write(pickle.dumps(content))
