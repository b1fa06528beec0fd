"""Stage ``dialint data inject``: labelled errors made in clean dialogues, as files of examples.

Reads the corpora under ``--data``; writes ``train``, ``dev``, ``calibration`` (families of train and of dev,
so that probabilities are calibrated on wordings never trained on, too), ``test_seen`` (families of train,
other dialogues), ``dev_unseen`` (families of dev), ``test_unseen`` (held-out families), ``test_domain`` (the
same in a corpus never trained on), and of some corpora a set with nothing injected (``clean_star``,
``clean_multiwoz``), each ``.jsonl``, and last the manifest. Trains nothing.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Annotated, Any

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import OutputRefused
from dialint.detector.option_ranges import check_ranges
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.labeling.synthetic.cleaning import fit_corrector
from dialint.labeling.synthetic.corpora import CleanDialogue, Corpus, corpora_in, data_folder, read_all
from dialint.labeling.synthetic.example_draft import ExampleDraft, Family, HardNegative, Pool, Use
from dialint.labeling.synthetic.families import Mixer, all_families, all_negatives, build_pool

WORDED = frozenset({"L1", "L2", "T1", "M2", "V2"})
"""Codes whose error is in the wording; sets of unseen families hold no such words that were trained on."""
EVAL_SECOND, EVAL_HARD = 0.15, 0.15
"""In evaluation sets: dialogues with an error that have a second one, and others with a hard negative."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InjectConfig:
    """How errors are injected."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora; toy: the small corpus that ships."""
    out: Path
    """Folder for the examples; must not hold a finished set."""
    seed: int = 0
    """The same seed gives the same files."""
    rounds: Annotated[int, Field(ge=1)] = 2
    """Passes over the training dialogues, each with fresh errors."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.75
    """Share of training dialogues that get an error, each round."""
    hard: Annotated[float, Field(ge=0, le=1)] = 0.8
    """Share of the remaining training dialogues that get a hard negative."""
    second: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the dialogues with an error that get a second one, in another turn."""
    dense: Annotated[float, Field(ge=0, le=1)] = 0.4
    """Share of the other training dialogues that get several errors of language, which need no context."""
    eval_rounds: Annotated[int, Field(ge=1)] = 2
    """The same for dev, calibration and test sets."""
    eval_share: Annotated[float, Field(ge=0, le=1)] = 0.22
    """Share of their dialogues that get an error, each round: 4 to 5 % of agent turns in all."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """At most this many dialogues of each corpus."""
    domain_limit: Annotated[int, Field(ge=1)] = 1200
    """Dialogues in the set of an unknown domain."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        check_ranges(self)


def inject(config: InjectConfig) -> None:
    """Make labelled errors in clean dialogues: training, calibration and test sets with a manifest."""
    from rich.console import Console

    manifest = run(config)
    console = Console(stderr=True, markup=False, emoji=False)
    for file in manifest["files"]:
        console.print(
            f"{file['name']}: {file['rows']} dialogues, {file['agent_turns']} agent turns, "
            f"{file['error_turns'] / max(1, file['agent_turns']):.1%} with an error"
        )


