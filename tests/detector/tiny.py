"""A release small enough for tests: random weights, a word tokenizer, real files."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from dialint.detector.calibration import CheckPrecision, CodeRelease, Contract, Scan
from dialint.detector.engines.scan_model import ScanModel, backbone_from_config
from dialint.detector.overrides import Judged, NaturalPrecision, ReadTurns
from dialint.detector.records import Dialogue, Turn
from dialint.detector.release import WEIGHTS, Base, ReleaseInfo, finalize_release
from dialint.detector.render import RenderConfig, Rendered, Renderer
from dialint.detector.scanner import WindowScores

CONTROL = ["[UNK]", "<s>", "<c>", "<a>", "<v>"]
WORDS = [*CONTROL, *(f"w{i}" for i in range(200)), *"<>/.,!?[]{}_", "hello", "order", "refund"]
BASE = "0" * 64
ENCODER: dict[str, Any] = {
    "model_type": "bert", "vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 128,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
DECODER: dict[str, Any] = {
    "model_type": "qwen3", "vocab_size": len(WORDS), "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64,
    "max_position_embeddings": 128,
}  # fmt: skip


def tokenizer_json() -> str:
    """Words at blanks and punctuation; control tokens are added tokens, as in real decoders."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    tokenizer.add_special_tokens(CONTROL[1:])
    text: str = tokenizer.to_str()
    return text


def render_config(**changes: object) -> RenderConfig:
    fields: dict[str, object] = {
        "context_tokens": 100,
        "roles": {"customer": "<c>", "agent": "<a>", "bot": "<a>"},
        "begin": "<s>",
        "slot": "<v>",
    }
    return RenderConfig.model_validate({**fields, **changes})


def release_info(**changes: object) -> ReleaseInfo:
    contract = Contract(
        threshold=0.5, false_accusations_per_100=1, confidence=0.9, recall=0.5, n_errors=10, n_clean=90
    )
    scan = Scan(slope=1.0, offset=0.0, contract=contract)
    fields: dict[str, object] = {
        "id": "tiny-1",
        "base": Base(name="tiny", revision="1", sha256=BASE, licence="Apache-2.0"),
        "taxonomy": "1.0.0",
        "head_codes": ("L1", "T1", "R1"),
        "dialogue_codes": ("R1",),
        "codes": {
            "L1": CodeRelease(scan=scan),
            "T1": CodeRelease(scan=scan),
            "R1": CodeRelease(scan=scan),
            "M2": CodeRelease(checks=(CheckPrecision(name="unfilled_placeholder", precision=0.9),)),
        },
        "render": render_config(),
        "training": {},
        "report": {},
    }
    return ReleaseInfo.model_validate({**fields, **changes})


def write_release(
    folder: Path, config: dict[str, Any] = ENCODER, info: ReleaseInfo | None = None, base: str = BASE
) -> Path:
    """A sealed release in `folder` with random weights of a fixed seed."""
    info = info or release_info()
    folder.mkdir()
    torch.manual_seed(0)
    model = ScanModel(backbone_from_config(config), len(info.head_codes), history=info.render.history)
    if model.history is not None:
        torch.nn.init.normal_(model.history.weight, std=0.5)
    for head in (model.slot_head, model.token_head):
        torch.nn.init.normal_(head.weight, std=0.3)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(tokenizer_json())
    (folder / "MODEL_CARD.md").write_text("# tiny\n")
    save_file(
        {name: tensor.contiguous() for name, tensor in model.state_dict().items()},
        folder / WEIGHTS,
        metadata={"base_sha256": base},
    )
    finalize_release(folder, info)
    return folder


def dialogues(count: int, seed: int = 0) -> list[Dialogue]:
    """Random words (not language) in dialogues of 2 to 12 turns."""
    random = np.random.default_rng(seed)
    return [
        Dialogue(
            id=str(number),
            turns=tuple(
                Turn(
                    index=i,
                    role="agent" if i % 2 else "customer",
                    text=" ".join(f"w{word}" for word in random.integers(0, 200, random.integers(1, 9))),
                )
                for i in range(int(random.integers(2, 12)))
            ),
        )
        for number in range(count)
    ]


def windows(config: Any = None, count: int = 20) -> list[Rendered]:
    renderer = Renderer(config or render_config(), tokenizer_json())
    return [window for dialogue in dialogues(count) for window in renderer.render(dialogue)]


def far(left: WindowScores, right: WindowScores) -> float:
    """The largest difference between two results."""
    parts = [(left.slots, right.slots), *zip(left.spans, right.spans, strict=True)]
    return max(float(np.abs(a - b).max()) for a, b in parts if a.size)


def spot_check(release: str = "tiny-1", **findings: Judged) -> NaturalPrecision:
    """The judgements of people on a release's findings."""
    return NaturalPrecision(
        release=release, taxonomy="1.0.0", log="0", judged_on=date(2026, 11, 23), findings=findings, suggestions={},
        turns=ReadTurns(unflagged=0, read=0, with_errors=0, missed={}),
    )  # fmt: skip
