"""``dialint train export RELEASE --out FOLDER``: a release's scan in the form that vLLM's pooling serves.

    dialint train export build/release --out build/scan_for_vllm
    dialint serve vllm --scan build/scan_for_vllm
    dialint score LOG --release build/release --engine http://127.0.0.1:8000

Writes the backbone with the three heads stacked into one of shape (3 x codes, hidden), as Hugging Face's
token classification, its tokenizer, and a manifest. Calibration and thresholds stay in the release, which
`score` needs beside the server. Scanners that are given their words' history cannot be served so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from dialint.detector.artifacts import (
    MANIFEST,
    atomic_file,
    file_entry,
    require_new,
    write_json,
    write_manifest,
)
from dialint.detector.errors import ReleaseRefused
from dialint.detector.registry import resolve_release
from dialint.detector.release import WEIGHTS, Release
from dialint.detector.unfinished import making_folder

if TYPE_CHECKING:
    import torch

    from dialint.detector.engines.scan_model import ScanModel

CLASSIFIERS = {"bert": ("BertForTokenClassification", "bert.", "classifier")}
"""By kind of backbone: the architecture that vLLM knows, and where it keeps the backbone and the head."""


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Options of ``dialint train export``."""

    out: Path
    """Folder for the model."""


def export(release: Path, *, config: Annotated[ExportConfig, Parameter(name="*")]) -> None:
    """Export a release's scan for vLLM.

    Parameters
    ----------
    release
        Folder of a release, or current.
    """
    from dialint.detector.engines.local import load_engine

    require_new(config.out)
    opened = Release(resolve_release("scan", release))
    kind = str(opened.config.get("model_type"))
    if opened.info.render.history:
        raise ReleaseRefused(
            "E_RELEASE",
            f"{opened.info.id}: tells its model which words occurred before, which vLLM cannot; train with "
            "--history=false",
        )
    if kind not in CLASSIFIERS:
        raise ReleaseRefused(
            "E_RELEASE", f"{opened.info.id}: a backbone of {kind}; exported are {[*CLASSIFIERS]}"
        )
    model = load_engine(opened, "fp32", 4096, "cpu").model
    with making_folder(config.out) as folder:
        write_classifier(folder, model, opened.config)
        (folder / "tokenizer.json").write_text(opened.tokenizer_json())
        files = [file_entry(path) for path in sorted(folder.iterdir())]
        content = {"release": opened.info.id, "fingerprint": opened.fingerprint, "files": files}
        write_manifest(folder / MANIFEST, {"kind": "scan for pooling", **content})


def write_classifier(folder: Path, model: ScanModel, shape: Mapping[str, Any]) -> None:
    """Write weights and config.json of a scanner of that shape as token classification."""
    from safetensors.torch import save

    architecture, backbone, head = CLASSIFIERS[shape["model_type"]]
    tensors = {f"{backbone}{name}": tensor for name, tensor in model.backbone.state_dict().items()}
    tensors |= {f"{head}.{part}": stack_heads(model, part) for part in ("weight", "bias")}
    with atomic_file(folder / WEIGHTS) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    labels = {str(index): f"L{index}" for index in range(len(tensors[f"{head}.bias"]))}
    described = {"architectures": [architecture], "id2label": labels, "dtype": "float32"}
    write_json(folder / "config.json", {**shape, **described})


def stack_heads(model: ScanModel, part: str) -> torch.Tensor:
    """Weight, shape (3 x codes, hidden), or bias of the heads, in the order of `scan_model.HEADS`."""
    import torch

    from dialint.detector.engines.scan_model import HEADS

    return torch.cat([getattr(getattr(model, head), part) for head in HEADS]).detach()
