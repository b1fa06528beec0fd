"""Stage ``dialint data inject``: errors made in the dialogues of a log, as labelled examples.

At most one error is made in a dialogue, in a single turn. Its clean twin is an example of its own with the
same `pair`; its label, of the same turn and code, has probability 0. Writes ``examples.jsonl``, or the sets
of ``--shares``, and last the manifest. The dialogues are assumed to be free of the injected codes, except for
findings of the exact checks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector import artifacts
from dialint.detector.errors import ConfigError
from dialint.detector.example_files import to_line, write_lines
from dialint.detector.ingest.config import ReadConfig
from dialint.detector.ingest.outcomes import Counts, Loaded
from dialint.detector.ingest.read import inspect, open_logs, read
from dialint.detector.judge.config import JudgeConfig
from dialint.detector.judge.engine import JudgeEngine
from dialint.detector.option_ranges import check_ranges
from dialint.detector.progress import track
from dialint.detector.records import Dialogue, Example, Label
from dialint.detector.taxonomy import Taxonomy, load_taxonomy
from dialint.labeling.dataset.examples import SPLITS
from dialint.labeling.dataset.splits import DialogueGrouper, assign_split
from dialint.labeling.synthetic.llm import ErrorWriter, possible_codes
from dialint.labeling.synthetic.rules import RULES, InjectedError, agent_positions, detect_codes, make_error

Errors = dict[str, tuple[str, InjectedError]]  # code and error by the id of the dialogue
UNUSED_OPTIONS = ("judge_budget", "judge_price", "judge_precision", "min_precision", "judge_detail",
                  "judge_language", "judge_votes", "judge_rewrites", "guideline")  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InjectConfig:
    """Kinds and numbers of the errors to inject."""

    out: Path
    """Folder for the examples; must not hold a finished set."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """Codes or categories; none: all that there are rules for, with --judge all that words can make."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the dialogues that get an error, where one fits."""
    shares: tuple[float, float, float, float] | None = None
    """Parts of train, dev, calibration and test: writes these sets in place of examples.jsonl, near-copies on
    one side."""
    seed: int = 0
    """The same seed gives the same files."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.shares and not (min(self.shares) >= 0 and abs(sum(self.shares) - 1) <= 1e-9):
            raise ConfigError("E_OPTION", "--shares must be four parts of 1")


def inject(
    *logs: str,
    config: InjectConfig,
    judge: Annotated[JudgeConfig, Parameter(name="*")] | None = None,
    reading: Annotated[ReadConfig, Parameter(name="*")] | None = None,
) -> None:
    """Make labelled errors in the dialogues of logs, by rules or by an LLM (--judge)."""
    from rich.console import Console

    manifest = run(logs, config, judge, reading)
    console = Console(stderr=True, markup=False, emoji=False)
    for name, counts in (("errors", manifest["made"]), ("answers of no use", manifest["dropped"])):
        if counts or name == "errors":
            parts = ", ".join(f"{each} {n}" for each, n in counts.items())
            console.print(f"{name} in {sum(counts.values())} of {manifest['dialogues']} dialogues: {parts}")


def run(
    logs: Sequence[str],
    config: InjectConfig,
    judge: JudgeConfig | None = None,
    reading: ReadConfig | None = None,
    engine: JudgeEngine | None = None,
) -> dict[str, Any]:
    """Write the examples; the manifest that was written. Tests pass their own `engine`."""
    with artifacts.filling_folder(config.out, "a finished set"):
        started, taxonomy, counts = time.monotonic(), load_taxonomy(None), Counts()
        judge, reading = judge or JudgeConfig(), reading or ReadConfig()
        for name in UNUSED_OPTIONS:
            if getattr(judge, name) != getattr(JudgeConfig(), name):
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')}: no option of data inject")
        codes = select_codes(config.codes, taxonomy, engine is not None or judge.judge is not None)
        sources = open_logs(list(logs))
        hashes = [{"name": Path(each.name).name, "sha256": inspect(each, reading)} for each in sources]
        loaded = (each for each in read(sources, reading, counts) if isinstance(each, Loaded))
        dialogues = [each.dialogue.without_edits() for each in loaded]
        if engine is None and judge.judge is not None:
            from dialint.detector.engines.judge_engines import open_judge

            engine = open_judge(judge)
        writer = None if engine is None else ErrorWriter(engine, taxonomy)
        try:
            errors = make_errors(dialogues, codes, config, writer)
        finally:
            if engine is not None:
                engine.close()
        manifest: dict[str, Any] = {
            "kind": "injected-examples",
            "config": {**asdict(config), "out": config.out.name},
            "versions": artifacts.package_versions("dialint", "pydantic", "pyspellchecker"),
            "logs": hashes,
            "dialogues": len(dialogues),
            "rejected": counts.rejected,
            "codes": list(codes),
            "made": dict(sorted(Counter(code for code, _ in errors.values()).items())),
            "dropped": {} if writer is None else dict(sorted(writer.dropped.items())),
            "files": list(_write_sets(config, dialogues, errors, {*taxonomy.codes} - {*codes})),
            "seconds": round(time.monotonic() - started, 1),
        }
        if engine is not None and writer is not None:
            manifest["judge"] = {"name": engine.name, "fingerprint": engine.fingerprint, **writer.tokens}
        artifacts.write_manifest(config.out / artifacts.MANIFEST, manifest)
        return manifest


def select_codes(names: Sequence[str], taxonomy: Taxonomy, has_judge: bool) -> tuple[str, ...]:
    """Return the codes that `names` stand for, of those that can be made; all of these without a name.

    Raises:
        ConfigError: a name that the taxonomy does not have, or none of whose codes can be made.
    """
    by_words = {name for name, code in taxonomy.codes.items() if "timestamps" not in code.needs}
    possible, selected = by_words if has_judge else {*RULES}, set[str]()
    for name in (part for group in names for part in group.split(",")):
        own = {code.code for code in taxonomy.select(name)} & possible
        if not own:
            raise ConfigError("E_OPTION", f"--codes {name}: no rule makes it; --judge asks for any but W")
        selected |= own
    return tuple(code for code in taxonomy.codes if code in (selected or possible))


def make_errors(
    dialogues: Sequence[Dialogue], codes: Sequence[str], config: InjectConfig, writer: ErrorWriter | None
) -> Errors:
    """Return the errors. Codes that were made, or asked for, least often so far come first."""
    counts, errors, wanted = Counter[str](), Errors(), list[tuple[Dialogue, str]]()
    for dialogue in track(dialogues, len(dialogues), "making errors", quiet=config.quiet):
        rng = Random(f"{config.seed}/{dialogue.id}")
        if rng.random() >= config.share or not agent_positions(dialogue):
            continue
        order = sorted(codes, key=lambda code: (counts[code], rng.random()))
        if writer is not None:
            possible = possible_codes(dialogue, writer.taxonomy) - detect_codes(dialogue)
            own = [(dialogue, code) for code in order if code in possible][:1]
            wanted += own
            counts.update(code for _, code in own)
        elif made := next(
            ((code, edit) for code in order if (edit := make_error(dialogue, code, rng))), None
        ):
            errors[dialogue.id] = made
            counts[made[0]] += 1
    edits = [] if writer is None else writer.make_errors(wanted)
    answered = zip(wanted, edits, strict=writer is not None)
    return errors | {dialogue.id: (code, edit) for (dialogue, code), edit in answered if edit is not None}


def _write_sets(
    config: InjectConfig, dialogues: Sequence[Dialogue], errors: Errors, unknown: set[str]
) -> Iterator[dict[str, Any]]:
    """Write the files; their manifest entries."""
    names, splits = {"test": "examples"}, ["test"] * len(dialogues)
    if config.shares:
        grouper = DialogueGrouper(())
        for dialogue in dialogues:
            grouper.add(dialogue)
        shares = list(zip(SPLITS, config.shares, strict=True))
        names = dict(zip(SPLITS, SPLITS, strict=True))
        splits = [assign_split(group, f"{config.seed}", shares) for group in grouper.groups()]
    for split, name in names.items():
        own = (dialogue for dialogue, side in zip(dialogues, splits, strict=True) if side == split)
        examples = (
            example
            for dialogue in own
            for example in to_examples(
                dialogue, errors.get(dialogue.id), split, tuple(sorted(unknown | detect_codes(dialogue)))
            )
        )
        yield write_lines(config.out / f"{name}.jsonl", map(to_line, examples))


def to_examples(
    dialogue: Dialogue, error: tuple[str, InjectedError] | None, split: str, unlabelled: tuple[str, ...]
) -> Iterator[Example]:
    """Yield the dialogue with its error and its clean twin, or as it is."""
    if error is None:
        yield Example(dialogue=dialogue, split=split, unlabelled=unlabelled)
        return
    code, edit = error
    pair, turn, method = f"{dialogue.id}~{code}", dialogue.turns[edit.position].index, f"inject:{code}"
    label = Label(
        dialogue_id=pair, turn=turn, code=code, probability=1.0, method=method, start=edit.start, end=edit.end
    )
    clean = Label(dialogue_id=f"{pair}~twin", turn=turn, code=code, probability=0.0, method=method)
    for each, own in ((label, edit.apply(dialogue)), (clean, dialogue)):
        renamed = own.model_copy(update={"id": each.dialogue_id})
        yield Example(dialogue=renamed, labels=(each,), split=split, pair=pair, unlabelled=unlabelled)
