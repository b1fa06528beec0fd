"""The engine that runs a scanner in this process with transformers, on CPU or CUDA."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from transformers.initialization import no_init_weights

from dialint.detector.engines import packed
from dialint.detector.engines.base_models import BACKBONE, fetched_backbone
from dialint.detector.engines.quantization import release_weights
from dialint.detector.engines.scan_model import ScanModel, backbone_from_config, check_equivalence
from dialint.detector.errors import ConfigError, ReleaseRefused
from dialint.detector.release import Release
from dialint.detector.render import Rendered
from dialint.detector.scanner import WindowScores

Precision = Literal["auto", "fp32", "bf16"]


class LocalEngine:
    """Runs length-sorted windows in rows of about `row_tokens` tokens, one forward pass a row."""

    def __init__(
        self, model: ScanModel, precision: Precision = "auto", row_tokens: int = 4096, device: str = "auto"
    ) -> None:
        self.device = torch.device(resolve_device(device))
        self.precision = resolve_precision(precision, self.device)
        self.row_tokens = row_tokens
        self.model = model.eval().requires_grad_(False).to(self.device)
        self.on_row: Callable[[], None] = lambda: None
        """Called before each forward pass of `scan`."""
        self.n_tokens = 0
        """Tokens that the model computed."""

    @property
    def fingerprint(self) -> str:
        """Options that may change a byte. Threads are left out, so that a run can go on on another
        machine: one and two gave the same bytes in fp32 and bf16 (2026-11-20, 2 cores)."""
        return f"local/{self.device.type}/{self.precision}/{self.row_tokens}"

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Scores of each window, in their order."""
        results: list[WindowScores | None] = [None] * len(windows)
        for row in fill_rows([len(window) for window in windows], self.row_tokens):
            self.n_tokens += sum(len(windows[position]) for position in row)
            self.on_row()
            chosen = [windows[position] for position in row]
            with torch.inference_mode():
                packed_row = self.pack(chosen)
                scores = read_heads(self.model, self.hidden_states(packed_row), chosen, packed_row)
            for position, result in zip(row, scores, strict=True):
                results[position] = result
        return [result for result in results if result is not None]

    def pack(self, windows: Sequence[Rendered]) -> packed.PackedRow:
        """One row of tokens on this engine's device."""
        return pack_windows(windows).to(self.device)

    def hidden_states(self, row: packed.PackedRow) -> torch.Tensor:
        """Hidden states of a row, shape (tokens, hidden), fp32."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16"):
            return self.model.hidden_states(row).float()


def fill_rows(sizes: Sequence[int], row_tokens: int) -> list[list[int]]:
    """Groups windows, of `sizes` in tokens, into rows, longest first; returns their indices."""
    rows: list[list[int]] = []
    room = 0
    for position in sorted(range(len(sizes)), key=lambda position: -sizes[position]):
        if not rows or sizes[position] > room:
            rows.append([])
            room = max(row_tokens, sizes[position])
        rows[-1].append(position)
        room -= sizes[position]
    return rows


def pack_windows(windows: Sequence[Rendered]) -> packed.PackedRow:
    """Packs the windows into one row, with their tokens' history if the renderer states it."""
    return packed.pack([window.ids for window in windows], 0, [window.word_kinds for window in windows])


@dataclass(frozen=True)
class HeadPositions:
    """Positions in a packed row that the heads read: slots, and evidence tokens (with how many belong to each
    slot), each in window order."""

    slots: list[int]
    tokens: list[int]
    lengths: list[int]


def head_positions(windows: Sequence[Rendered], row: packed.PackedRow) -> HeadPositions:
    """The positions of the windows of a packed row."""
    positions = HeadPositions([], [], [])
    for window, start in zip(windows, row.bounds.tolist(), strict=False):
        for slot in window.slots:
            positions.slots.append(start + slot.position)
            positions.tokens.extend(range(start + slot.first_token, start + slot.position))
            positions.lengths.append(slot.position - slot.first_token)
    return positions


def read_heads(
    model: ScanModel, states: torch.Tensor, windows: Sequence[Rendered], row: packed.PackedRow
) -> list[WindowScores]:
    """The heads' logits for a row of windows."""
    positions = head_positions(windows, row)
    turns, tokens = model.scores(states[positions.slots], states[positions.tokens], positions.lengths)
    scores = turns.cpu().numpy()
    spans = np.split(tokens.cpu().numpy(), np.cumsum(positions.lengths)[:-1]) if positions.lengths else []
    results, at = [], 0
    for window in windows:
        until = at + len(window.slots)
        results.append(WindowScores(scores[at:until], tuple(spans[at:until])))
        at = until
    return results


def resolve_device(wanted: str) -> str:
    """Validates a device; auto is a GPU if there is one.

    Raises:
        ConfigError: E_DEVICE, no such device.
    """
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    match = re.fullmatch(r"cpu|cuda(?::([0-9]{1,3}))?", wanted)
    if match is None:
        raise ConfigError("E_DEVICE", f"--device {wanted}: neither auto, cpu, cuda nor cuda:N")
    if wanted != "cpu" and int(match[1] or 0) >= torch.cuda.device_count():
        raise ConfigError("E_DEVICE", f"--device {wanted}: this machine has no such CUDA device")
    return wanted


def resolve_precision(wanted: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """Resolves auto: bf16 where the hardware computes it, fp32 elsewhere. fp32 rows differ by about 1e-6 with
    their neighbours, bf16 rows not at all (measured 2026-11-20 on a CPU with AVX512-BF16)."""
    if wanted != "auto":
        return wanted
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    able = torch.cpu.get_capabilities()
    return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "fp32"


def load_engine(release: Release, precision: Precision, device: str) -> LocalEngine:
    """Loads the engine of a verified release.

    Raises:
        ReleaseRefused: configuration, weights and tokenizer do not fit together, or packed attention
            does not compute what the backbone does by itself.
        ConfigError: no such device.
    """
    resolve_device(device)
    try:
        with torch.device("meta"):
            shapes = {name: tensor.shape for name, tensor in _empty(release).state_dict().items()}
    except packed.CONFIG_ERRORS as error:
        raise ReleaseRefused(
            "E_RELEASE", f"{release.folder}/config.json: makes no model ({type(error).__name__})"
        ) from None
    tensors = release_weights(release)
    if not any(name.startswith(BACKBONE) for name in tensors):
        tensors |= fetched_backbone(release.info.base.name, release.info.base.sha256, shapes)
    for name in sorted(shapes.keys() | tensors.keys()):
        if name not in tensors or name not in shapes or tensors[name].shape != shapes[name]:
            raise ReleaseRefused(
                "E_RELEASE", f"{release.folder}: {name} does not fit config.json; another base?"
            )
    with no_init_weights():
        model = _empty(release)
    model.load_state_dict(tensors)
    release.check_vocabulary(model.backbone.get_input_embeddings().num_embeddings)  # type: ignore[arg-type]
    check_equivalence(model, release.info.render.context_tokens)
    return LocalEngine(model, precision, device=device)


def _empty(release: Release) -> ScanModel:
    info = release.info
    backbone = backbone_from_config(release.config)
    return ScanModel(backbone, len(info.head_codes), info.render.history)
