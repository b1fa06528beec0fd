"""``dialint report VERDICTS --html report.html --xlsx report.xlsx``: a report on findings, as a page or a
workbook.

Reads a finished output of `dialint score` (JSONL, CSV or Parquet, checked against its manifest) and, for the
context of findings, the log that was scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.app.output import print_line
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.option_ranges import check_ranges

if TYPE_CHECKING:
    from dialint.app.reporting.figures import ListedFinding
    from dialint.eval.breakdowns import Excerpt

BEFORE = 3
"""Turns displayed before that of a finding."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    """Options of ``dialint report``."""

    html: Path | None = None
    """Report as one page, which loads nothing; must not exist."""
    xlsx: Path | None = None
    """Report as a workbook with every finding; must not exist. Needs XlsxWriter: dialint[report]."""
    log: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """The log that was scored: findings are shown with the turns before them, personal data as
    placeholders."""
    examples: Annotated[int, Field(ge=0)] = 3
    """Suggestions of each code that are shown."""
    no_text: bool = False
    """Omit all text of dialogues."""
    taxonomy: Path | None = None
    """A taxonomy of your own, the one that the log was scored with."""
    scores: Path | None = None
    """Reviewed scores of a store, a file of `dialint export scores`: shown beside the model's, with what
    nobody read estimated by a random sample."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """Options by which the log is read, those of `dialint score`."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.html is None and self.xlsx is None:
            raise ConfigError(
                "E_OPTION", "name what to write: --html report.html, --xlsx report.xlsx, or both"
            )
        if self.html == self.xlsx:
            raise ConfigError("E_OPTION", "--html and --xlsx must be two files")
        if self.log and self.no_text:
            raise ConfigError("E_OPTION", "--log shows words of dialogues, and --no-text leaves them out")


def report(verdicts: Path, /, *, config: ReportConfig | None = None) -> int:
    """Report findings for team leads.

    Counts and rates by code, severity, team, agent, channel and week, each with the number of dialogues and
    turns that were judged, with examples and with what is not covered. Nobody is ranked.

    Parameters
    ----------
    verdicts
        A finished output of `dialint score` (.jsonl, .csv, .parquet), its manifest beside it.
    """
    config = config or ReportConfig()
    from dialint.app.reporting.figures import count, load_scores
    from dialint.app.reporting.page import page
    from dialint.app.reporting.workbook import check_library, write_workbook
    from dialint.detector.artifacts import atomic_file, read_manifest, require_new_files
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.detector.verdict_files import VerdictManifest, manifest_path, read_verdicts
    from dialint.eval.run import check_writable

    require_new_files(config.html, config.xlsx)
    check_writable(html=config.html, xlsx=config.xlsx)
    if config.xlsx is not None:
        check_library()
    taxonomy = load_taxonomy(config.taxonomy)
    read = read_verdicts(verdicts)
    manifest = read_manifest(manifest_path(verdicts), expected=VerdictManifest)
    requested = manifest.get("work", {}).get("options", {}).get("codes") or taxonomy.codes
    missing = manifest.get("not_covered", ())
    covered = [code for code in taxonomy.codes if code in requested and code not in missing]
    scores = {} if config.scores is None else load_scores(config.scores)
    figures = count(read, taxonomy, covered, config.examples, scores)
    if config.html is not None:
        listed = [*figures.findings, *figures.suggestions]
        excerpts = _excerpts(listed, config, manifest) if config.log else {}
        with atomic_file(config.html) as file:
            content = page(figures, verdicts.name, manifest, excerpts, with_text=not config.no_text)
            file.write(content.encode())
        print_line(f"{config.html}: {figures.tally.n:,} dialogues, {len(figures.listed):,} findings listed")
    if config.xlsx is not None:
        with atomic_file(config.xlsx) as file:
            n_omitted = write_workbook(
                file, figures, manifest, lambda: read_verdicts(verdicts), with_text=not config.no_text
            )
        more = f", no room for {n_omitted:,} findings" if n_omitted else ""
        print_line(f"{config.xlsx}: {figures.tally.n:,} dialogues{more}")
    return 0


def _excerpts(
    listed: Sequence[ListedFinding], config: ReportConfig, manifest: Mapping[str, Any]
) -> dict[tuple[str, int, int, str], Excerpt]:
    """Returns the masked turn of each finding with the `BEFORE` turns before it, without what the customer
    did not see, by the finding's place.

    Raises:
        ConfigError: `config.log` is not the log that was scored.
    """
    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import inspect, open_logs, read
    from dialint.eval.breakdowns import excerpt_at

    sources = open_logs(list(config.log))
    scored_hashes = {entry["sha256"] for entry in manifest.get("inputs", ())}
    for source in sources:
        if scored_hashes and inspect(source, config.read) not in scored_hashes:
            raise ConfigError("E_OPTION", f"--log {source.name}: these bytes were not what was scored")
    wanted = {each.verdict.dialogue_id for each in listed}
    dialogues = {
        item.dialogue.id: item.dialogue
        for item in read(sources, config.read, Counts())
        if isinstance(item, Loaded) and item.dialogue.id in wanted
    }
    if missing := len(wanted - dialogues.keys()):
        raise ConfigError("E_OPTION", f"--log: {missing} of the dialogues with findings are not in it")
    excerpts = {}
    for each in listed:
        dialogue, turn = dialogues[each.verdict.dialogue_id], each.finding.turn
        if all(one.index != turn for one in dialogue.turns):
            raise ConfigError("E_OPTION", f"--log: dialogue {dialogue.id} has no turn {turn}")
        alone = each.verdict.model_copy(update={"findings": (each.finding,)})
        placed = alone.placed_in(dialogue).findings[0]
        excerpt = excerpt_at(dialogue, turn, (placed.start, placed.end), BEFORE)
        printable = tuple(  # a dot for each control character and direction mark: offsets stay valid
            (role, "".join(char if char.isprintable() or char.isspace() else "·" for char in text))
            for role, text in excerpt.turns
        )
        excerpts[each.place] = replace(excerpt, turns=printable)
    return excerpts
