"""``dialint explain`` and ``dialint replay``: print one verdict with its dialogue, and reproduce it.

The first prints the masked turns with their findings, reasons and rewrites, and what was not judged, all from
the stored verdict. The second computes the verdict again and reports differences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.app.output import print_line
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig

if TYPE_CHECKING:
    from dialint.detector.records import Dialogue, Finding, Verdict


def explain(dialogue_id: str, verdicts: Path, /, *logs: str) -> None:
    """Show one verdict with its dialogue: each finding under its turn, with what it rests on.

    Parameters
    ----------
    dialogue_id
        The id of the dialogue.
    verdicts
        A file of `dialint score`.
    logs
        The logs that were scored; without them those that the manifest of the verdicts names.
    """
    from rich.console import Console

    verdict = _find_verdict(dialogue_id, verdicts)
    dialogue = _find_dialogue(dialogue_id, logs or _scored_logs(verdicts), ReadConfig())
    console = Console(markup=False, emoji=False, highlight=False)
    for line, style in render(verdict, dialogue):
        console.print(line, style=style)


def _find_verdict(dialogue_id: str, verdicts: Path) -> Verdict:
    from dialint.detector.verdict_files import read_verdicts

    verdict = next((each for each in read_verdicts(verdicts) if each.dialogue_id == dialogue_id), None)
    if verdict is None:
        raise ConfigError("E_OPTION", f"{verdicts}: no verdict on a dialogue {dialogue_id[:80]!r}")
    return verdict


def _find_dialogue(dialogue_id: str, logs: Sequence[str], reading: ReadConfig) -> Dialogue:
    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import open_logs, read

    read_dialogues = (
        each.dialogue for each in read(open_logs(list(logs)), reading, Counts()) if isinstance(each, Loaded)
    )
    dialogue = next((each for each in read_dialogues if each.id == dialogue_id), None)
    if dialogue is None:
        raise ConfigError("E_OPTION", f"{', '.join(logs)}: no dialogue {dialogue_id[:80]!r}")
    return dialogue


def replay(
    dialogue_id: str,
    verdicts: Path,
    /,
    *logs: str,
    detector: Annotated[DetectorConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> int:
    """Make one verdict again, or say what differs, with exit code 1. Needs the options it was made with;
    without --release that of the verdict is looked for on this machine. No judge is asked.

    Parameters
    ----------
    dialogue_id, verdicts, logs
        As of `dialint explain`.
    """
    from dialint.app.scoring.options import ScoreConfig
    from dialint.app.scoring.run import prepare_run, resolve_scan, select_reported
    from dialint.detector.artifacts import package_versions, read_manifest
    from dialint.detector.pipeline import load_detector
    from dialint.detector.verdict_files import manifest_path

    stored, paths = _find_verdict(dialogue_id, verdicts), logs or tuple(_scored_logs(verdicts))
    config, reading = detector or DetectorConfig(), reading or ReadConfig()
    if config.release is None:
        config = replace(config, release=_find_release(stored.release))
    manifest = read_manifest(manifest_path(verdicts))
    then = manifest["work"]
    options = then["options"]
    score = resolve_scan(
        ScoreConfig(
            detector=config,
            read=reading,
            codes=tuple(options["codes"]),
            all_probabilities=options["all_probabilities"],
            limit=options["limit"],
        )
    )
    run, now = prepare_run(paths, score, load_detector(score.detector))
    dialogue = _find_dialogue(dialogue_id, paths, reading)
    (verdict,) = run.detector.verdicts([dialogue], all_probabilities=score.all_probabilities)
    verdict = select_reported(
        verdict.with_origin(dialogue), run.codes, run.taxonomy, needs_policy=bool(run.codes or config.policy)
    )
    first, again = (json.loads(each.model_dump_json()) for each in (stored, verdict))
    if first == again:
        print_line(f"{dialogue_id}: the same verdict, by {verdict.release}")
        return 0
    print_line(f"{dialogue_id}: another verdict")
    versions = {"versions": manifest["versions"]}, {"versions": package_versions(*manifest["versions"])}
    for name, pair in {
        "verdict": (first, again),
        "made with": ({**then, "options": options["read"]}, {**now, "options": now["options"]["read"]}),
        "packages": versions,
    }.items():
        for line in _differences(name, *pair):
            print_line(line)
    return 1


def _find_release(name: str) -> Path:
    """Returns the folder of the release with the id `name` on this machine."""
    from dialint.detector.registry import SHIPPED_RELEASES, Registry
    from dialint.detector.release import Release

    registry = Registry("scan")
    promoted = (registry.folder / each for each in reversed(registry.ids()))
    for folder in (*SHIPPED_RELEASES.values(), *promoted):
        if Release(folder, has_scan=False).info.id == name:
            return folder
    raise ConfigError("E_RELEASE", f"{name} is not on this machine; --release names its folder")


def _differences(path: str, then: Any, now: Any) -> Iterator[str]:
    """Yields a line for each value that differs."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in sorted({*then, *now}):
            yield from _differences(f"{path}, {key}", then.get(key), now.get(key))
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, pair in enumerate(zip(then, now, strict=True)):
            yield from _differences(f"{path} {number}", *pair)
    elif then != now:
        yield f"  {path}: {json.dumps(then)[:200]} then, {json.dumps(now)[:200]} now"


