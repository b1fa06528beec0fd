"""A search over a stage's options: what may be chosen, what is best, and what a kill leaves of it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from resuming import logged

from dialint.detector.artifacts import read_manifest, write_manifest
from dialint.detector.errors import ConfigError, OutputRefused
from dialint.finetune.search import (
    SEARCH,
    SearchConfig,
    Stage,
    parse_space,
    read_objective,
    run,
    search,
    to_options,
)

TOY = """
import os, signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from cyclopts import Parameter
from dialint.detector.artifacts import write_manifest
from dialint.finetune.train.checkpoint import validate_loss

@Parameter(name="*")
@dataclass(frozen=True)
class ToyConfig:
    out: Path
    x: float = 0.0
    shift_by: float = 0.0
    kind: Literal["plain", "huge", "stopped", "wrong", "diverged"] = "plain"

def toy(config: ToyConfig) -> None:
    config.out.mkdir(exist_ok=True)
    with open(config.out / "calls", "a") as file:
        file.write("called\\n")
    where = f"{config.out.name}/{len((config.out / 'calls').read_text().splitlines())}"
    if os.environ.get("KILL") == f"{where}/before":
        os.kill(os.getpid(), signal.SIGKILL)
    if config.kind == "huge":
        raise MemoryError
    if config.kind == "wrong":
        raise RuntimeError("broken")
    if config.kind == "diverged":
        validate_loss(3, float("nan"))
    if config.kind == "stopped":
        return
    loss = (config.x + config.shift_by - 3.0) ** 2
    write_manifest(config.out / "toy.json", {"kind": "toy", "dev": {"loss": loss}})
    if os.environ.get("KILL") == f"{where}/after":
        os.kill(os.getpid(), signal.SIGKILL)
