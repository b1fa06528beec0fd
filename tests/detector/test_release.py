"""A release is verified whole before any of it is loaded; what is wrong with it is said."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file

from detector.errors import ReleaseRefused
from detector.pipeline import DetectorConfig, load_detector
from detector.release import MANIFEST, WEIGHTS, Release, seal


def test_a_sound_release_opens(tmp_path: Path) -> None:
    release = Release(tiny.write_release(tmp_path / "r"))
    assert release.info.id == "tiny-1"
    assert release.info.head_codes == ("L1", "T1", "R1")


def test_one_flipped_bit_anywhere_is_found(tmp_path: Path) -> None:
    """F19 for releases: 100 of 100, over all files, the manifest among them."""
    folder = tiny.write_release(tmp_path / "r")
    chance = random.Random(7)
    files = sorted(folder.iterdir())
    for round_ in range(100):
        path = files[round_ % len(files)]
        whole = path.read_bytes()
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(ReleaseRefused):
            Release(folder)
        path.write_bytes(whole)
    Release(folder)


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS, "release.json", "config.json", "tokenizer.json"])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = tiny.write_release(tmp_path / "r")
    (folder / name).unlink()
    with pytest.raises(ReleaseRefused):
        Release(folder)


def test_a_pickle_beside_the_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ReleaseRefused, match=r"pytorch_model\.bin"):
        Release(folder)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_posing_as_a_known_file_is_refused_though_sealed(tmp_path: Path, protocol: int) -> None:
    folder = tiny.write_release(tmp_path / "r")
    (folder / "extra.json").write_bytes(pickle.dumps({"a": [1, 2]}, protocol=protocol))
    seal(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=r"extra\.json"):
        Release(folder)


def test_pickled_weights_under_the_right_name_are_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    torch.save({"a": torch.zeros(2)}, folder / WEIGHTS)
    seal(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match="not safetensors"):
        Release(folder)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_or_infinite_weights_are_refused(tmp_path: Path, kind: torch.dtype, value: float) -> None:
    folder = tiny.write_release(tmp_path / "r")
    tensors = {name: tensor.to(kind) for name, tensor in load_file(folder / WEIGHTS).items()}
    tensors["turn_head.weight"][1, 3] = value
    save_file(tensors, folder / WEIGHTS, metadata={"base_sha256": tiny.BASE})
    seal(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=r"turn_head\.weight holds NaN"):
        Release(folder)


def test_weights_made_from_another_base_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="another base"):
        Release(tiny.write_release(tmp_path / "r", base="1" * 64))


def test_weights_that_do_not_fit_the_configuration_are_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    (folder / "config.json").write_text(json.dumps({**tiny.ENCODER, "num_hidden_layers": 3}))
    seal(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match="does not fit"):
        load_detector(DetectorConfig(release=folder))


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    (folder / "config.json").write_text(json.dumps({**tiny.ENCODER, "model_type": "remote-code"}))
    seal(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=r"config\.json"):
        load_detector(DetectorConfig(release=folder))


def test_codes_outside_the_taxonomy_are_refused(tmp_path: Path) -> None:
    info = tiny.release_info()
    folder = tiny.write_release(
        tmp_path / "r", info=info.model_copy(update={"codes": {"Z9": info.codes["L1"]}})
    )
    with pytest.raises(ReleaseRefused, match="Z9"):
        load_detector(DetectorConfig(release=folder))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="no manifest"):
        load_detector(DetectorConfig(release=tmp_path / "nowhere"))