def run(config: InjectConfig) -> dict[str, Any]:
    """Make all sets; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a finished set already.
        InputRefused: a corpus is missing.
    """
    if (config.out / MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a finished set already; name another folder")
    started = time.monotonic()
    config = replace(config, data=data_folder(config.data))
    with disk_errors(config.out):
        make_output_folder(config.out)
    corpora = _read_clean(config)
    settings = {name: value for name, value in asdict(config).items() if name != "quiet"}
    manifest = {
        "kind": "injected-examples",
        "config": {**settings, "data": config.data.name, "out": config.out.name},
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        "sources": [
            _describe_source(config, corpus, len(corpora[corpus.name])) for corpus in corpora_in(config.data)
        ],
        "families": [_describe_generator(family) for family in all_families()],
        "negatives": [_describe_generator(negative) for negative in all_negatives()],
        "files": _write_all(config, corpora),
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _describe_source(config: InjectConfig, corpus: Corpus, rows: int) -> dict[str, Any]:
    entry = {"name": corpus.name, "licence": corpus.licence, "trains": corpus.trains, "rows": rows}
    return {**entry, "sha256": sha256_file(config.data / corpus.file)}


def _describe_generator(generator: Family | HardNegative) -> dict[str, str]:
    use = "exam" if generator.use == "heldout" else generator.use  # its value on disk since the first set
    return {"name": generator.name, "code": generator.code, "use": use}


@dataclass(frozen=True)
class _Plan:
    """One set to write: the `split` its dialogues come from and, round by round, whose families make the
    errors."""

    name: str
    split: str
    uses: tuple[Use, ...]
    share: float
    rounds: int

    @property
    def unseen(self) -> bool:
        """Whether nothing in it may have been trained on."""
        return "train" not in self.uses


def _write_all(config: InjectConfig, corpora: dict[str, list[CleanDialogue]]) -> list[dict[str, Any]]:
    """Write every set, training first, since its very words are left out of the unseen sets."""
    share, rounds = config.eval_share, config.eval_rounds
    plans = (
        _Plan("train", "train", ("train",), config.share, config.rounds),
        _Plan("dev", "dev", ("train",), share, rounds),
        _Plan("calibration", "calibration", ("train", "dev"), share, rounds),
        _Plan("dev_unseen", "dev", ("dev",), share, rounds),
        _Plan("test_seen", "test", ("train",), share, rounds),
        _Plan("test_unseen", "test", ("heldout",), share, rounds),
    )
    trained = [d for corpus in corpora_in(config.data) if corpus.trains for d in corpora[corpus.name]]
    trained_words: set[tuple[str, str]] = set()
    files = [
        _write_mixed(config, plan, [d.draft for d in trained if d.split == plan.split], trained_words)
        for plan in plans
    ]

    names = {corpus.name for corpus in corpora_in(config.data) if corpus.trains}
    other_domain = [d.draft for name, dialogues in corpora.items() if name not in names for d in dialogues]
    sample = Random(f"{config.seed}/domain").sample(other_domain, min(config.domain_limit, len(other_domain)))
    plan = _Plan("test_domain", "test", ("heldout",), share, rounds)
    files.append(_write_mixed(config, plan, sample, trained_words))

    for corpus in corpora_in(config.data):
        if corpus.clean_set:  # as they are: whatever is flagged here is a false accusation
            drafts = (d.draft for d in corpora[corpus.name] if d.split == "test" or not corpus.trains)
            examples = (draft.to_example(corpus.clean_set) for draft in drafts)
            files.append(_write_examples(config.out / f"{corpus.clean_set}.jsonl", examples, config.quiet))
    return files


def _read_clean(config: InjectConfig) -> dict[str, list[CleanDialogue]]:
    """The dialogues of every corpus, natural misspellings corrected or their dialogues left out."""
    corpora = read_all(config.data, config.limit)
    corrector = fit_corrector(dialogue.draft for dialogues in corpora.values() for dialogue in dialogues)
    return {
        name: [replace(d, draft=draft) for d in dialogues if (draft := corrector.correct(d.draft))]
        for name, dialogues in corpora.items()
    }


def _write_mixed(
    config: InjectConfig, plan: _Plan, drafts: list[ExampleDraft], trained_words: set[tuple[str, str]]
) -> dict[str, Any]:
    """Write a set; its manifest entry. Training adds the very words of its errors to `trained_words`; where
    such words come up in a set of unseen wordings, the dialogue stays as it was and is counted."""
    rng = Random(f"{config.seed}/{plan.name}")
    rng.shuffle(drafts)
    pool = build_pool(drafts, rng)
    mixers = [_mixer(config, plan, use, pool) for use in plan.uses]
    n_left_out = 0
    removed, removed_twins = Counter[str](), Counter[str]()

    def examples() -> Iterator[Example]:
        nonlocal n_left_out
        written: set[str] = set()
        for number in range(plan.rounds):
            for draft in drafts:
                seed = f"{config.seed}/{plan.name}/{number}/{draft.id}"
                made = mixers[number % len(mixers)].examples(draft, Random(seed), plan.name, f"{number}~")
                words = {words for example in made for words in _error_words(example)}
                if plan.name == "train":
                    trained_words.update(words)
                elif plan.unseen and words & trained_words:
                    n_left_out += 1
                    removed.update({label.method.removeprefix("inject:") for label in made[0].labels})
                    removed_twins.update([made[0].pair.rpartition("~")[2]] if made[0].pair else [])
                    made = [draft.to_example(plan.name)]
                for example in made:
                    if example.dialogue.id not in written:
                        written.add(example.dialogue.id)
                        yield example

    entry = _write_examples(config.out / f"{plan.name}.jsonl", examples(), config.quiet)
    totals = {
        "families": sum((mixer.counts for mixer in mixers), Counter[str]()) - removed,
        "dense": sum((mixer.dense_counts for mixer in mixers), Counter[str]()),
        "twins": sum((mixer.twins for mixer in mixers), Counter[str]()) - removed_twins,
    }
    counts = {name: dict(sorted(total.items())) for name, total in totals.items()}
    return {**entry, **counts, "left_out_as_taught": n_left_out}


def _error_words(example: Example) -> Iterator[tuple[str, str]]:
    """Code and very words of each error that lies in the wording."""
    for label in example.labels:
        if label.code in WORDED and label.start is not None:
            text = example.dialogue.turns[label.turn].text[label.start : label.end]
            yield label.code, " ".join(re.findall(r"[^\W_]+|[^\w\s]+", text.lower()))


def _mixer(config: InjectConfig, plan: _Plan, use: Use, pool: Pool) -> Mixer:
    train = plan.name == "train"
    return Mixer(
        [family for family in all_families() if family.use == use],
        pool,
        plan.share,
        [negative for negative in all_negatives() if negative.use == use],
        hard=config.hard if train else EVAL_HARD,
        second=config.second if train else EVAL_SECOND,
        dense=config.dense if train else 0.0,
    )


def _write_examples(path: Path, examples: Iterable[Example], quiet: bool) -> dict[str, Any]:
    codes: Counter[str] = Counter()
    totals: dict[str, int] = defaultdict(int)
    with atomic_file(path) as file:
        for example in track(examples, None, path.stem, "examples", quiet=quiet):
            file.write(example.model_dump_json(exclude_defaults=True).encode() + b"\n")
            codes.update({label.code for label in example.labels})
            totals["rows"] += 1
            totals["agent_turns"] += sum(turn.role == "agent" for turn in example.dialogue.turns)
            totals["error_turns"] += len({label.turn for label in example.labels})
    return {**file_entry(path, totals["rows"]), **totals, "codes": dict(sorted(codes.items()))}
