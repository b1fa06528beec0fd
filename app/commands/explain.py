"""``dialint explain``: one verdict with its dialogue, in the terminal.

Shows the masked turns, what was found in each with reason, proofs and rewrite, and what was not judged. It
judges nothing: all of it stands in the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dialint.detector.errors import ConfigError

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

    from dialint.detector.ingest.outcomes import Counts, Loaded
    from dialint.detector.ingest.read import ReadConfig, open_logs, read
    from dialint.detector.verdict_files import read_verdicts

    verdict = next((each for each in read_verdicts(verdicts) if each.dialogue_id == dialogue_id), None)
    if verdict is None:
        raise ConfigError("E_OPTION", f"{verdicts}: no verdict on a dialogue {dialogue_id[:80]!r}")
    paths = logs or _scored_logs(verdicts)
    outcomes = read(open_logs(list(paths)), ReadConfig(), Counts())
    read_dialogues = (each.dialogue for each in outcomes if isinstance(each, Loaded))
    dialogue = next((each for each in read_dialogues if each.id == dialogue_id), None)
    if dialogue is None:
        raise ConfigError("E_OPTION", f"{', '.join(paths)}: no dialogue {dialogue_id[:80]!r}")
    console = Console(markup=False, emoji=False, highlight=False)
    for line, style in render(verdict, dialogue):
        console.print(line, style=style)


def _scored_logs(verdicts: Path) -> list[str]:
    """The logs that the manifest beside the verdicts names, as far as they are there."""
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
    """The lines with their styles: the head, each masked turn with its findings, what was not judged."""
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
