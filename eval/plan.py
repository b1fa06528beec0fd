"""Plans a large scoring job: hours, GPUs and cost, from measured throughput where there is one.

    dialint eval plan --dialogues 5e6 --tokens 600 --judge 4B --gpu h200 --gpu-price 3

Measured rates and the assumptions about all others are in `throughput.yaml`; each line of the table says
which of them it rests on. Without a measurement the arithmetic is 2 FLOPs for each parameter and token, over
the GPU's speed times a utilisation; attention, sampling and the network are not modelled. Nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.artifacts import write_json
from dialint.detector.errors import ConfigError
from dialint.detector.option_ranges import check_ranges
from dialint.eval.run import check_writable
from dialint.eval.throughput import Assumptions, Gpu, Range, Throughput, load_throughput

SIZES = {"M": 1e6, "B": 1e9}
BYTES_PER_WEIGHT = 2
"""bf16."""
HOUR_S = 3600.0

Basis = Literal["measured", "given", "estimate"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlanConfig:
    """Options of `dialint eval plan`."""

    dialogues: Annotated[float, Field(ge=1)]
    """Dialogues to be scored, for instance 5e6."""
    tokens: Annotated[float, Field(gt=0)] = 300.0
    """Tokens of a dialogue, on average."""
    scan: str = "embedded"
    """Scan of every dialogue: embedded, on --cores; the size of a larger backbone such as 0.6B, on --gpus;
    or none."""
    judge: str | None = None
    """Size of the judge, such as 4B or 600M; without it no judge is asked."""
    gpu: str | None = None
    """GPU that the models run on: h200, h100, a100, l40s or l4."""
    gpus: Annotated[int, Field(ge=1)] = 1
    """Number of GPUs."""
    cores: Annotated[int, Field(ge=1)] = 8
    """CPU cores of the embedded scan."""
    hours: Annotated[float | None, Field(gt=0)] = None
    """Time in which the job must be done: the number of GPUs is computed, and --gpus does not count."""
    flagged: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Share of dialogues in which something is flagged, so that the judge is asked for details."""
    questions: Annotated[float, Field(ge=0)] = 3.0
    """Questions for details in a flagged dialogue: one turn and one code each."""
    screens: Annotated[float, Field(ge=0)] = 2.0
    """Screening questions in every dialogue, each about up to 12 codes. 2 ask about all that the embedded
    scan does not cover, in a log without evidence such as tool calls or sources; 0 if a budget leaves no
    room."""
    output_tokens: Annotated[float, Field(ge=0)] = 80.0
    """Tokens of an answer with details."""
    screen_output_tokens: Annotated[float, Field(ge=0)] = 20.0
    """Tokens of the answer to a screening question."""
    prefix_caching: bool = True
    """The server computes what the questions of a dialogue have in common once."""
    throughput: Annotated[float | None, Field(gt=0)] = None
    """Questions a second that one GPU, or a hosted judge, answered when you measured it, in place of the
    estimate."""
    scan_throughput: Annotated[float | None, Field(gt=0)] = None
    """Dialogues a second that one core, or one GPU with a larger scan, scored when you measured it."""
    gpu_price: Annotated[float | None, Field(ge=0)] = None
    """Price of one hour of one GPU."""
    core_price: Annotated[float | None, Field(ge=0)] = None
    """Price of one hour of one core."""
    token_price: Annotated[tuple[float, float] | None, Parameter(negative=())] = None
    """Prices of a million prompt tokens and of a million answer tokens, for a hosted judge without a GPU."""
    out: Path | None = None
    """Write the plan to this file, as JSON."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.judge is None and self.scan == "none":
            raise ConfigError("E_OPTION", "--scan none needs --judge: nothing else is left to plan")
        if self.token_price is not None and (min(self.token_price) < 0 or self.judge is None):
            raise ConfigError("E_OPTION", "--token-price: expected --judge and two prices of at least 0")
        if self.judge is not None and not (self.screens or self.flagged * self.questions):
            raise ConfigError("E_OPTION", "--judge is asked nothing: --screens or --questions is needed")
        if self.throughput is not None and self.judge is None:
            raise ConfigError("E_OPTION", "--throughput is that of a judge; name --judge")

    @property
    def n_details(self) -> float:
        """Questions for details in the whole job."""
        return self.dialogues * self.flagged * self.questions

    @property
    def n_screens(self) -> float:
        """Screening questions in the whole job."""
        return self.dialogues * self.screens


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a plan. `unit_hours` are hours of one core or one GPU, None for a hosted judge, whose hours
    are not known; `formula` has the figures in it."""

    name: str
    device: str
    units: int
    prompt_tokens: float
    output_tokens: float
    unit_hours: Range | None
    basis: Basis
    formula: str
    cost: Range | None

    @property
    def hours(self) -> Range | None:
        """By the clock, with all units at work."""
        return None if self.unit_hours is None else _scale(self.unit_hours, 1 / self.units)