def _scored_logs(verdicts: Path) -> list[str]:
    """Returns the logs that the manifest of the verdicts names; raises ConfigError if one is missing."""
    from dialint.detector.artifacts import read_manifest
    from dialint.detector.verdict_files import manifest_path

    path = manifest_path(verdicts)
    if not path.exists():
        raise ConfigError("E_OPTION", f"{path} is missing: name the log that was scored behind {verdicts}")
    names = [str(entry["name"]) for entry in read_manifest(path)["inputs"]]
    if missing := [name for name in names if not Path(name).exists()]:
        raise ConfigError("E_OPTION", f"{missing[0]}: not found from here; name the log behind {verdicts}")
    return names


def render(verdict: Verdict, dialogue: Dialogue) -> Iterator[tuple[str, str]]:
    """Yields (line, style): the heading, each masked turn with its findings, what was not judged."""
    from dialint.detector.masking import mask_dialogue

    quality = (
        "no quality: not judged as a whole" if verdict.quality is None else f"quality {verdict.quality:g}"
    )
    origin = "".join(f", {each}" for each in (dialogue.channel, dialogue.agent, dialogue.team) if each)
    yield f"{dialogue.id}{origin}: {quality}; by {verdict.release}", "bold"
    masked, _ = mask_dialogue(dialogue)
    for turn in masked.turns:
        for call in turn.tool_calls:
            yield f"{turn.index:>4}   calls {call.name}({call.arguments})", "dim"
        if not turn.is_unseen or turn.role == "tool":
            yield f"{turn.index:>4} {turn.role}: {' '.join(turn.text.split())}", ""
        for kind, findings in (("", verdict.findings), ("suggestion: ", verdict.suggestions)):
            for finding in findings:
                if finding.turn == turn.index:
                    yield from _describe(finding, kind)
    for gap in verdict.not_judged:
        yield f"not judged in {gap.language}: {' '.join((*gap.codes, *gap.check_only))}", "yellow"
    if verdict.no_policy:
        yield f"without a policy not judged: {' '.join(verdict.no_policy)}", "yellow"
    if (judge := verdict.judge) is not None:
        for why, codes in (
            ("it needs what the dialogue has not", judge.unmet),
            ("left by the budget", judge.unasked),
        ):
            if codes:
                yield f"judge {judge.name} was not asked, {why}: {' '.join(codes)}", "dim"
        for failure, codes in judge.failures.items():
            yield f"judge {judge.name} gave no usable answer ({failure}): {' '.join(codes)}", "yellow"


def _describe(finding: Finding, kind: str) -> Iterator[tuple[str, str]]:
    style = "dim" if kind else "red"
    head = f"{kind}{finding.code} {finding.severity} {finding.probability:.2f}"
    yield f"       {head} “{finding.quote}”", style
    yield f"       {finding.reason}", style
    if finding.rewrite:
        yield f"       better: {finding.rewrite}", "green"
