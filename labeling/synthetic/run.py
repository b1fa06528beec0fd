"""Stage ``dialint data inject``: labelled errors made in clean dialogues, as files of examples.

Reads the corpora under ``--data``; writes ``train``, ``dev``, ``calibration`` (families of training and
those that only choose, so that a probability knows of wordings never learnt), ``test_seen`` (families
of training, other dialogues), ``dev_unseen`` (families that only choose), ``test_unseen`` (families of the
exam), ``test_domain`` (the same in a corpus never trained on), and of some corpora a set with nothing
injected (``clean_star``, ``clean_multiwoz``), each ``.jsonl``, and last the manifest.
Keeps no text of its own and trains nothing.
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

from dialint.detector.artifacts import (
    atomic_file,
    disk_errors,
    file_entry,
    make_output_folder,
    package_versions,
    sha256_file,
    write_manifest,
)
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.detector.progress import track
from dialint.detector.records import Example
from dialint.labeling.synthetic.cleaning import mender_of
from dialint.labeling.synthetic.corpora import Clean, Corpus, corpora_in, data_folder, read_all
from dialint.labeling.synthetic.draft import Draft, Family, HardNegative, Pool, Use
from dialint.labeling.synthetic.families import all_families, all_negatives
from dialint.labeling.synthetic.mix import Mixer, pool_of
from dialint.labeling.synthetic.phrases import Thinned

MANIFEST = "manifest.json"
WORDED = frozenset({"L1", "L2", "T1", "M2", "V2"})
"""Codes whose error is in the wording; of these, sets of unseen families hold no words that were taught."""
EVAL_SECOND, EVAL_HARD = 0.15, 0.15
"""In evaluation sets: dialogues with an error that have a second one, and others with a hard negative."""


@Parameter(name="*")
@dataclass(frozen=True)
class InjectConfig:
    """How errors are made."""

    data: Annotated[Path, Parameter(env_var="DIALINT_DATA")]
    """Folder of the corpora; toy: the small corpus that ships."""
    out: Path
    """Folder for the examples; must not hold a finished set."""
    seed: int = 0
    """The same seed gives the same files."""
    rounds: int = 2
    """Passes over the training dialogues, each with fresh errors."""
    share: float = 0.75
    """Share of training dialogues that get an error, each round."""
    hard: float = 0.8
    """Share of the remaining training dialogues that get a hard negative."""
    second: float = 0.5
    """Share of the dialogues with an error that get a second one, in another turn."""
    dense: float = 0.4
    """Share of the other training dialogues that get several errors of language, which need no context."""
    eval_rounds: int = 2
    """The same for dev, calibration and test sets."""
    eval_share: float = 0.22
    """Share of their dialogues that get an error, each round: 4 to 5 % of agent turns in all."""
    limit: int | None = None
    """At most this many dialogues of each corpus."""
    domain_limit: int = 1200
    """Dialogues in the set of an unknown domain."""
    twins: bool = True
    """Whether clean twins stand beside the errors; without is for the ablation."""
    negatives: bool = True
    """Whether clean dialogues that look like errors are made; without is for the ablation."""
    wordings: float = 1.0
    """Share of the training wordings that is used; less than all is for the ablation."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        for name in ("share", "hard", "second", "dense", "eval_share", "wordings"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must lie between 0 and 1")
        for name in ("rounds", "eval_rounds", "limit", "domain_limit"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigError("E_OPTION", f"--{name.replace('_', '-')} must be at least 1")


def inject(config: InjectConfig) -> None:
    """Make labelled errors in clean dialogues: training, calibration and test sets with a manifest."""
    from rich.console import Console

    manifest = run(config)
    show = Console(stderr=True, markup=False, emoji=False)
    for file in manifest["files"]:
        show.print(
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
    cleans = _cleans(config)
    settings = {name: value for name, value in asdict(config).items() if name != "quiet"}
    manifest = {
        "kind": "injected-examples",
        "config": {**settings, "data": config.data.name, "out": config.out.name},
        "versions": package_versions("dialint", "pyarrow", "pydantic"),
        "sources": [_source(config, corpus, len(cleans[corpus.name])) for corpus in corpora_in(config.data)],
        "families": [_named(family) for family in all_families()],
        "negatives": [_named(negative) for negative in all_negatives()],
        "files": _write_all(config, cleans),
        "seconds": round(time.monotonic() - started, 1),
    }
    write_manifest(config.out / MANIFEST, manifest)
    return manifest


def _source(config: InjectConfig, corpus: Corpus, rows: int) -> dict[str, Any]:
    told = {"name": corpus.name, "licence": corpus.licence, "trains": corpus.trains, "rows": rows}
    return {**told, "sha256": sha256_file(config.data / corpus.file)}


def _named(made: Family | HardNegative) -> dict[str, str]:
    return {"name": made.name, "code": made.code, "use": "exam" if made.use == "heldout" else made.use}


def _write_all(config: InjectConfig, cleans: dict[str, list[Clean]]) -> list[dict[str, Any]]:
    """Every set, training first, since what it teaches by the word is no exam."""
    corpora = corpora_in(config.data)
    trained = {corpus.name: cleans[corpus.name] for corpus in corpora if corpus.trains}
    unknown = [clean.draft for name, rows in cleans.items() if name not in trained for clean in rows]
    taught: set[tuple[str, str]] = set()
    files = [_write(config, plan, trained, taught) for plan in _plans(config)]
    files.append(_write_domain(config, unknown, taught))
    files.extend(_write_clean(config, corpus, cleans[corpus.name]) for corpus in corpora if corpus.clean_set)
    return files


@dataclass(frozen=True)
class _Plan:
    name: str
    split: str
    uses: tuple[Use, ...]
    """Whose families make the errors, round by round."""
    share: float
    rounds: int

    @property
    def unseen(self) -> bool:
        """Whether nothing in it may have been taught."""
        return "train" not in self.uses


def _plans(config: InjectConfig) -> tuple[_Plan, ...]:
    share, rounds = config.eval_share, config.eval_rounds
    return (
        _Plan("train", "train", ("train",), config.share, config.rounds),
        _Plan("dev", "dev", ("train",), share, rounds),
        _Plan("calibration", "calibration", ("train", "dev"), share, rounds),
        _Plan("dev_unseen", "dev", ("dev",), share, rounds),
        _Plan("test_seen", "test", ("train",), share, rounds),
        _Plan("test_unseen", "test", ("heldout",), share, rounds),
    )


def _cleans(config: InjectConfig) -> dict[str, list[Clean]]:
    """The dialogues of every corpus, natural misspellings mended or left out."""
    read_in = read_all(config.data, config.limit)
    mender = mender_of(clean.draft for rows in read_in.values() for clean in rows)
    return {
        name: [replace(clean, draft=draft) for clean in rows if (draft := mender.mended(clean.draft))]
        for name, rows in read_in.items()
    }


def _write(
    config: InjectConfig, plan: _Plan, cleans: dict[str, list[Clean]], taught: set[tuple[str, str]]
) -> dict[str, Any]:
    drafts = [clean.draft for rows in cleans.values() for clean in rows if clean.split == plan.split]
    return _write_mixed(config, plan, drafts, taught)


def _write_mixed(
    config: InjectConfig, plan: _Plan, drafts: list[Draft], taught: set[tuple[str, str]]
) -> dict[str, Any]:
    """A set and its manifest entry. Training adds the very words of its errors to `taught`; where such
    words come up in a set of unseen wordings, the dialogue stays as it was and is counted."""
    order = Random(f"{config.seed}/{plan.name}")
    order.shuffle(drafts)
    pool = pool_of(drafts, order)
    mixers = [_mixer(config, plan, use, pool) for use in plan.uses]
    left_out = 0
    untold, untold_twins = Counter[str](), Counter[str]()

    def examples() -> Iterator[Example]:
        nonlocal left_out
        shown: set[str] = set()
        for turn in range(plan.rounds):
            for draft in drafts:
                seed = f"{config.seed}/{plan.name}/{turn}/{draft.id}"
                rng = Thinned(seed, config.wordings) if plan.name == "train" else Random(seed)
                made = mixers[turn % len(mixers)].examples(draft, rng, plan.name, f"{turn}~")
                words = {words for example in made for words in _wordings(example)}
                if plan.name == "train":
                    taught.update(words)
                elif plan.unseen and words & taught:
                    left_out += 1
                    untold.update({label.method.removeprefix("inject:") for label in made[0].labels})
                    untold_twins.update([made[0].pair.rpartition("~")[2]] if made[0].pair else [])
                    made = [draft.example(plan.name)]
                for example in made:
                    if example.dialogue.id not in shown:
                        shown.add(example.dialogue.id)
                        yield example

    entry = _write_examples(config.out / f"{plan.name}.jsonl", examples(), config.quiet)
    totals = {
        "families": sum((mixer.counts for mixer in mixers), Counter[str]()) - untold,
        "dense": sum((mixer.dense_counts for mixer in mixers), Counter[str]()),
        "twins": sum((mixer.twins for mixer in mixers), Counter[str]()) - untold_twins,
    }
    told = {name: dict(sorted(counts.items())) for name, counts in totals.items()}
    return {**entry, **told, "left_out_as_taught": left_out}


def _wordings(example: Example) -> Iterator[tuple[str, str]]:
    """Code and very words of each error that lies in the wording."""
    for label in example.labels:
        if label.code in WORDED and label.start is not None:
            text = example.dialogue.turns[label.turn].text[label.start : label.end]
            yield label.code, " ".join(re.findall(r"[^\W_]+|[^\w\s]+", text.lower()))


def _mixer(config: InjectConfig, plan: _Plan, use: Use, pool: Pool) -> Mixer:
    """Only training is thinned by the ablations' options; evaluation sets stay the same for all."""
    train = plan.name == "train"
    return Mixer(
        [family for family in all_families() if family.use == use],
        pool,
        plan.share,
        [negative for negative in all_negatives() if negative.use == use and (config.negatives or not train)],
        hard=config.hard if train else EVAL_HARD,
        second=config.second if train else EVAL_SECOND,
        dense=config.dense if train else 0.0,
        twinned=config.twins or not train,
    )


def _write_domain(config: InjectConfig, drafts: list[Draft], taught: set[tuple[str, str]]) -> dict[str, Any]:
    chosen = Random(f"{config.seed}/domain").sample(drafts, min(config.domain_limit, len(drafts)))
    plan = _Plan("test_domain", "test", ("heldout",), config.eval_share, config.eval_rounds)
    return _write_mixed(config, plan, chosen, taught)


def _write_clean(config: InjectConfig, corpus: Corpus, cleans: list[Clean]) -> dict[str, Any]:
    """Dialogues that nothing was taught from, as they are: what is flagged here accuses somebody."""
    kept = (clean.draft for clean in cleans if clean.split == "test" or not corpus.trains)
    return _write_examples(
        config.out / f"{corpus.clean_set}.jsonl",
        (draft.example(corpus.clean_set) for draft in kept),
        config.quiet,
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