def plan(*, config: PlanConfig) -> None:
    """Plan hours, GPUs and cost of a large job."""
    if config.out is not None:
        check_writable(config.out)
    throughput = load_throughput()
    steps = plan_steps(config, throughput)
    _print_plan(steps, config, throughput)
    if config.out is not None:
        described = [{**asdict(step), "hours": step.hours} for step in steps]
        options = {name: value for name, value in vars(config).items() if name != "out"}
        content = {"kind": "plan", "throughput": str(throughput.version), "options": options}
        write_json(config.out, {**content, "steps": described})


def plan_steps(config: PlanConfig, throughput: Throughput) -> list[Step]:
    """The lines of the plan: the scan, then the judge.

    Raises:
        ConfigError: E_OPTION, a size or GPU that is not known, a model that does not fit, a time in which the
            scan alone cannot be done.
    """
    steps = []
    if config.scan == "embedded":
        steps.append(_embedded_scan(config, throughput))
    gpu_steps: list[Step] = []
    if config.scan not in ("embedded", "none"):
        gpu_steps.append(_large_scan(config, throughput))
    if config.judge is not None:
        hosted = config.token_price is not None
        (steps if hosted else gpu_steps).append(_judge(config, throughput))
    if config.hours is None:
        return steps + gpu_steps
    used = sum(step.hours[1] for step in steps if step.hours is not None)
    if used >= config.hours:
        raise ConfigError(
            "E_OPTION", f"--hours {config.hours:g}: the scan alone takes {used:.3g} on {config.cores} cores"
        )
    unit_hours = sum(step.unit_hours[1] for step in gpu_steps if step.unit_hours is not None)
    units = max(1, math.ceil(unit_hours / (config.hours - used)))
    return steps + [Step(**{**asdict(step), "units": units}) for step in gpu_steps]


def _embedded_scan(config: PlanConfig, throughput: Throughput) -> Step:
    tokens = config.dialogues * config.tokens
    if config.scan_throughput is not None:
        seconds = config.dialogues / config.scan_throughput
        formula = f"{config.dialogues:,.0f} dialogues / {config.scan_throughput:g} a second"
    else:
        measured = next(each for each in throughput.measurements if each.model == "embedded")
        seconds = tokens / measured.tokens_per_second
        formula = (
            f"{tokens:.3g} tokens / {measured.tokens_per_second:,.0f} a second ({measured.what}; "
            f"{measured.machine}; {measured.versions}; {measured.date}, {measured.source})"
        )
    hours = seconds / HOUR_S
    return Step(
        name="scan (embedded)",
        device="core",
        units=config.cores,
        prompt_tokens=tokens,
        output_tokens=0.0,
        unit_hours=(hours, hours, hours),
        basis="given" if config.scan_throughput is not None else "measured",
        formula=formula,
        cost=_cost((hours, hours, hours), config.core_price),
    )


