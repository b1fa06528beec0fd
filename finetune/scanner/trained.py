"""Reads a trained scanner from a release or from the folder of a training, and writes such a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from dialint.detector.artifacts import (
    read_manifest,
    sha256_file,
    write_json,
    write_manifest,
)
from dialint.detector.engines.base_models import BACKBONE, fetched_backbone
from dialint.detector.errors import ConfigError
from dialint.detector.release import WEIGHTS, Release
from dialint.detector.render import RenderConfig, Renderer
from dialint.detector.scanner import Scanner
from dialint.detector.taxonomy import load_taxonomy
from dialint.finetune.scanner.backbone import BaseModel, init_model, scanner_manifest
from dialint.finetune.train.checkpoint import save_weights
from dialint.finetune.train.lineage import TRAINING, provenance

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.local import Precision
    from dialint.detector.engines.scan_model import ScanModel
    from dialint.finetune.scanner.options import ScanConfig


class ScannerManifest(TypedDict):
    """The fields of a trained scanner's manifest that are read again."""

    codes: list[str]
    render: dict[str, Any]
    base_sha256: str
    examples: str | None
    config: dict[str, Any]
    base: NotRequired[dict[str, str] | None]
    taxonomy: NotRequired[str]
    scans: NotRequired[dict[str, dict[str, Any]]]


Shape = dict[str, Any]
"""The content of a ``config.json``."""
Weights = dict[str, "torch.Tensor"]
"""Tensors by name."""


@dataclass(frozen=True)
class TrainedScanner:
    """A scanner. `shape` is its backbone's ``config.json``, `tokenizer` the text of ``tokenizer.json``,
    `examples` the fingerprint of its training examples, None for none; `sha256` is that of its weights;
    `stands_on_base`: its backbone is the first layers of a base that can be fetched, and is not written;
    `base` has name, revision and licence of the base model, `taxonomy` the version of the taxonomy and
    `config` the options of the training, None if not recorded."""

    model: ScanModel
    codes: tuple[str, ...]
    dialogue_codes: tuple[str, ...]
    render: RenderConfig
    shape: Shape
    tokenizer: str
    base_sha256: str
    examples: str | None
    sha256: str
    base: Mapping[str, str] | None = None
    taxonomy: str | None = None
    config: Mapping[str, Any] | None = None
    stands_on_base: bool = False

    def scanner(self, row_tokens: int, precision: Precision, device: str) -> Scanner:
        """Returns a detector's scanner with this model, on `device`."""
        from dialint.detector.engines.local import LocalEngine

        return Scanner(
            Renderer(self.render, self.tokenizer),
            LocalEngine(self.model, precision, row_tokens, device),
            tuple(code in self.dialogue_codes for code in self.codes),
        )


def read_scanner(folder: Path) -> TrainedScanner:
    """Reads the scanner of a release or of the folder of a training.

    Raises:
        ConfigError: E_SCANNER, it is neither, or its parts do not fit together.
        ReleaseRefused: the release is damaged.
    """
    return _read_release(folder) if (folder / "release.json").exists() else _read_training(folder)