"""
STAGE = Stage("toy_stage:toy", "train toy", "toy.json", "dev.loss", "minimize")
SPACE = ("x=-10.0..10.0", "shift_by=0,1")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    (tmp_path / "toy_stage.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield replace(STAGE)
    sys.modules.pop("toy_stage", None)


def config(folder: Path, **over: Any) -> SearchConfig:
    return SearchConfig(**{"stage": "scan", "out": folder / "out", "space": SPACE, "trials": 6, **over})


def test_a_space_reads_as_it_is_written() -> None:
    space = parse_space(
        ["learning-rate=1e-5..1e-3:log", "rank=4,8,16", "epochs=1..3", "x=-1.5..2", "dora=true,false"]
    )
    assert space == {
        "learning_rate": FloatDistribution(1e-5, 1e-3, log=True),
        "rank": CategoricalDistribution(("4", "8", "16")),
        "epochs": IntDistribution(1, 3),
        "x": FloatDistribution(-1.5, 2.0),
        "dora": CategoricalDistribution(("true", "false")),
    }
    assert to_options({"learning_rate": 2e-4, "x": -1.5}) == ["--learning-rate=0.0002", "--x=-1.5"]


@pytest.mark.parametrize("text", ["", "rank", "rank=", "=4,8", "x=3..1", "x=a..b", "x=0..1:log", "x=1..nan"])
def test_a_space_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="E_OPTION: --space"):
        parse_space([text] if text else [])
    with pytest.raises(ConfigError, match="E_OPTION: --space"):
        parse_space(["x=1,2", "x=3,4"])


def test_a_search_has_its_best_and_may_be_extended(toy: Stage, tmp_path: Path) -> None:
    first = run(config(tmp_path), ["--kind", "plain"], toy)
    assert run(config(tmp_path), ["--kind", "plain"], toy) == first
    more = run(config(tmp_path, trials=14), ["--kind", "plain"], toy)
    assert first is not None
    assert more is not None
    assert more["trials"][:6] == first["trials"]
    assert all((tmp_path / f"out/trial-{n:04d}/calls").read_text() == "called\n" for n in range(14))
    best, options = more["best"], more["best"]["options"]
    assert best["value"] == min(trial["value"] for trial in more["trials"]) < 10
    assert best["value"] == pytest.approx((options["x"] + float(options["shift_by"]) - 3) ** 2)
    command = f"dialint train toy --kind plain --x={options['x']} --shift-by={options['shift_by']}"
    assert best["command"] == f"{command} --out={tmp_path / 'out-best'}"
    assert read_manifest(tmp_path / "out" / SEARCH)["best"] == best
    with pytest.raises(OutputRefused, match="E_OTHER_JOB"):
        run(config(tmp_path, seed=1), ["--kind", "plain"], toy)


def test_a_trial_that_diverges_or_does_not_fit_into_memory_has_no_number(
    toy: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    searched = config(tmp_path, space=("kind=plain,huge,diverged",), trials=16)
    result = run(searched, ["--x=1"], toy)
    assert result is not None
    values = {trial["options"]["kind"]: trial["value"] for trial in result["trials"]}
    assert values == {"plain": 4.0, "huge": None, "diverged": None}
    assert result["best"]["options"] == {"kind": "plain"}
    assert "diverged: step 3: the loss is nan" in capsys.readouterr().out
    assert run(searched, ["--x=1"], toy) == result


def test_a_manifest_without_the_objective_is_refused(tmp_path: Path) -> None:
    write_manifest(tmp_path / "toy.json", {"dev": {"loss": 2}})
    assert read_objective(tmp_path / "toy.json", STAGE) == 2.0
    with pytest.raises(ConfigError, match="E_OBJECTIVE"):
        read_objective(tmp_path / "toy.json", replace(STAGE, objective="dev.loss.x"))


def test_a_stage_stopped_by_a_signal_ends_the_search(toy: Stage, tmp_path: Path) -> None:
    stopped = config(tmp_path, space=("kind=stopped",))
    assert run(stopped, [], toy) is None
    assert not (tmp_path / "out" / SEARCH).exists()
    assert run(stopped, [], toy) is None
    assert [path.name for path in (tmp_path / "out").glob("trial-*")] == ["trial-0000"]


def test_options_are_refused_before_any_trial(toy: Stage, tmp_path: Path) -> None:
    """Unknown ones, one given twice, no such value, and where the output goes; in the space, too."""
    for options in ("--nope 1", "--x 1", "--kind none", "--out elsewhere"):
        with pytest.raises(ConfigError, match="E_OPTION"):
            run(config(tmp_path), options.split(), toy)
    for space in ("nope=1,2", "out=1,2"):
        with pytest.raises(ConfigError, match="E_OPTION"):
            run(config(tmp_path, space=(space,)), [], toy)
    assert not (tmp_path / "out").exists()


def search_in_child(searched: SearchConfig, toy: Stage, kill: str) -> int:
    """The exit code of a process of its own that searches and is killed at `kill`."""
    child = os.fork()
    if child == 0:
        try:
            os.environ["KILL"] = kill
            run(searched, [], toy)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_search_goes_on_as_if_it_had_not_been(toy: Stage, tmp_path: Path) -> None:
    whole = run(config(tmp_path, out=tmp_path / "whole"), [], toy)
    searched, out = config(tmp_path), tmp_path / "out"
    for kill in ("trial-0002/1/before", "trial-0004/1/after"):
        assert search_in_child(searched, toy, kill) == -signal.SIGKILL
        assert not (out / SEARCH).exists()
    result = run(searched, [], toy)
    assert whole is not None
    assert result is not None
    assert result["trials"] == whole["trials"]
    assert result["best"]["value"] == whole["best"]["value"]
    calls = [len((out / f"trial-{n:04d}/calls").read_text().splitlines()) for n in range(6)]
    assert calls == [1, 1, 2, 1, 1, 1]


def test_the_real_scan_is_searched(
    folders: tuple[Path, Path], few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (f"--examples={few} --base={folders[1]} --row-tokens=200 --context-tokens=100 --threads=1 "
               "--epochs=1 --adapter=lora").split()  # fmt: skip
    wanted = config(tmp_path, space=("learning_rate=1e-4..1e-2:log", "rank=2,4"), trials=2)
    search(*options, config=wanted)
    result = read_manifest(tmp_path / "out" / SEARCH)
    for trial in result["trials"]:
        assert trial["value"] == logged(tmp_path / "out" / trial["folder"])[-1]["dev"]["ap"]["macro"]
    assert result["best"]["command"] in capsys.readouterr().out
