"""``dialint ingest preview LOG``: how a log would be read, before anything of it is scored.

Shows three dialogues with personal data masked, what was recognised, and what was left unread; writes the
mapping file that `dialint score --mapping` takes. Exit codes: 0 dialogues can be read, 1 none can, 2 the file
or an option is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from app.saying import say
from detector.errors import ConfigError, OutputRefused
from detector.ingest.config import ReadConfig

if TYPE_CHECKING:
    from detector.ingest.preview import Preview
    from detector.records import Dialogue

READ = ReadConfig()
N_TURNS, WIDTH = 8, 96

ingest = App(name="ingest", help="Look at logs before they are scored, or write them in another format.")


@ingest.command(name="preview")
def preview_log(
    log: str,
    *,
    write: Path | None = None,
    records: int = 1000,
    read: Annotated[ReadConfig, Parameter(name="*")] = READ,
) -> int:
    """Show how a log would be read, and write a mapping for `--mapping` if it is of an unknown shape.

    Parameters
    ----------
    log
        One log, of any format that is read, plain or compressed.
    write
        File (.yaml) for the mapping, to be corrected; must not exist.
    records
        Records that are read for the counts.
    """
    from detector.artifacts import atomic_file
    from detector.ingest.preview import as_yaml, preview
    from detector.ingest.sources import open_logs

    if write is not None and (write.exists() or write.is_symlink()):
        raise OutputRefused("E_OUTPUT_EXISTS", f"{write}: is there already; name another file")
    if records < 1:
        raise ConfigError("E_OPTION", "--records: expected at least 1")
    sources = open_logs([log])
    if len(sources) > 1:
        raise ConfigError("E_OPTION", f"{log}: {len(sources)} files; name one of them")
    made = preview(sources[0], read, records)
    _show(made)
    if write is not None and made.native and not made.fields:
        say(f"{write}: not written, for this format needs no mapping")
    elif write is not None:
        with atomic_file(write) as file:
            file.write(as_yaml(made).encode())
        say(f"{write}: written; correct it, then: dialint ingest preview {log} --mapping {write}")
    elif not made.native and made.fields and read.mapping is None:
        say("dialint ingest preview LOG --write map.yaml writes this as a mapping, to be corrected")
    return 0 if made.is_readable else 1


def _show(made: Preview) -> None:
    from detector.ingest.preview import masked_word

    say(f"{made.file}: {made.format}{'; needs no mapping' if made.native else ''}")
    if made.facts:
        say(f"  {', '.join(made.facts)}")
    for meaning, path in made.fields.items():
        guess = "   (guessed by what it holds)" if meaning in made.by_content else ""
        say(f"  {meaning:9} {path}{guess}")
    if made.words:
        known = [f"{masked_word(word)} = {role or '?'}" for word, role in made.words.items()]
        say(f"  speakers  {', '.join(known)}")
    if made.privacy:
        say(f"  unknown words of privacy: {', '.join(map(masked_word, made.privacy))}")
    if made.unread:
        more = f" and {len(made.unread) - 20} more" if len(made.unread) > 20 else ""
        say(f"  not read  {', '.join(made.unread[:20])}{more}")
    for dialogue in made.dialogues:
        _show_dialogue(dialogue)
    say("")
    if made.refused:
        say(f"the log would be refused: {made.refused}")
        return
    counts = made.counts
    good = counts.read - counts.rejected
    share = f"all {counts.read:,}" if made.is_complete else f"the first {counts.read:,}"
    say(f"{share} records: {good:,} read, {counts.rejected:,} rejected")
    for code, n in counts.codes.most_common():
        say(f"  {code} {n:,}")
    for reject in made.rejects:
        found = f"found {reject.found}, expected {reject.expected}"
        say(f"  line {reject.line}, {reject.path or 'record'}: {reject.code}, {found}")
    for name, n in sorted(counts.warnings.items()):
        say(f"  {name} {n:,}")


def _show_dialogue(dialogue: Dialogue) -> None:
    from detector.masking.dialogue import mask_dialogue

    masked, _ = mask_dialogue(dialogue)
    told = {name: getattr(dialogue, name) for name in ("language", "channel", "agent", "team")}
    notes = ", ".join(f"{name} {value}" for name, value in told.items() if value)
    say("")
    say(f"dialogue {dialogue.id!r}, {len(dialogue.turns)} turns{', ' + notes if notes else ''}")
    for turn in masked.turns[:N_TURNS]:
        at = turn.at.isoformat(sep=" ", timespec="minutes") if turn.at else ""
        text = " ".join(turn.text.split())
        say(f"  {turn.role:8} {at:16} {text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}")
    if len(dialogue.turns) > N_TURNS:
        say(f"  ... and {len(dialogue.turns) - N_TURNS} more turns")