def _large_scan(config: PlanConfig, throughput: Throughput) -> Step:
    parameters = parse_size(config.scan, "--scan")
    gpu = _find_gpu(config, throughput)
    check_fits(parameters, gpu, throughput.assumptions, "--scan")
    tokens = config.dialogues * config.tokens
    if config.scan_throughput is not None:
        hours = config.dialogues / config.scan_throughput / HOUR_S
        unit_hours = (hours, hours, hours)
        formula = f"{config.dialogues:,.0f} dialogues / {config.scan_throughput:g} a second"
    else:
        unit_hours, formula = _estimate(tokens, 0.0, parameters, gpu, throughput.assumptions)
    return Step(
        name=f"scan ({config.scan})",
        device=gpu.name,
        units=config.gpus,
        prompt_tokens=tokens,
        output_tokens=0.0,
        unit_hours=unit_hours,
        basis="given" if config.scan_throughput is not None else "estimate",
        formula=formula,
        cost=_cost(unit_hours, config.gpu_price),
    )


def _judge(config: PlanConfig, throughput: Throughput) -> Step:
    assert config.judge is not None
    parameters, assumptions = parse_size(config.judge, "--judge"), throughput.assumptions
    sent, computed = count_prompt_tokens(config, assumptions)
    output = config.n_details * config.output_tokens + config.n_screens * config.screen_output_tokens
    n_questions = config.n_details + config.n_screens
    unit_hours: Range | None
    cost: Range | None
    basis: Basis = "estimate"
    if config.token_price is not None:
        price_in, price_out = config.token_price
        amount = (sent * price_in + output * price_out) / 1e6
        device, unit_hours, cost, basis = "hosted", None, (amount, amount, amount), "given"
        if config.throughput is not None:
            hours = n_questions / config.throughput / HOUR_S
            unit_hours = (hours, hours, hours)
        formula = (
            f"{sent:.3g} prompt tokens x {price_in:g} + {output:.3g} answer tokens x {price_out:g}, a million"
        )
    else:
        gpu = _find_gpu(config, throughput)
        check_fits(parameters, gpu, assumptions, "--judge")
        device = gpu.name
        if config.throughput is not None:
            hours = n_questions / config.throughput / HOUR_S
            unit_hours, basis = (hours, hours, hours), "given"
            formula = f"{n_questions:.3g} questions / {config.throughput:g} a second"
        else:
            unit_hours, formula = _estimate(computed, output, parameters, gpu, assumptions)
        cost = _cost(unit_hours, config.gpu_price)
    return Step(
        name=f"judge ({config.judge})",
        device=device,
        units=1 if config.token_price is not None else config.gpus,
        prompt_tokens=sent,
        output_tokens=output,
        unit_hours=unit_hours,
        basis=basis,
        formula=formula,
        cost=cost,
    )


def count_prompt_tokens(config: PlanConfig, assumptions: Assumptions) -> tuple[float, float]:
    """Prompt tokens of the whole job: those that are sent, and those that are computed. With prefix caching a
    dialogue is computed once for all its screens and once for all its details, which show it otherwise, and
    the system message never again."""
    own = config.n_details * assumptions.question_tokens + config.n_screens * assumptions.screen_tokens
    common = config.tokens + assumptions.system_tokens
    sent = (config.n_details + config.n_screens) * common + own
    if not config.prefix_caching:
        return sent, sent
    n_dialogues = config.dialogues * (min(1.0, config.screens) + config.flagged * min(1.0, config.questions))
    return sent, n_dialogues * config.tokens + own


def _estimate(
    prompt: float, output: float, parameters: float, gpu: Gpu, assumptions: Assumptions
) -> tuple[Range, str]:
    """Hours of one GPU, fewest first, and the formula with its figures."""
    tflops = gpu.measured_tflops or gpu.data_sheet_tflops * assumptions.reached_of_data_sheet
    pairs = zip(
        reversed(assumptions.prompt_utilisation), reversed(assumptions.answer_utilisation), strict=True
    )
    low, expected, high = (
        2 * parameters * (prompt / reading + output / writing) / (tflops * 1e12) / HOUR_S
        for reading, writing in pairs
    )
    reading, writing = assumptions.prompt_utilisation[1], assumptions.answer_utilisation[1]
    formula = (
        f"2 x {parameters:.3g} parameters x ({prompt:.3g} prompt tokens / {reading:g} + {output:.3g} answer "
        f"tokens / {writing:g}) / {tflops:.0f} TFLOP/s ({gpu.name}: {gpu.source})"
    )
    return (low, expected, high), formula


