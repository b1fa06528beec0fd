"""Makes one model of a judge's base and its adapter, in the weights it will be served with.

    dialint train merge --model build/aligned --out build/judge-1 --weights bf16

Reads a model folder of any stage of the judge. Writes a folder that transformers and vLLM load without an
adapter: weights in fp32, bf16, or in bitsandbytes' int8 or NF4; tokenizer, ``judge.json``, a model card and
last the manifest: a candidate release of the judge. What it answers now is measured by `dialint eval judge`
on this very folder.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import make_output_folder, read_manifest, sha256_file
from dialint.detector.errors import OutputRefused
from dialint.finetune.base_models.adapter_files import MANIFEST
from dialint.finetune.train.distributed import require_single_process

if TYPE_CHECKING:
    from dialint.finetune.base_models.loading import ModelSource

Weights = Literal["fp32", "bf16", "int8", "nf4"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MergeConfig:
    """What becomes one model."""

    model: str
    """Folder of a judge."""
    out: Path
    """Folder for the merged judge; must not hold one."""
    weights: Weights = "bf16"
    """How its weights are stored."""


def merge(config: MergeConfig) -> None:
    """Make one model of a judge's base and its adapter."""
    run(config)


def run(config: MergeConfig) -> dict[str, Any]:
    """Merge; the manifest that was written.

    Raises:
        OutputRefused: `out` holds a model already.
        ConfigError: E_BASE or E_ADAPTER, a judge that does not load.
    """
    from dialint.finetune.judge.model_folder import judge_source, load_prompt, save_model

    require_single_process("train merge")
    if (config.out / MANIFEST).exists():
        raise OutputRefused("E_EXISTS", f"{config.out}: holds a model already; name another folder")
    source = judge_source(config.model)
    prompt = load_prompt(source)
    told = _told(source)
    make_output_folder(config.out)
    return save_model(
        config, "judge", _merged(source, config.weights), prompt, source, told["data"], told["figures"]
    )


def _told(source: ModelSource) -> dict[str, Any]:
    """What the judge's own manifest says of its data and figures, and its hash."""
    path = source.folder / MANIFEST
    told = read_manifest(path) if path.exists() else {"data": {}, "figures": {}}
    data = {**told["data"], "judge": sha256_file(path)} if path.exists() else {}
    return {"data": data, "figures": told["figures"]}


def _merged(source: ModelSource, weights: Weights) -> Any:
    """The base with its adapter in its weights, as they will be served. Merging is done in fp32 in main
    memory; that model is let go before one with fewer bits is loaded."""
    import torch

    from dialint.finetune.base_models import loading
    from dialint.finetune.train.options import AdapterOptions

    model = loading.load_model(source, AdapterOptions(adapter="none"), trainable=False, exact=True)
    if source.adapter is not None:
        model = model.merge_and_unload()
    if weights in ("fp32", "bf16"):
        return model.to(torch.float32 if weights == "fp32" else torch.bfloat16)
    from transformers import AutoModelForCausalLM

    from dialint.finetune.base_models.quantization import int8_config, nf4_config

    how = nf4_config("CAUSAL_LM") if weights == "nf4" else int8_config()
    loader: Any = AutoModelForCausalLM
    with tempfile.TemporaryDirectory() as folder:
        model.to(torch.bfloat16).save_pretrained(folder)
        del model
        return loader.from_pretrained(folder, quantization_config=how, local_files_only=True)
