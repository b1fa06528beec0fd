"""The trl whose private methods are overridden: another one is neither installed nor used unseen."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import pytest
import trl
from packaging.requirements import Requirement
from packaging.version import Version

from dialint.finetune.judge.trl_trainers import (
    JudgeDPOTrainer,
    JudgeGRPOTrainer,
    JudgeSFTTrainer,
)
from dialint.finetune.rewards.reward_trainer import JudgeRewardTrainer

WRITTEN_FOR = "1.16"
"""The release whose methods were read; raise it, and the bound of pyproject.toml, when another was."""
OVERRIDDEN = {
    JudgeGRPOTrainer: {"_generate_single_turn", "_generate_and_score_completions", "_get_per_token_logps_and_entropies"},
    JudgeDPOTrainer: {"_prepare_dataset"},
    JudgeSFTTrainer: set(),
    JudgeRewardTrainer: set(),
}  # fmt: skip


def test_the_installed_trl_is_the_one_that_was_read() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    bounds = [Requirement(text) for text in project["project"]["optional-dependencies"]["train"]]
    (bound,) = (one.specifier for one in bounds if one.name == "trl")
    major, minor = Version(WRITTEN_FOR).release
    assert Version(trl.__version__).release[:2] == (major, minor)
    assert bound.contains(trl.__version__)
    assert not bound.contains(f"{major}.{minor + 1}")


@pytest.mark.parametrize("trainer", OVERRIDDEN, ids=lambda trainer: trainer.__name__)
def test_what_is_overridden_is_there(trainer: type) -> None:
    """Each private method of ours stands for one of trl's that takes as many arguments by place."""
    own = [kind for kind in trainer.__mro__ if kind.__module__.startswith("dialint.finetune.")]
    theirs = next(kind for kind in trainer.__mro__ if kind.__module__.startswith("trl."))
    private = {
        name: method
        for kind in own
        for name, method in vars(kind).items()
        if inspect.isfunction(method) and name.startswith("_") and not name.startswith("__")
    }
    assert private.keys() == OVERRIDDEN[trainer]
    for name, method in private.items():
        arguments = inspect.signature(getattr(theirs, name)).parameters
        places = [None for one in arguments.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        inspect.signature(method).bind(*places)