def parse_size(text: str, option: str) -> float:
    """The parameters that a size such as ``4B`` or ``600M`` stands for.

    Raises:
        ConfigError: E_OPTION, it is no such size.
    """
    number, unit = text[:-1], text[-1:].upper()
    try:
        parameters = float(number) * SIZES[unit]
    except (ValueError, KeyError):
        parameters = math.nan
    if not 0 < parameters < math.inf:
        raise ConfigError("E_OPTION", f"{option}: expected a size such as 4B or 600M")
    return parameters


def check_fits(parameters: float, gpu: Gpu, assumptions: Assumptions, option: str) -> None:
    """
    Raises:
        ConfigError: E_OPTION, one GPU does not hold the weights in bf16. Models that are split over several
            are not planned.
    """
    needed_gb = parameters * BYTES_PER_WEIGHT / 1e9
    if needed_gb > assumptions.weights_share * gpu.memory_gb:
        raise ConfigError(
            "E_OPTION",
            f"{option}: {needed_gb:.3g} GB of weights do not fit beside the cache into the "
            f"{gpu.memory_gb:g} GB of one {gpu.name}; models that are split over GPUs are not planned",
        )


def _find_gpu(config: PlanConfig, throughput: Throughput) -> Gpu:
    names = ", ".join(gpu.name for gpu in throughput.gpus)
    if config.gpu is None:
        raise ConfigError("E_OPTION", f"--gpu is needed for a judge or a large scan; one of {names}")
    for gpu in throughput.gpus:
        if gpu.name == config.gpu.lower():
            return gpu
    raise ConfigError("E_OPTION", f"--gpu {config.gpu}: expected one of {names}")


def _cost(unit_hours: Range, price: float | None) -> Range | None:
    return None if price is None else _scale(unit_hours, price)


def _scale(values: Range, factor: float) -> Range:
    low, expected, high = values
    return low * factor, expected * factor, high * factor


def _print_plan(steps: Sequence[Step], config: PlanConfig, throughput: Throughput) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=f"{config.dialogues:,.0f} dialogues of {config.tokens:g} tokens", title_justify="left"
    )
    for column in ("step", "on", "hours of one", "hours", "cost", "basis"):
        table.add_column(column, justify="left" if column in ("step", "on", "basis") else "right")
    for step in steps:
        on = step.device if step.device == "hosted" else f"{step.units} x {step.device}"
        cells = (_format(value) for value in (step.unit_hours, step.hours, step.cost))
        table.add_row(step.name, on, *cells, step.basis)
    hours = [step.hours[1] for step in steps if step.hours is not None]
    if len(steps) > 1 and len(hours) == len(steps):
        table.add_row("one after the other", "", "", f"{sum(hours):.3g}", _total_cost(steps), "")
    console = Console(markup=False, emoji=False)
    console.print(table)
    for step in steps:
        console.print(f"{step.name}: {step.formula}", soft_wrap=True)
    if any(step.basis == "estimate" for step in steps):
        low, expected, high = throughput.assumptions.prompt_utilisation
        console.print(
            f"estimate: not measured on this GPU; the range is that of utilisations of {low:g} to {high:g}, "
            f"{expected:g} expected, in reading prompts. Measure a sample and name --throughput",
            soft_wrap=True,
        )


def _total_cost(steps: Sequence[Step]) -> str:
    costs = [step.cost[1] for step in steps if step.cost is not None]
    return f"{sum(costs):,.2f}" if len(costs) == len(steps) else ""


def _format(values: Range | None) -> str:
    if values is None:
        return ""
    low, expected, high = values
    spread = f" ({low:.3g} to {high:.3g})" if low < high else ""
    return f"{expected:.3g}{spread}"
