"""Can vLLM's pooling serve the scan? Its three heads as one stacked head of token classification.

    python runs/studies/scan_on_vllm.py --dialogues 20 --out build/scan_on_vllm

Writes the scanner of the embedded release, without its vectors of history, as Hugging Face's
BertForTokenClassification, scores windows of the sample by vLLM's ``token_classify`` and by the engine here,
and prints the largest difference of a score. The client picks the slots and takes the maximum over an agent's
tokens. Needs vLLM; the figures are in docs/experiments/vllm.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from dialint.detector.artifacts import atomic_file, make_output_folder, write_json
from dialint.detector.engines.local import WindowScores, load_engine
from dialint.detector.engines.scan_model import ScanModel
from dialint.detector.records import Dialogue, Turn
from dialint.detector.release import Release
from dialint.detector.render import Rendered, Renderer

ROOT = Path(__file__).resolve().parents[2]
HEADS = ("turn_head", "dialogue_head", "span_head")


def export(model: ScanModel, config: dict[str, object], folder: Path) -> None:
    """The backbone and the stacked head, of shape (3 x codes, hidden), as token classification."""
    make_output_folder(folder, new=True)
    tensors = {f"bert.{name}": tensor for name, tensor in model.backbone.state_dict().items()}
    for part in ("weight", "bias"):
        tensors[f"classifier.{part}"] = torch.cat(
            [getattr(getattr(model, head), part) for head in HEADS]
        ).detach()
    with atomic_file(folder / "model.safetensors") as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    labels = {str(index): f"L{index}" for index in range(len(tensors["classifier.bias"]))}
    architecture = {"architectures": ["BertForTokenClassification"], "id2label": labels}
    write_json(folder / "config.json", {**config, **architecture, "dtype": "float32"})


def read_scores(model: ScanModel, window: Rendered, logits: np.ndarray) -> WindowScores:
    """What `read_heads` gives, of logits of shape (tokens, 3 x codes)."""
    turn, dialogue, span = np.split(logits, 3, axis=1)
    assert model.evidence_weight is not None
    weight, bias = model.evidence_weight.detach().numpy(), model.span_head.bias.detach().numpy()
    turns, spans = [], []
    for slot in window.slots:
        evidence = span[slot.first_token : slot.position]
        turns.append(turn[slot.position] + weight * (evidence.max(0) if len(evidence) else bias))
        spans.append(evidence)
    end = None if window.dialogue_slot is None else dialogue[window.dialogue_slot]
    return WindowScores(np.array(turns), end, tuple(spans))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dialogues", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    release = Release(ROOT / "detector" / "embedded")
    engine = load_engine(release, "fp32", 4096, "cpu")
    engine.model.history = None
    renderer = Renderer(release.info.render, release.tokenizer_json())
    windows: list[Rendered] = []
    for line in (ROOT / "app" / "sample" / "dialogues.jsonl").read_text().splitlines()[: options.dialogues]:
        row = json.loads(line)
        turns = tuple(
            Turn(
                index=index,
                role={"user": "customer"}.get(turn["role"], turn["role"]),
                text=turn.get("text") or "",
            )
            for index, turn in enumerate(row.get("turns") or row["messages"])
        )
        windows += renderer.render(Dialogue(id=str(row.get("id")), turns=turns))
    export(engine.model, release.config, options.out)
    expected = engine.scan(windows)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    import vllm

    cpu = {} if torch.cuda.is_available() else {"enforce_eager": True, "gpu_memory_utilization": 0.25}
    llm = vllm.LLM(
        model=str(options.out),
        runner="pooling",
        skip_tokenizer_init=True,
        dtype="float32",
        max_model_len=512,
        **cpu,
    )
    started_s = time.perf_counter()
    outputs = llm.encode(
        [{"prompt_token_ids": list(window.ids)} for window in windows],
        pooling_params=vllm.PoolingParams(use_activation=False),
        pooling_task="token_classify",
        use_tqdm=False,
    )
    seconds = time.perf_counter() - started_s
    worst = {"turns": 0.0, "dialogue": 0.0, "tokens": 0.0}
    for window, output, local in zip(windows, outputs, expected, strict=True):
        scores = read_scores(engine.model, window, output.outputs.data.float().numpy())
        pairs = [("turns", scores.slots, local.slots)]
        pairs += [("tokens", own, theirs) for own, theirs in zip(scores.spans, local.spans, strict=True)]
        if local.dialogue is not None:
            pairs.append(("dialogue", scores.dialogue, local.dialogue))
        for name, own, theirs in pairs:
            if own.size:
                worst[name] = max(worst[name], float(np.abs(own - theirs).max()))
    n_slots = sum(len(window.slots) for window in windows)
    print(
        f"{len(windows)} windows, {n_slots} turns, {sum(map(len, windows))} tokens, {seconds:.1f} s: {worst}"
    )


if __name__ == "__main__":
    main()