def is_scanner(folder: Path) -> bool:
    """Returns whether the folder has a trained scanner; pre-training writes a ``training.json`` too."""
    try:
        training = json.loads((folder / TRAINING).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(training, dict) and training.get("kind") == "scanner"


def _read_release(folder: Path) -> TrainedScanner:
    from dialint.detector.engines import local

    release = Release(folder)
    info = release.info
    model = local.load_engine(release, "fp32", "cpu").model
    own_backbone = any(name.startswith(BACKBONE) for name in release.tensors)
    examples, config = info.training.get("examples"), info.training.get("config")
    return TrainedScanner(
        model, info.head_codes, info.dialogue_codes, info.render, release.config, release.tokenizer_json(),
        info.base.sha256, str(examples) if examples else None, release.fingerprint,
        info.base.model_dump(exclude={"sha256"}), info.taxonomy, config if isinstance(config, dict) else None,
        not own_backbone,
    )  # fmt: skip


def _read_training(folder: Path) -> TrainedScanner:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not is_scanner(folder):
        raise ConfigError("E_SCANNER", f"{folder}: neither a release nor the folder of a trained scanner")
    training = read_manifest(folder / TRAINING, "dialint train sft scan", ScannerManifest)
    try:
        weights = load_file(folder / WEIGHTS)
        stands_on_base = not any(name.startswith(BACKBONE) for name in weights)
        shape = json.loads((folder / "config.json").read_text())
        tokenizer = (folder / "tokenizer.json").read_text()
        codes, render = tuple(training["codes"]), RenderConfig.model_validate(training["render"])
        if stands_on_base:
            wanted = _tensor_names(shape, len(codes))
            name = (training.get("base") or {})["name"]
            weights |= fetched_backbone(name, training["base_sha256"], wanted)
        model = build_scan_model(shape, weights, len(codes), history=render.history)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ConfigError("E_SCANNER", f"{folder}: no scanner that loads ({type(error).__name__})") from None
    return TrainedScanner(
        model, codes, select_dialogue_codes(codes), render, shape, tokenizer,
        training["base_sha256"], training["examples"], sha256_file(folder / WEIGHTS), training.get("base"),
        training.get("taxonomy"), training.get("config"), stands_on_base,
    )  # fmt: skip


def select_dialogue_codes(codes: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the codes of dialogue scope, which a dialogue has once.

    Raises:
        ConfigError: E_CODE, the taxonomy does not have all of `codes`.
    """
    taxonomy = load_taxonomy().codes
    if unknown := sorted(set(codes) - taxonomy.keys()):
        raise ConfigError("E_CODE", f"the taxonomy does not have the codes {unknown}")
    return tuple(code for code in codes if taxonomy[code].scope == "dialogue")


def build_scan_model(shape: Shape, weights: Weights, n_codes: int, *, history: bool) -> ScanModel:
    """Builds a scanner of that shape with exactly these weights.

    Raises:
        RuntimeError: the weights are not those of the shape.
    """
    from transformers.initialization import no_init_weights

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    with no_init_weights():
        model = ScanModel(backbone_from_config(shape), n_codes, history)
    model.load_state_dict(weights)
    return model


def _tensor_names(shape: Shape, n_codes: int) -> frozenset[str]:
    """Returns the names of a scanner's tensors of that shape."""
    import torch

    from dialint.detector.engines.scan_model import ScanModel, backbone_from_config

    with torch.device("meta"):
        return frozenset(ScanModel(backbone_from_config(shape), n_codes).state_dict())


def existing_scans(folder: Path) -> dict[str, dict[str, Any]]:
    """Reads the calibration by code of a release's scan, or of the release that a trained scanner
    continues."""
    content = scanner_manifest(folder)
    codes = content.get("codes", {}) if "head_codes" in content else {}
    scans: dict[str, dict[str, Any]] = content.get("scans", {})
    return scans | {code: how["scan"] for code, how in codes.items() if how["scan"] is not None}


def continue_heads(model: ScanModel, base: Path, codes: Sequence[str]) -> TrainedScanner | None:
    """Copies into `model`, in place, the heads of shared codes and the embeddings of repeated words of a
    scanner in the folder `base`, and returns that scanner; None for any other base."""
    import torch

    if not (base / "release.json").exists() and not is_scanner(base):
        return None
    scanner = read_scanner(base)
    shared = [code for code in codes if code in scanner.codes]
    own = [codes.index(code) for code in shared]
    rows = [scanner.codes.index(code) for code in shared]
    weights, trained = model.state_dict(), scanner.model.state_dict()
    with torch.no_grad():
        for name, weight in weights.items():
            if name.startswith(BACKBONE) or name not in trained:
                continue
            if weight.shape == trained[name].shape and name.startswith("history"):
                weight.copy_(trained[name])
            elif weight.shape[1:] == trained[name].shape[1:]:
                weight[own] = trained[name][rows].to(weight)
    return scanner


def init_student(
    config: ScanConfig, base: BaseModel, codes: tuple[str, ...], origin: Mapping[str, str] | None
) -> TrainedScanner:
    """Makes a scanner of `base` with new heads, to be trained; `origin` is the base's name, revision,
    licence.

    Raises:
        ConfigError: E_BASE, its tokenizer lacks our control tokens, or its weights are not those of its
        shape.
    """
    if base.new_ids:
        raise ConfigError(
            "E_BASE", f"{base.folder}: its tokenizer lacks our control tokens; train sft scan adds them"
        )
    model = init_model(config, base, len(codes))
    return TrainedScanner(
        model, codes, select_dialogue_codes(codes), base.render, base.shape, base.tokenizer, base.sha256,
        None, base.sha256, origin,
    )  # fmt: skip


def evenly_spaced(n_layers: int, n_selected: int) -> list[int]:
    """Returns the indices of `n_selected` of `n_layers` layers, evenly spaced, with the first and the last.

    Raises:
        ConfigError: E_OPTION, `n_selected` is not 1 to `n_layers`.
    """
    if not 1 <= n_selected <= n_layers:
        raise ConfigError("E_OPTION", f"--layers must be 1 to {n_layers}, the layers that there are")
    return [round(number * (n_layers - 1) / max(1, n_selected - 1)) for number in range(n_selected)]


def select_layers(scanner: TrainedScanner, layers: Sequence[int]) -> TrainedScanner:
    """Returns the scanner with only these layers, renumbered in that order, in shape and weights.

    Raises:
        ConfigError: E_BASE, its layers are not one numbered stack.
    """
    shape, weights = scanner.shape, dict(scanner.model.state_dict())
    numbered = re.compile(r"(?s)\A(backbone\.(?:.*\.)?layers?\.)(\d++)(\..*)")
    matches = {name: match for name in weights if (match := numbered.fullmatch(name))}
    if {int(match[2]) for match in matches.values()} != set(range(shape["num_hidden_layers"])):
        raise ConfigError("E_BASE", f"{shape['model_type']}: its layers are not one numbered stack")
    selected = {name: weight for name, weight in weights.items() if name not in matches}
    for name, match in matches.items():
        if int(match[2]) in layers:
            selected[f"{match[1]}{layers.index(int(match[2]))}{match[3]}"] = weights[name]
    smaller = {**shape, "num_hidden_layers": len(layers)}
    if shape.get("layer_types"):
        smaller["layer_types"] = [shape["layer_types"][layer] for layer in layers]
    model = build_scan_model(smaller, selected, len(scanner.codes), history=scanner.model.history is not None)
    return replace(scanner, shape=smaller, model=model)


def write_scanner(folder: Path, scanner: TrainedScanner, config: Any, lineage: Mapping[str, Any]) -> None:
    """Writes the folder of a trained scanner, its manifest last, with the fields of `lineage` in it."""
    weights = scanner.model.state_dict()
    if scanner.stands_on_base:
        weights = {name: weight for name, weight in weights.items() if not name.startswith(BACKBONE)}
    save_weights(weights, folder / WEIGHTS)
    write_json(folder / "config.json", scanner.shape)
    (folder / "tokenizer.json").write_text(scanner.tokenizer)
    content = {
        "kind": "scanner",
        "codes": list(scanner.codes),
        "render": scanner.render.model_dump(),
        **({"taxonomy": scanner.taxonomy} if scanner.taxonomy is not None else {}),
        "base": scanner.base,
        "base_sha256": scanner.base_sha256,
        "examples": scanner.examples,
        **provenance(config),
        **lineage,
    }
    write_manifest(folder / TRAINING, content)
