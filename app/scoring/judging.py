"""``--judge`` in a scoring run: builds and measures the judge's stage, and describes it for the job, the
manifest and the summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.app.output import print_status
from dialint.app.scoring.options import ScoreConfig
from dialint.detector.artifacts import sha256_file
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError
from dialint.detector.interface import Detector, JudgeInfo
from dialint.detector.judge.config import JudgeConfig, judge_plugin
from dialint.detector.plugins import describe
from dialint.detector.records import Example
from dialint.detector.taxonomy import Taxonomy

if TYPE_CHECKING:  # most runs have no judge
    from dialint.detector.judge.engine import JudgeEngine
    from dialint.detector.judge.stage import JudgedDetector
    from dialint.detector.overrides import JudgeContract


def judged_detector(inner: Detector, engine: JudgeEngine, config: ScoreConfig) -> JudgedDetector:
    """Returns a detector that scans by `inner` and asks the judge about the reported codes; a judge trained
    by dialint about the codes of its training. A judge without a contract in the overrides and without
    ``--judge-precision`` is measured.

    Raises:
        ConfigError: an unusable contract, guideline or policy, or a judge without usable answers.
    """
    from dialint.detector.decide import EVEN
    from dialint.detector.judge.prompt import PROMPT_VERSION
    from dialint.detector.judge.stage import JudgedDetector, StageOptions
    from dialint.detector.overrides import read_overrides
    from dialint.detector.policy import load_policies

    judge, taxonomy, threshold = config.judge, inner.taxonomy, None
    overrides = read_overrides(config.detector.overrides)
    if overrides.judge is not None and overrides.judge.prompt != PROMPT_VERSION:
        raise ConfigError(
            "E_OVERRIDES",
            f"--overrides {config.detector.overrides}: the judge was measured with {overrides.judge.prompt}, "
            f"and this is {PROMPT_VERSION}",
        )
    if judge.judge_precision is not None:  # above 1: suggestions only
        threshold = EVEN if judge.judge_precision >= judge.min_precision else 2.0
    options = StageOptions.of(
        judge,
        taxonomy.select_codes(config.codes) or taxonomy.codes,
        threshold=threshold,
        budget=judge.budget,
        price=judge.price,
        overrides=overrides,
        policies=load_policies(config.detector.policy),
    )
    if threshold is None and overrides.judge is None:
        overrides = overrides.model_copy(update={"judge": measure_judge(engine, judge, taxonomy)})
        options = replace(options, overrides=overrides)
    return JudgedDetector(inner, engine, options)


def measure_judge(engine: JudgeEngine, judge: JudgeConfig, taxonomy: Taxonomy) -> JudgeContract:
    """Measures a judge on the sample, once for each model, prompt and options; returns its contract."""
    from dialint.detector.judge.stage import StageOptions
    from dialint.detector.policy import load_policies
    from dialint.eval.judge_measure import count_prompt_tokens, load_or_measure_contract

    examples = read_sample()
    policies = load_policies(sorted((SAMPLE / "policies").glob("*.yaml")))
    options = StageOptions.of(judge, taxonomy.codes, policies=policies, guideline=())

    def announce() -> None:
        print_status(
            f"judge {engine.name} is not measured yet: it first reads {len(examples)} dialogues with labels "
            f"(about {count_prompt_tokens(engine, taxonomy, options, examples):,} tokens), once; "
            "--judge-precision P states its precision instead"
        )

    cache = home_folder() / "judges"
    return load_or_measure_contract(engine, taxonomy, options, judge.min_precision, cache, examples, announce)


SAMPLE = Path(__file__).parents[1] / "sample"


def read_sample() -> list[Example]:
    """Returns the labelled sample of the package; a policy applies only to dialogues that name it."""
    from dialint.eval.results import read_labelled_log

    examples = []
    for example in read_labelled_log(SAMPLE / "dialogues.jsonl", SAMPLE / "labels.jsonl"):
        own = example.dialogue.model_copy(update={"policy": example.dialogue.policy or "none"})
        examples.append(example.model_copy(update={"dialogue": own}))
    return examples


def print_notes(judge: JudgeInfo) -> None:
    """Prints notes on the judge before scoring."""
    contract = judge.contract
    if contract is not None and contract.judge != judge.name:
        print_status(
            f"the judge contract of --overrides is of {contract.judge}, and the judge is {judge.name}"
        )
    for note in judge.notes:
        print_status(note)


def describe_options(config: JudgeConfig) -> dict[str, Any]:
    """Returns the judge's options that can change a verdict, with hashes of files; empty without a judge."""
    if config.judge is None:
        return {}
    files: dict[str, Any] = {}
    if source := describe([judge_plugin(config.judge)]):
        files["judge_plugin"] = source
    if config.guideline:
        files["guideline"] = [{"sha256": sha256_file(path)} for path in config.guideline]
    return {**config.describe(), **files}


