"""The training loop: a run that was stopped and resumed is the run that was never stopped; a sealed checkpoint is
taken up as it was sealed, or refused."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from resuming import logged
from safetensors.torch import save_file

from dialint.detector import artifacts
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune.train import checkpoint, loop
from dialint.finetune.train.loop import (
    Evaluation,
    StepOutput,
    TrainingLoop,
    build_optimizer,
    optimizer_step,
    plan_rows,
    set_learning_rates,
    stop_on_signal,
    warmup_cosine,
)
from dialint.finetune.train.options import RunOptions

N_STEPS = 12


def build_loop(
    out: Path, before_step: Callable[[int], None] = lambda step: None, **options: Any
) -> tuple[TrainingLoop, torch.nn.Linear]:
    """A linear layer that learns random numbers, with random order and a random initial value."""
    torch.manual_seed(0)
    model, extra = torch.nn.Linear(3, 1), {"seen": 0}
    parameters = dict(model.named_parameters())
    optimizer = build_optimizer("adamw", [parameters.values()], "cpu")

    def train_step(step: int) -> StepOutput:
        before_step(step)
        generator = torch.Generator().manual_seed(step)
        inputs = torch.randn((4, 3), generator=generator)
        loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        extra["seen"] += 4
        value = float(loss.detach())
        optimizer_step(optimizer, parameters.values(), value, [0.1], warmup_cosine(step, N_STEPS), step)
        return StepOutput(4, value, dict(extra))

    out.mkdir(exist_ok=True)
    training = TrainingLoop(
        out=out, job="job", n_steps=N_STEPS, train_step=train_step, parameters=parameters,
        optimizer=optimizer, extra=extra, log_steps=1, **options,
    )  # fmt: skip
    return training, model


def killing(at: int, number: signal.Signals = signal.SIGTERM) -> Callable[[int], None]:
    """Sends this process a signal in a step."""
    return lambda step: os.kill(os.getpid(), number) if step == at else None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_resumes_bit_for_bit(
    tmp_path: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, expected = build_loop(tmp_path / "whole")
    assert whole.run()

    stopped, _ = build_loop(tmp_path / "stopped", killing(4, number))
    if number == signal.SIGINT:
        with pytest.raises(KeyboardInterrupt):
            stopped.run()
    else:
        assert not stopped.run()
    assert f"stopped after step 5 of {N_STEPS} and saved" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "stopped").glob("checkpoint-*")] == ["checkpoint-5"]
    resumed, model = build_loop(tmp_path / "stopped")
    assert resumed.run()
    assert "resumes at step 5" in capsys.readouterr().err
    assert torch.equal(model.weight, expected.weight)
    assert resumed.state.tokens == whole.state.tokens == 4 * N_STEPS
    assert logged(tmp_path / "stopped") == logged(tmp_path / "whole")


def test_a_signal_during_the_last_step_loses_nothing(tmp_path: Path) -> None:
    training, _ = build_loop(tmp_path, killing(N_STEPS - 1))
    assert training.run()
    assert (tmp_path / f"checkpoint-{N_STEPS}").is_dir()


def test_killed_at_any_line_of_a_checkpoint_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """SIGKILL at lines spread over the second save, in a process of its own each."""
    whole, expected = build_loop(tmp_path / "whole", running=RunOptions(checkpoint_steps=3))
    assert whole.run()
    files = {loop.__file__, checkpoint.__file__, artifacts.__file__}

    def train(folder: Path, kill_at: int) -> int:
        """Number of lines of the second save, or the end of the process at one of them."""
        training, _ = build_loop(folder, running=RunOptions(checkpoint_steps=3))
        save, saves, lines = training._save, [0], [0]

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                lines[0] += 1
                if lines[0] == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace if frame.f_code.co_filename in files else None

        def saving(log_bytes: int) -> None:
            saves[0] += 1
            sys.settrace(trace if saves[0] == 2 else None)
            save(log_bytes)
            sys.settrace(None)

        training._save = saving  # type: ignore[method-assign]
        training.run()
        return lines[0]

    n_lines = train(tmp_path / "counted", 0)
    assert n_lines > 40
    for number in range(12):
        folder = tmp_path / str(number)
        child = os.fork()
        if child == 0:
            train(folder, 1 + number * (n_lines - 1) // 11)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        resumed, model = build_loop(folder)
        assert resumed.run()
        assert torch.equal(model.weight, expected.weight)
        assert logged(folder) == logged(tmp_path / "whole")


def test_early_stopping_keeps_the_best_weights_through_a_stop(tmp_path: Path) -> None:
    scores = {2: 0.1, 4: 0.5, 6: 0.3, 8: 0.5, 10: 0.9}

    def evaluate(step: int) -> Evaluation:
        return Evaluation({"score": scores[step]}, scores[step])

    options: dict[str, Any] = {"evaluate": evaluate, "eval_steps": 2, "patience": 2}
    at_step_4, model = build_loop(tmp_path / "short", **options)
    at_step_4.n_steps = 4
    assert at_step_4.run()
    stopped, _ = build_loop(tmp_path / "long", killing(6), **options)
    assert not stopped.run()
    resumed, best = build_loop(tmp_path / "long", final_evaluate=lambda: {"final": 1.0}, **options)
    assert resumed.run()
    assert (resumed.state.step, resumed.state.best_step) == (8, 4)
    assert logged(tmp_path / "long")[-1] == {"step": 4, "final": 1.0}
    assert torch.equal(best.weight, model.weight)


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = checkpoint.describe_job({}, "data")
    monkeypatch.setattr(checkpoint, "FORMAT", "an older one")
    checkpoint.save_state(tmp_path, checkpoint.describe_job({}, "data"), 3, 0, {})
    with pytest.raises(OutputRefused, match="another version of dialint wrote it; remove it to start anew"):
        checkpoint.find_latest(tmp_path, now)


def test_a_checkpoint_of_another_job_or_with_a_changed_bit_is_refused(tmp_path: Path) -> None:
    build_loop(tmp_path, running=RunOptions(checkpoint_steps=3))[0].run()
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        checkpoint.find_latest(tmp_path, "another")
    path = next(tmp_path.glob("checkpoint-*")) / checkpoint.STATE
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(OutputRefused, match="E_CHECKSUM"):
        build_loop(tmp_path)[0].run()


def test_a_loss_that_is_nan_moves_no_weight(tmp_path: Path) -> None:
    _, model = build_loop(tmp_path)
    before = model.weight.clone()
    model(torch.ones(1, 3)).sum().backward()
    optimizer = build_optimizer("adamw", [model.parameters()], "cpu")
    with pytest.raises(ConfigError, match="E_DIVERGED"):
        optimizer_step(optimizer, model.parameters(), float("nan"), [0.1], 1.0, 0)
    assert torch.equal(model.weight, before)


def test_the_first_signal_is_recorded_and_the_second_reaches_the_earlier_handler() -> None:
    others: list[int] = []

    def other(signum: int, frame: FrameType | None) -> None:
        others.append(signum)

    before = signal.signal(signal.SIGTERM, other)
    try:
        with stop_on_signal() as signal_received:
            assert not signal_received()
            os.kill(os.getpid(), signal.SIGTERM)
            assert signal_received()
            assert others == []
            os.kill(os.getpid(), signal.SIGTERM)
            assert others == [signal.SIGTERM]
        with stop_on_signal() as signal_received:
            assert not signal_received()
        os.kill(os.getpid(), signal.SIGTERM)
        assert len(others) == 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_rows_hold_every_item_once_a_pass_and_fit() -> None:
    lengths = [5, 96, 40, 41, 8, 60, 30]
    rows = list(plan_rows(lengths, 3, 2, 96))
    assert sorted(place for some in rows for place in some) == sorted([*range(7), *range(7)])
    assert all(sum(lengths[place] for place in some) <= 96 for some in rows)
    assert list(plan_rows(lengths, 3, 2, 96)) == rows != list(plan_rows(lengths, 4, 2, 96))
    assert sum(len(some) for some in plan_rows(lengths, 3, 0.5, 96)) == 3
    assert sum(lengths[place] for some in plan_rows(lengths, 3, 2, 96, 200) for place in some) <= 200


def test_the_rate_rises_over_a_twentieth_and_falls_to_a_fiftieth() -> None:
    rates = [warmup_cosine(step, 100) for step in range(101)]
    assert rates[:6] == [0.2, 0.4, 0.6, 0.8, 1.0, 1.0]
    assert rates[100] == pytest.approx(0.02)
    assert rates[52] == pytest.approx(0.51, abs=0.01)
    assert warmup_cosine(199, 100_000) == warmup_cosine(0, 1) == 1.0


@pytest.mark.parametrize(("name", "bytes_each"), [("adamw", 8), ("adamw-8bit", 2), ("paged-adamw-8bit", 2)])
def test_each_group_moves_at_its_own_rate(name: Any, bytes_each: int) -> None:
    first, second = (torch.nn.Parameter(torch.ones(64, 128)) for _ in range(2))
    optimizer = build_optimizer(name, [[first], [second]], "cpu", weight_decay=0.0)
    set_learning_rates(optimizer, (0.1, 0.2), 0.5)
    (first.sum() + second.sum()).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    assert torch.allclose(first, torch.full_like(first, 0.95), atol=1e-3)  # Adam's first step is its rate
    assert torch.allclose(second, torch.full_like(second, 0.9), atol=1e-3)
    states = [part for part in optimizer.state[first].values() if isinstance(part, torch.Tensor)]
    assert sum(part.nbytes for part in states if part.shape == first.shape) == bytes_each * first.numel()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    inside = tmp_path / "checkpoint-7" / "below"
    inside.mkdir(parents=True)
    save_file({"weight": torch.ones(2)}, inside.parent / "optimizer.safetensors")
    (inside / "state.json").write_text("{}")
    checkpoint.seal(inside.parent, "job", 12)
    return tmp_path


@pytest.mark.parametrize("name", ["pytorch_model.bin", "below/rng_state.pth"])
def test_a_file_that_was_slipped_in_is_refused(out: Path, name: str) -> None:
    assert checkpoint.find_latest(out, "job") == (out / "checkpoint-7", 12)
    (out / "checkpoint-7" / name).write_bytes(b"code")
    with pytest.raises(OutputRefused, match="does not name"):
        checkpoint.find_latest(out, "job")


def test_a_link_in_place_of_a_file_is_refused(out: Path) -> None:
    path = out / "checkpoint-7" / "below/state.json"
    path.rename(out / "state.json")
    path.symlink_to(out / "state.json")
    with pytest.raises(OutputRefused, match="a link"):
        checkpoint.find_latest(out, "job")
