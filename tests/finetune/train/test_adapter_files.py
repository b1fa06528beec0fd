"""Adapters that must not be loaded (bad input 44): each is refused with one line before a weight is used."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3Config, Qwen3ForCausalLM

from dialint.detector.artifacts import MANIFEST, file_entry, write_manifest
from dialint.detector.engines import base_models
from dialint.detector.engines.adapter_files import ADAPTER, ADAPTER_CONFIG
from dialint.detector.errors import ConfigError
from dialint.finetune.train.adapters import AdapterOptions, load_model

Change = Callable[[Path], object]


def sealed(folder: Path) -> Path:
    (folder / MANIFEST).unlink(missing_ok=True)
    files = [file_entry(path) for path in sorted(folder.iterdir()) if path.is_file()]
    write_manifest(folder / MANIFEST, {"kind": "judge", "files": files})
    return folder


def make_base(folder: Path, seed: int = 0, **changes: Any) -> Path:
    torch.manual_seed(seed)
    shape = {name: value for name, value in tiny.DECODER.items() if name != "model_type"}
    Qwen3ForCausalLM(Qwen3Config(**{**shape, "pad_token_id": 0, **changes})).save_pretrained(folder)
    return folder


def make_adapter(base: Path, folder: Path, kind: str = "CAUSAL_LM", **options: Any) -> Path:
    wanted = AdapterOptions(rank=4, **options)
    model = load_model(base_models.resolve_source(str(base)), wanted, kind=kind)
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    model.save_pretrained(folder)
    content = {"base": str(base), "revision": None, "sha256": base_models.weights_sha256(base)}
    (folder / base_models.BASE_FILE).write_text(json.dumps(content))
    (folder / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    return sealed(folder)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base") / "base")


@pytest.fixture(scope="module")
def whole(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_adapter(base, tmp_path_factory.mktemp("adapter") / "adapter")


@pytest.fixture
def adapter(whole: Path, tmp_path: Path) -> Path:
    return copytree(whole, tmp_path / "adapter")


def refused(adapter: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        base_models.resolve_source(str(adapter))
    assert caught.value.code == "E_ADAPTER"
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500
    return caught.value.message


def stored_in(adapter: Path) -> dict[str, torch.Tensor]:
    """Copies: what is loaded is the file itself, which the cases write over."""
    return {name: tensor.clone() for name, tensor in load_file(adapter / ADAPTER).items()}


def tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Change:
    def done(adapter: Path) -> None:
        stored = stored_in(adapter)
        change(stored)
        save_file(stored, adapter / ADAPTER)

    return done


def options(name: str = ADAPTER_CONFIG, **changes: Any) -> Change:
    def done(adapter: Path) -> None:
        content = json.loads((adapter / name).read_text())
        (adapter / name).write_text(json.dumps({**content, **changes}))

    return done


def base_fields(**changes: Any) -> Change:
    return options(base_models.BASE_FILE, **changes)


@pytest.mark.parametrize(
    "changes",
    [{}, {"kind": "SEQ_CLS"}, {"dora": True, "rslora": True}, {"targets": ("q_proj", "embed_tokens")}],
    ids=["plain", "reward", "dora", "embedding"],
)
@pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers`")
def test_what_our_stages_leave_behind_is_loaded(base: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = make_adapter(base, tmp_path / "made", **changes)
    source = base_models.resolve_source(str(folder))
    assert (source.base.folder, source.adapter) == (base, folder)
    kind = changes.get("kind", "CAUSAL_LM")
    model = load_model(source, AdapterOptions(), trainable=False, kind=kind)
    stored = load_file(folder / ADAPTER)
    loaded = {name.replace(".default", ""): weight for name, weight in model.named_parameters()}
    several = [name for name in stored if "lora_B.weight" in name]
    assert several
    assert all(torch.equal(stored[name], loaded[name]) for name in several)


@pytest.mark.parametrize(
    ("options_", "names"),
    [
        ({"rank": 3}, ["--rank", "--alpha"]),
        ({"rslora": True, "adapter_dropout": 0.1}, ["--adapter-dropout", "--rslora"]),
        ({"targets": ("q_proj",)}, ["--targets"]),
        ({"adapter": "none"}, ["--adapter"]),
    ],
)
def test_an_adapter_is_not_silently_of_another_shape(
    base: Path, tmp_path: Path, options_: dict[str, Any], names: list[str]
) -> None:
    folder = make_adapter(base, tmp_path / "made")
    source = base_models.resolve_source(str(folder))
    with pytest.raises(ConfigError) as caught:
        load_model(source, AdapterOptions(**options_))
    assert caught.value.code == "E_OPTION"
    assert f"leave out {', '.join(names)}, " in caught.value.message
    rank = json.loads((folder / ADAPTER_CONFIG).read_text())["r"]
    load_model(source, AdapterOptions(rank=rank))


def test_what_trackers_go_on_writing_is_no_stranger(adapter: Path) -> None:
    (adapter / "tensorboard").mkdir()
    (adapter / "tensorboard/events.out.1").write_bytes(b"x")
    assert base_models.resolve_source(str(adapter)).adapter == adapter


UNTOUCHED_MANIFEST: dict[str, tuple[Change, str]] = {
    "unsealed": (lambda a: (a / MANIFEST).unlink(), "no manifest"),
    "manifest is a list": (lambda a: (a / MANIFEST).write_text("[]\n"), "not a manifest"),
    "manifest names nothing": (lambda a: write_manifest(a / MANIFEST, {"kind": "judge"}), "field `files`"),
    "a weight changed": (tensors(lambda t: next(iter(t.values())).add_(1e-6)), "bytes are not those"),
    "a file gone": (lambda a: (a / base_models.BASE_FILE).unlink(), "missing"),
    "weights gone": (lambda a: (a / ADAPTER).unlink(), "missing"),
    "a stranger": (lambda a: (a / "more.json").write_text("{}"), "does not name"),
    "a hidden stranger": (lambda a: (a / ".more.json").write_text("{}"), "does not name"),
    "a stranger below": (
        lambda a: ((a / "inside").mkdir(), (a / "inside/x.json").write_text("{}")),
        "does not name",
    ),
    "a link to a folder": (lambda a: (a / "more").symlink_to(a.parent), "more"),
    "a pipe": (lambda a: os.mkfifo(a / "pipe.json"), "does not name"),
}
SEALED_ANEW: dict[str, tuple[Change, str]] = {
    "pickle beside": (lambda a: (a / "adapter_model.bin").write_bytes(pickle.dumps({})), "only safetensors"),
    "code beside": (lambda a: (a / "modeling.py").write_text("x = 1"), "only safetensors"),
    "trainer's pickle": (lambda a: torch.save({}, a / "training_args.bin"), "only safetensors"),
    "pickle inside": (lambda a: torch.save(stored_in(a), a / ADAPTER), "no safetensors"),
    "weights cut short": (lambda a: os.truncate(a / ADAPTER, 1000), "no safetensors"),
    "other base": (base_fields(sha256="0" * 64), "other weights"),
    "no base there": (base_fields(base="/nowhere"), "is not here"),
    "base not named": (lambda a: (a / base_models.BASE_FILE).write_text("[1]"), "names no base"),
    "base.json is no JSON": (lambda a: (a / base_models.BASE_FILE).write_text("{" * 100_000), "names no base"),
    "options are no JSON": (lambda a: (a / ADAPTER_CONFIG).write_text("nope"), "no options"),
    "options are nested": (lambda a: (a / ADAPTER_CONFIG).write_text("[" * 100_000), "no options"),
    "rank of the file": (tensors(lambda t: t.update({k: v[:3] for k, v in t.items() if "lora_A" in k})), "x"),
    "rank of the options": (options(r=8), "rank"),
    "rank is none": (options(r=0), "rank"),
    "rank is a truth": (options(r=True), "rank"),
    "rank is a text": (options(r="4"), "rank"),
    "scale is no number": (options(lora_alpha=float("nan")), "scale"),
    "layers by pattern": (options(target_modules="(a+)+"), "layers"),
    "layers that are not there": (options(target_modules=["nowhere"]), "peft makes no such"),
    "another method": (options(peft_type="PROMPT_TUNING"), "of type PROMPT_TUNING"),
    "an option we never set": (options(layer_replication=[[0, 2]]), "layer_replication"),
    "an option peft has not": (options(exec="x"), "exec"),
    "another task": (options(task_type="QUESTION_ANS"), "task"),
    "a reward's task": (options(task_type="SEQ_CLS"), "absent"),
    "one layer gone": (tensors(lambda t: t.pop(min(t))), "absent"),
    "one layer too many": (tensors(lambda t: t.update(extra=torch.zeros(2))), "the base and its rank want absent"),
    "turned": (tensors(lambda t: t.update({min(t): t[min(t)].T.contiguous()})), "x"),
    "NaN": (tensors(lambda t: t[min(t)].view(-1)[7:8].fill_(float("nan"))), "NaN"),
    "infinity": (tensors(lambda t: t[max(t)].view(-1)[:1].fill_(float("-inf"))), "NaN or infinity"),
    "integers": (tensors(lambda t: t.update({min(t): t[min(t)].to(torch.int32)})), "16 or 32 bits"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNTOUCHED_MANIFEST)
def test_a_folder_that_is_not_as_it_was_sealed_is_refused(adapter: Path, case: str) -> None:
    change, expected = UNTOUCHED_MANIFEST[case]
    change(adapter)
    assert expected in refused(adapter)


@pytest.mark.parametrize("case", SEALED_ANEW)
def test_a_seal_does_not_make_an_adapter_safe(adapter: Path, case: str) -> None:
    """Whoever changes a folder can seal it again: what it holds is looked at, too."""
    change, expected = SEALED_ANEW[case]
    change(adapter)
    assert expected in refused(sealed(adapter))


def test_an_adapter_of_a_base_of_another_shape_is_refused(tmp_path: Path, adapter: Path) -> None:
    """The hash of the weights is that of the wider base, so that only the shapes are wrong."""
    wide = make_base(tmp_path / "wide", intermediate_size=96)
    base_fields(base=str(wide), sha256=base_models.weights_sha256(wide))(adapter)
    assert "4 x 96" in refused(sealed(adapter))


def test_an_adapter_of_the_same_shape_and_other_weights_is_refused(tmp_path: Path, adapter: Path) -> None:
    other = make_base(tmp_path / "other", seed=5)
    base_fields(base=str(other))(adapter)
    assert "other weights" in refused(sealed(adapter))


def test_links_are_refused_whatever_they_point_to(adapter: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (adapter / ADAPTER).rename(elsewhere)
    (adapter / ADAPTER).symlink_to(elsewhere)
    assert "a link" in refused(adapter)


def test_no_weight_is_read_before_names_and_shapes_fit(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr("safetensors.torch.load_file", never)
    options(r=8)(adapter)
    refused(sealed(adapter))


def test_one_flipped_bit_anywhere_is_refused(adapter: Path) -> None:
    """F19 for adapters: 100 places, all files alike, the manifest too."""
    files = sorted(path for path in adapter.iterdir() if path.is_file())
    rng, n_refused = Random(0), 0
    for number in range(100):
        path = files[number % len(files)]
        content = bytearray(path.read_bytes())
        before = bytes(content)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        n_refused += bool(refused(adapter))
        path.write_bytes(before)
    assert n_refused == 100
    assert base_models.resolve_source(str(adapter)).adapter == adapter