def describe_usage(judge: JudgeInfo | None, config: JudgeConfig, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the judge's section of the manifest, empty without one: the judge, and its usage. Questions and
    failures are those of the whole output, tokens, seconds and cost those of this run."""
    if judge is None:
        return {}
    from dialint.detector.judge.prompt import PROMPT_VERSION

    usage, price, budget = judge.usage, config.price, config.budget
    cost = None if price is None else round(price.cost(usage.prompt_tokens, usage.output_tokens), 6)
    allowance = budget and {
        "per_thousand": budget.amount,
        "unit": budget.unit,
        "allowed": round(usage.allowed, 6),
        "spent": round(usage.spent, 6),
    }
    described = {
        "name": judge.name,
        "fingerprint": judge.fingerprint,
        "prompt": PROMPT_VERSION,
        "detail": config.detail,
        "contract": None if judge.contract is None else judge.contract.fingerprint,
        "notes": list(judge.notes),
        **counts,
        "unquoted": usage.unquoted,
        "shortened": usage.shortened,
        "tokens": {
            "prompt": usage.prompt_tokens,
            "cached": usage.cached_tokens,
            "output": usage.output_tokens,
        },
        "seconds": round(usage.seconds, 3),
        "cost_usd": cost,
        "budget": allowance,
    }
    return {"judge": described}


def judge_lines(judge: JudgeInfo | None, config: JudgeConfig, counts: Mapping[str, Any]) -> list[str]:
    """Returns the lines of the summary about the judge; none without one."""
    if judge is None:
        return []
    from dialint.detector.judge.stage import NO_ROOM

    usage = judge.usage
    questions = [f"{n:,} {kind.replace('_', ' ')}" for kind, n in counts["questions"].items() if n]
    lines = [
        f"judge {judge.name}: "
        f"{', '.join(questions) or 'nothing asked'}; "
        f"{usage.prompt_tokens:,} tokens of prompts ({usage.cached_tokens:,} cached) and "
        f"{usage.output_tokens:,} of answers in {usage.seconds:.0f} s"
    ]
    if config.budget is not None:
        lines[0] += f"; {usage.spent:,.6g} of {usage.allowed:,.6g} {config.budget.unit} of the budget used"
    if config.price is not None:
        lines[0] += f"; {config.price.cost(usage.prompt_tokens, usage.output_tokens):.4f} usd"
    if counts["unasked"]:
        lines.append(f"left unasked by the budget, so not clean: {_by_code(counts['unasked'])}")
    if counts["unmet"]:
        lines.append(
            f"not asked, as sources, policy, actions or times are missing: {_by_code(counts['unmet'])}"
        )
    too_long = []
    if n_failed := counts["failures"].get(NO_ROOM, 0):
        too_long.append(f"{NO_ROOM}: in {n_failed:,} dialogues a question was too long for the judge")
    if usage.shortened:
        too_long.append(f"{usage.shortened:,} questions show a turn without its middle")
    if too_long:
        lines.append(
            f"{'; '.join(too_long)}: a prompt has room for {judge.max_prompt_tokens:,} tokens. To give it "
            "more: a larger --max-model-len of the server, a judge with a longer context (in training: "
            "--prompt-tokens), no smaller --judge-context"
            f"{'' if config.detail == 'short' else '; or --judge-detail short'}"
        )
    if usage.unquoted:
        lines.append(f"{usage.unquoted:,} errors of the judge dropped: their quote is not in the turn")
    contract = judge.contract
    if contract is not None and contract.listed:
        precision, recall = contract.right / contract.listed, contract.found / max(1, contract.labels)
        line = f"{100 * precision:.0f} % right, {100 * recall:.0f} % found"
        line += f" on {contract.dialogues} dialogues with labels"
        why = "" if contract.accuses else f": seldomer right than {contract.precision:g}, so it only suggests"
        lines.append(f"judge {judge.name}: {line}{why}")
    return lines


def _by_code(dialogues: Mapping[str, int]) -> str:
    """Formats codes with their numbers of dialogues."""
    return ", ".join(f"{code} ({n:,})" for code, n in dialogues.items())
