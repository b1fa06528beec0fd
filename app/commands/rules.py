"""``dialint policy check`` validates a policy and tries it on a log; ``dialint eval rules`` previews the
effect of new rules on stored verdicts.

No model is loaded: `dialint.eval.rules` applies the rules to the stored suspicions, as the console's preview
does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from pydantic import TypeAdapter

from dialint.app.output import print_line, print_table
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.policy import Policy, load_policies, load_policy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dialint.detector.records import Verdict
    from dialint.eval.rules import RulesPreview


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RulesConfig:
    """Options of ``dialint eval rules``."""

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
    from dialint.detector.artifacts import read_manifest, require_new_files, write_json
    from dialint.detector.calibration import CodeRelease
    from dialint.detector.ingest.read import load_dialogues
    from dialint.detector.overrides import read_overrides
    from dialint.detector.registry import resolve_release
    from dialint.detector.release import EMBEDDED, Release
    from dialint.detector.taxonomy import load_taxonomy
    from dialint.detector.verdict_files import manifest_path
    from dialint.eval.rules import NewRules, RulesPreview, preview_rules
    from dialint.eval.run import check_writable

    if not verdicts:
        raise ConfigError("E_OPTION", "name the verdicts that `dialint score` made")
    require_new_files(config.out)
    check_writable(out=config.out)
    before = load_taxonomy(config.before)
    after = load_taxonomy(config.taxonomy) if config.taxonomy is not None else before
    overrides = None if config.overrides is None else read_overrides(config.overrides)
    release, codes = "", dict[str, CodeRelease]()
    if overrides is not None or config.policy:
        folder = resolve_release("scan", config.release) if config.release else EMBEDDED
        info = Release(folder, has_scan=False).info
        release, codes = info.id, dict(info.codes)
    if overrides is not None and config.overrides is not None:
        overrides.check_release(config.overrides, release, codes)
    policies = load_policies(config.policy) if config.policy else None
    is_far = overrides is not None and any(
        path.exists() and read_manifest(path).get("work", {}).get("log", {}).get("far")
        for path in map(manifest_path, verdicts)
    )
    new = NewRules(after, codes, overrides, policies, is_far)
    dialogues = load_dialogues(config.log, config.read) if config.log else {}
    preview = preview_rules(before, new, _read(verdicts, before.version, release), dialogues)
    _show(preview)
    if config.out is not None:
        content = TypeAdapter(RulesPreview).dump_python(preview, mode="json")
        write_json(config.out, {"kind": "rules preview", **content})


def _read(files: Iterable[Path], taxonomy: str, release: str) -> Iterator[Verdict]:
    """Yields the verdicts, checked to be of that taxonomy and, if `release` is not empty, release."""
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
        before, after = (f"{k:,} ({100 * k / max(1, n):.1f} %)" for k in pair)
        return f"{label} {before} to {after}"

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


READ = ReadConfig()
N_EXAMPLES = 3
"""Ids of dialogues that are printed for each clause."""


def check(
    file: Path,
    log: str | None = None,
    /,
    *,
    limit: int | None = None,
    read: Annotated[ReadConfig, Parameter(name="*")] = READ,
) -> int:
    """Validate a policy file; with a log, show how often each clause fires, and on which dialogues.

    Dialogues of the log that name another policy are left out.

    Parameters
    ----------
    file
        The policy, a YAML file.
    log
        A log file to try it on.
    limit
        Read at most this many dialogues.
    """
    if limit is not None and limit < 1:
        raise ConfigError("E_OPTION", "--limit: expected at least 1")
    policy = load_policy(file)
    tools = policy.tools
    listed = ", ".join(
        f"{len(names)} {group}"
        for group, names in (("read", tools.read), ("write", tools.write), ("other", tools.other))
        if names
    )
    clauses = f"{len(policy.clauses)} clause{'s' * (len(policy.clauses) != 1)}"
    print_line(f"{file}: policy {policy.policy}, {clauses}, codes {' '.join(policy.codes)}")
    print_line(f"tools: {listed or 'none listed, so names of tools are not checked'}")
    if log is not None:
        _try_on(policy, log, limit, read)
    return 0


def _try_on(policy: Policy, log: str, limit: int | None, config: ReadConfig) -> None:
    from dialint.detector.checks.policy import broken_clauses
    from dialint.detector.ingest.outcomes import Loaded
    from dialint.detector.ingest.read import Counts, open_logs, read

    counts = Counts()
    records = (record for record in read(open_logs([log]), config, counts) if isinstance(record, Loaded))
    hits: dict[str, Counter[str]] = {clause.id: Counter() for clause in policy.clauses}
    dialogues: dict[str, list[str]] = {clause.id: [] for clause in policy.clauses}
    calls: Counter[str] = Counter()
    n = n_other = n_broken = 0
    for record in islice(records, limit):
        dialogue = record.dialogue
        if dialogue.policy not in (None, policy.policy):
            n_other += 1
            continue
        n += 1
        calls.update(call.name for turn in dialogue.turns for call in turn.tool_calls)
        broken = [violation for _, violation in broken_clauses(dialogue, policy)]
        n_broken += bool(broken)
        for violation in broken:
            hits[violation.clause.id][violation.code] += 1
            if dialogue.id not in dialogues[violation.clause.id][-1:]:
                dialogues[violation.clause.id].append(dialogue.id)
    left_out = f"; {n_other:,} of other policies left out" if n_other else ""
    rejected = f"; {counts.rejected:,} records rejected" if counts.rejected else ""
    share = f" ({100 * n_broken / n:.1f} %)" if n else ""
    print_line(f"{n:,} dialogues, {n_broken:,}{share} break a clause{left_out}{rejected}")
    print_table(
        ("clause", "code", "hits", "dialogues"),
        (
            (
                clause.id,
                " ".join(sorted(hits[clause.id]) or [clause.violation_code]),
                f"{hits[clause.id].total():,}",
                f"{len(dialogues[clause.id]):,}",
            )
            for clause in policy.clauses
        ),
    )
    for name, ids in dialogues.items():
        if ids:
            print_line(f"{name}, for instance: {' '.join(ids[:N_EXAMPLES])}")
    listed = {*policy.tools.read, *policy.tools.write, *policy.tools.other}
    unknown = [f"{name} ({count:,})" for name, count in calls.most_common() if name not in listed]
    if unknown:
        print_line(f"tools of the log that the policy does not list: {', '.join(unknown)}")
    if unseen := sorted(listed - set(calls)):
        print_line(f"tools of the policy that the log never calls: {', '.join(unseen)}")
