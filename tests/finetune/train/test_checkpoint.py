"""A sealed checkpoint is taken up as it was sealed, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from dialint.detector.errors import OutputRefused
from dialint.finetune.train.checkpoint import find_latest, seal


@pytest.fixture
def out(tmp_path: Path) -> Path:
    inside = tmp_path / "checkpoint-7" / "below"
    inside.mkdir(parents=True)
    save_file({"weight": torch.ones(2)}, inside.parent / "optimizer.safetensors")
    (inside / "state.json").write_text("{}")
    seal(inside.parent, "job", 12)
    return tmp_path


def test_a_whole_checkpoint_is_taken_up(out: Path) -> None:
    assert find_latest(out, "job") == (out / "checkpoint-7", 12)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "below/rng_state.pth"])
def test_a_file_that_was_slipped_in_is_refused(out: Path, name: str) -> None:
    (out / "checkpoint-7" / name).write_bytes(b"code")
    with pytest.raises(OutputRefused, match="does not name"):
        find_latest(out, "job")


def test_a_link_in_place_of_a_file_is_refused(out: Path) -> None:
    path = out / "checkpoint-7" / "below/state.json"
    path.rename(out / "state.json")
    path.symlink_to(out / "state.json")
    with pytest.raises(OutputRefused, match="a link"):
        find_latest(out, "job")
