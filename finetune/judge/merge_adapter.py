"""Merges a judge's adapter into its base, with the weights stored as they will be served.

    dialint train merge --model build/aligned --out build/judge-1 --weights bf16

Reads a model folder of any stage of the judge. Writes a folder that transformers and vLLM load without an
adapter: weights in fp32, bf16, or bitsandbytes' int8 or NF4; tokenizer, ``judge.json``, a model card and last
the manifest: a candidate release of the judge. Evaluate this very folder with `dialint eval judge`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.artifacts import MANIFEST, make_output_folder, read_manifest, require_new, sha256_file
from dialint.detector.environment import require_single_process
from dialint.detector.manifests import Model
from dialint.detector.option_ranges import command_options

if TYPE_CHECKING:
    from dialint.detector.engines.base_models import ModelSource

StoredWeights = Literal["fp32", "bf16", "int8", "nf4"]


@command_options
class MergeConfig:
    """Options of `dialint train merge`."""

    model: str
    """Folder of a judge."""
    out: Path
    """Folder for the merged judge; must not have one."""
    weights: StoredWeights = "bf16"
    """Format of the stored weights."""


def run(config: MergeConfig) -> dict[str, Any]:
    """Merges a judge and returns its manifest.

    Raises:
        OutputRefused: E_EXISTS, `out` has a model already.
        ConfigError: E_BASE or E_ADAPTER, the judge does not load.
    """
    from dialint.detector.engines.judge_prompt import load_prompt, resolve_judge
    from dialint.finetune.judge.stage import save_judge

    require_single_process("train merge")
    require_new(config.out, MANIFEST, "a model")
    source = resolve_judge(config.model)
    prompt = load_prompt(source)
    path = source.folder / MANIFEST
    manifest = read_manifest(path, expected=Model) if path.exists() else {}
    inputs = {**manifest.get("data", {}), "judge": sha256_file(path)} if manifest else {}
    make_output_folder(config.out)
    model = _merge_weights(source, config.weights)
    return save_judge(config, "judge", model, prompt, source, inputs, manifest.get("figures", {}))


def _merge_weights(source: ModelSource, weights: StoredWeights) -> Any:
    """Merges the adapter into the base's weights, in fp32 in main memory; that model is freed before a
    quantized one is loaded."""
    import torch

    from dialint.finetune.train.adapters import AdapterOptions, load_model

    model = load_model(source, AdapterOptions(adapter="none"), trainable=False, full_precision=True)
    if source.adapter is not None:
        model = model.merge_and_unload()
    if weights in ("fp32", "bf16"):
        return model.to(torch.float32 if weights == "fp32" else torch.bfloat16)
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    from dialint.detector.engines.quantization import nf4_config

    int8: Any = BitsAndBytesConfig
    quantization = nf4_config("CAUSAL_LM") if weights == "nf4" else int8(load_in_8bit=True)
    loader: Any = AutoModelForCausalLM
    with tempfile.TemporaryDirectory() as folder:
        model.to(torch.bfloat16).save_pretrained(folder)
        del model
        return loader.from_pretrained(folder, quantization_config=quantization, local_files_only=True)
