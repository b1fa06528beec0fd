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

from dialint.detector.artifacts import MANIFEST
from dialint.detector.calibration import CheckPrecision, CodeRelease
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.interface import DetectorConfig
from dialint.detector.pipeline import load_detector
from dialint.detector.registry import SHIPPED_RELEASES
from dialint.detector.release import WEIGHTS, Release, finalize_release, measured_check


def test_one_flipped_bit_anywhere_is_found(tmp_path: Path) -> None:
    """F19 for releases: 100 of 100, over all files, the manifest among them."""
    folder = tiny.write_release(tmp_path / "r")
    rng = random.Random(7)
    files = sorted(folder.iterdir())
    for round_ in range(100):
        path = files[round_ % len(files)]
        whole = path.read_bytes()
        place, bit = rng.randrange(len(whole)), rng.randrange(8)
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
    finalize_release(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=r"extra\.json"):
        Release(folder)


def test_pickled_weights_under_the_right_name_are_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r")
    torch.save({"a": torch.zeros(2)}, folder / WEIGHTS)
    finalize_release(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match="not safetensors"):
        Release(folder)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_or_infinite_weights_are_refused(tmp_path: Path, kind: torch.dtype, value: float) -> None:
    folder = tiny.write_release(tmp_path / "r")
    tensors = {name: tensor.to(kind) for name, tensor in load_file(folder / WEIGHTS).items()}
    tensors["slot_head.weight"][1, 3] = value
    save_file(tensors, folder / WEIGHTS, metadata={"base_sha256": tiny.BASE})
    finalize_release(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=r"slot_head\.weight holds NaN"):
        Release(folder)


def test_weights_made_from_another_base_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="another base"):
        Release(tiny.write_release(tmp_path / "r", base="1" * 64))


def test_codes_outside_the_taxonomy_are_refused(tmp_path: Path) -> None:
    info = tiny.release_info()
    folder = tiny.write_release(
        tmp_path / "r", info=info.model_copy(update={"codes": {"Z9": info.codes["M2"]}})
    )
    with pytest.raises(ReleaseRefused, match="Z9"):
        load_detector(DetectorConfig(release=folder))


def test_a_release_that_is_not_there_or_is_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="there is no such release"):
        load_detector(DetectorConfig(release=tmp_path / "nowhere"))
    (tmp_path / "release.json").write_text("{}")
    with pytest.raises(ReleaseRefused, match="a release is a folder"):
        load_detector(DetectorConfig(release=tmp_path / "release.json"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReleaseRefused, match="no complete release"):
        load_detector(DetectorConfig(release=tmp_path / "empty"))


INFO = tiny.release_info()
SMALL = tiny.render_config(context_tokens=6)
LONG = tiny.render_config(context_tokens=129)


@pytest.mark.parametrize(
    "changes",
    [
        {"codes": {"M2": CodeRelease(checks=(CheckPrecision(name="no_such_check", precision=0.9),))}},
        {"codes": {"L2": INFO.codes["L1"]}},
        {"dialogue_codes": ("R2",)},
        {"head_codes": ("L1", "L1", "T1", "R1")},
        {"render": SMALL},
        {"render": LONG},
    ],
    ids=["check", "scanned code", "dialogue code", "head twice", "small windows", "position table"],
)
def test_a_sealed_release_whose_parts_disagree_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    folder = tiny.write_release(tmp_path / "r", info=INFO.model_copy(update=changes))
    with pytest.raises(ReleaseRefused) as refused:
        load_detector(DetectorConfig(release=folder))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", "{}", "E_RELEASE"),
        ("tokenizer.json", "[1]", "E_RELEASE"),
        ("config.json", "[1]", "E_RELEASE"),
        ("config.json", {"hidden_size": "abc"}, "E_RELEASE"),
        ("config.json", {"hidden_size": -4}, "E_RELEASE"),
        ("config.json", {"num_hidden_layers": 3}, "not fit"),
        ("config.json", {"model_type": "remote-code"}, r"config\.json"),
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(
    tmp_path: Path, name: str, content: str | dict[str, object], message: str
) -> None:
    folder = tiny.write_release(tmp_path / "r")
    text = content if isinstance(content, str) else json.dumps({**tiny.ENCODER, **content})
    (folder / name).write_text(text)
    finalize_release(folder, tiny.release_info())
    with pytest.raises(ReleaseRefused, match=message):
        load_detector(DetectorConfig(release=folder))


def test_a_tokenizer_larger_than_the_embedding_is_refused(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r", config={**tiny.ENCODER, "vocab_size": 100})
    with pytest.raises(ReleaseRefused, match="the model 100"):
        load_detector(DetectorConfig(release=folder))


def test_a_release_that_covers_nothing_is_refused_unless_it_is_in_the_making(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r", info=tiny.release_info(codes={}))
    with pytest.raises(ReleaseRefused, match="covers no code"):
        load_detector(DetectorConfig(release=folder))
    assert load_detector(DetectorConfig(release=folder), unfinished=True).codes == ()


def test_another_major_version_of_the_taxonomy_is_refused_with_both_named(tmp_path: Path) -> None:
    folder = tiny.write_release(tmp_path / "r", info=tiny.release_info(taxonomy="2.0.0"))
    with pytest.raises(ReleaseRefused, match=r"2\.0\.0, and this one is 1\."):
        load_detector(DetectorConfig(release=folder))
    patched = tiny.write_release(tmp_path / "patched", info=tiny.release_info(taxonomy="1.0.99"))
    assert load_detector(DetectorConfig(release=patched)).info.taxonomy == "1.0.99"


def test_the_larger_release_that_ships_wants_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIALINT_HOME", str(tmp_path))
    info = Release(SHIPPED_RELEASES["smollm2"]).info
    assert not any(how.scan.threshold for how in info.codes.values() if how.scan)
    with pytest.raises(ConfigError, match="dialint base fetch smollm2"):
        load_detector(DetectorConfig(release=Path("smollm2")))
    assert load_detector(DetectorConfig(release=Path("smollm2"), scan="off")).release == info.id


def test_a_check_that_nobody_has_read_hits_of_is_not_called_measured() -> None:
    assert measured_check("misspelt_word", "L1").is_measured
    assert not measured_check("missing_greeting", "T4").is_measured
