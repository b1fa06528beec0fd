"""``dialint eval rules``: what new rules would change in stored verdicts, before anybody scores with them.

No model is loaded: `dialint.eval.rules` decides again what the verdicts hold, as the console's preview does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from pydantic import TypeAdapter

from dialint.app.output import print_line, print_table
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dialint.detector.calibration import CodeRelease
    from dialint.detector.records import Verdict
    from dialint.eval.rules import RulesPreview


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RulesConfig:
    """The rules to come, and what they are tried on."""

    taxonomy: Path | None = None
    """The new taxonomy: severities, penalties, codes that are dropped."""
    before: Path | None = None
    """The taxonomy that the verdicts were made with; without it the packaged one."""
    overrides: Path | None = None
    """The new overrides: thresholds, demoted codes, a spot check. They replace those of the verdicts."""
    policy: tuple[Path, ...] = ()
    """The new policies, all that shall apply; needs --log."""
    log: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """The logs that were scored, for --policy."""
    release: Path | None = None
    """Folder of the release that made the verdicts; without it the embedded one."""
    out: Path | None = None
    """Write the figures and every verdict that changes to this file, as JSON without text; must not exist."""
    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)

    def __post_init__(self) -> None:
        if self.taxonomy is None and self.overrides is None and not self.policy:
            raise ConfigError("E_OPTION", "name new rules: --taxonomy, --overrides or --policy")
        if bool(self.policy) != bool(self.log):
            raise ConfigError("E_OPTION", "--policy and --log belong together: policies are tried on the log")


def rules(*verdicts: Path, config: RulesConfig | None = None) -> None:
    """Show which verdicts and rates new rules would change, without scoring anything.

    Parameters
    ----------
    verdicts
        Finished outputs of `dialint score`.
    """
    config = config or RulesConfig()
    from dialint.detector.artifacts import require_new_files, write_json
    from dialint.detector.ingest.read import load_dialogues
    from dialint.detector.overrides import read_overrides
    from dialint.detector.policy import load_policies
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.eval.rules import NewRules, RulesPreview, preview_rules
    from dialint.eval.run import check_writable

    if not verdicts:
        raise ConfigError("E_OPTION", "name the verdicts that `dialint score` made")
    require_new_files(config.out)
    check_writable(out=config.out)
    before = load_taxonomy(config.before)
    after = load_taxonomy(config.taxonomy) if config.taxonomy is not None else before
    overrides = None if config.overrides is None else read_overrides(config.overrides)
    release, codes = ("", {}) if overrides is None and not config.policy else _load_release(config)
    if overrides is not None and config.overrides is not None:
        overrides.check_release(config.overrides, release, codes)
    policies = load_policies(config.policy) if config.policy else None
    is_far = overrides is not None and any(map(_is_far, verdicts))
    new = NewRules(after, codes, overrides, policies, is_far)
    dialogues = load_dialogues(config.log, config.read) if config.log else {}
    preview = preview_rules(before, new, _read(verdicts, before.version, release), dialogues)
    _show(preview)
    if config.out is not None:
        content = TypeAdapter(RulesPreview).dump_python(preview, mode="json")
        write_json(config.out, {"kind": "rules preview", **content})


def _load_release(config: RulesConfig) -> tuple[str, dict[str, CodeRelease]]:
    from dialint.detector.registry import resolve_release
    from dialint.detector.release import EMBEDDED, Release

    folder = resolve_release("scan", config.release) if config.release else EMBEDDED
    info = Release(folder, has_scan=False).info
    return info.id, dict(info.codes)


def _is_far(file: Path) -> bool:
    """Whether the log was far from the release; the readers of the file say what is wrong with it."""
    from dialint.detector.artifacts import read_manifest
    from dialint.detector.verdict_files import manifest_path

    path = manifest_path(file)
    return path.exists() and bool(read_manifest(path).get("work", {}).get("log", {}).get("far"))


def _read(files: Iterable[Path], taxonomy: str, release: str) -> Iterator[Verdict]:
    """The verdicts, all of them of that taxonomy and, if one is named, release."""
    from dialint.detector.verdict_files import read_verdicts

    for file in files:
        for verdict in read_verdicts(file):
            if verdict.taxonomy != taxonomy:
                raise ConfigError(
                    "E_TAXONOMY", f"{file}: made with taxonomy {verdict.taxonomy}, not {taxonomy}; "
                    "--before names its file",
                )  # fmt: skip
            if release and verdict.release != release:
                raise ConfigError(
                    "E_RELEASE",
                    f"{file}: made by {verdict.release}, not {release}; --release names its folder",
                )
            yield verdict


def _show(preview: RulesPreview) -> None:
    def moved(label: str, pair: list[int], n: int) -> str:
        return f"{label} {pair[0]:,} ({pair[0] / max(1, n):.1%}) to {pair[1]:,} ({pair[1] / max(1, n):.1%})"

    n = preview.verdicts
    print_line(f"{n:,} verdicts read, {len(preview.changes):,} would change")
    rates = [
        moved("dialogues with a finding", preview.flagged, n),
        moved("with an S1 or S2", preview.serious, n),
    ]
    if preview.qualities:
        rates.append("mean quality {:.1f} to {:.1f}".format(*preview.mean))
    print_line("; ".join(rates))
    rows = [
        (code, *(f"{value:,}" for value in (*one.findings, *one.suggestions, one.moved)))
        for code, one in sorted(preview.codes.items())
        if one.is_change
    ]
    if rows:
        print_table(("code", "findings", "then", "suggestions", "then", "other severity"), rows)
    for reason, count in (+preview.undecided).most_common():
        print_line(f"not decided again, left as stored: {count:,} x {reason}")
