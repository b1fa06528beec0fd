"""The decoder: our own shape from one dial, or a base model's folder; rows of dialogues and the loss of every
token.

Dialogues are cut into pieces and packed into rows. A row's pieces do not see each other: an attention call
for each piece (`dialint.detector.engines.packed`), compared with each piece alone before training begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dialint.detector.errors import ConfigError
from dialint.finetune.decoder.text import Piece
from dialint.finetune.decoder.tokenizer import BEGIN, CONTROL, END, PAD

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

HEAD_DIM = 32
OPEN_ROWS = 64
"""Rows that a piece may still be packed into."""
TOLERANCE = 2e-4
"""Largest difference of a logit, as a share of the largest; see `detector.engines.equivalence_check`."""


def decoder_config(depth: int, vocabulary: int, row_tokens: int) -> dict[str, Any]:
    """Qwen3's options for `depth` layers: width 32 x depth, one head for each 32 of it, half as many for
    keys and values where that is even, feed-forward 3 x width, tied embeddings.

    Depth 6 has 2.65 M parameters beside the embeddings.
    """
    width = HEAD_DIM * depth
    return {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": depth,
        "num_attention_heads": depth,
        "num_key_value_heads": depth if depth % 2 else depth // 2,
        "head_dim": HEAD_DIM,
        "intermediate_size": 3 * width,
        "max_position_embeddings": max(2048, row_tokens),
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        "tie_word_embeddings": True,
        "bos_token_id": CONTROL.index(BEGIN),
        "eos_token_id": CONTROL.index(END),
        "pad_token_id": CONTROL.index(PAD),
    }


def init_decoder(shape: dict[str, Any], seed: int) -> PreTrainedModel:
    """A Qwen3 decoder of random weights, in fp32."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    model: PreTrainedModel = Qwen3ForCausalLM(Qwen3Config(**shape))
    return model


@dataclass(frozen=True)
class Row:
    """Pieces end to end. `ids` and `positions` are of shape (1, tokens), `targets` of shape (tokens,): the
    next token of the same piece, -100 at its end. `bounds` begin each piece and end the last."""

    ids: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor
    bounds: torch.Tensor

    @property
    def n_targets(self) -> int:
        """Tokens to predict."""
        return int((self.targets >= 0).sum())


def plan_rows(lengths: Sequence[int], seed: int, epochs: float, row_tokens: int) -> list[list[int]]:
    """Rows of indices of `lengths` for all epochs, each shuffled and packed anew: first fit over the last
    `OPEN_ROWS` rows."""
    rows: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths)).tolist()
        share = min(1.0, epochs - epoch)
        own: list[list[int]] = []
        room: list[int] = []
        for index in order[: math.ceil(share * len(order))]:
            for row in range(max(0, len(own) - OPEN_ROWS), len(own)):
                if room[row] >= lengths[index]:
                    break
            else:
                row = len(own)
                own.append([])
                room.append(row_tokens)
            own[row].append(index)
            room[row] -= lengths[index]
        rows += own
    return rows


def build_row(pieces: Sequence[Piece]) -> Row:
    """The pieces end to end."""
    import torch

    lengths = [len(piece.ids) for piece in pieces]
    targets = [[*piece.ids[1:].tolist(), -100] for piece in pieces]
    return Row(
        torch.from_numpy(np.concatenate([piece.ids for piece in pieces]).astype(np.int64))[None],
        torch.cat([torch.arange(length) for length in lengths])[None],
        torch.tensor([token for row in targets for token in row]),
        torch.tensor([0, *lengths]).cumsum(0),
    )


def token_losses(model: Any, row: Row, bf16: bool = False) -> torch.Tensor:
    """Cross-entropy in nats of each token's successor, shape (tokens,), 0 at the end of a piece; in fp32 on
    the CPU, whatever the model computes in."""
    import torch
    from torch.nn.functional import cross_entropy

    device = model.device
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        logits = model(
            input_ids=row.ids.to(device),
            position_ids=row.positions.to(device),
            cu_seq_lens_q=row.bounds,  # stays on the CPU, where every layer reads it
            use_cache=False,
        ).logits
    return cross_entropy(logits[0].float(), row.targets.to(device), reduction="none").float().cpu()


def enable_packing(model: PreTrainedModel, row_tokens: int) -> None:
    """Switch to packed attention, and refuse a model that does not keep the pieces of a row apart.

    Raises:
        ConfigError: E_BASE, rows are longer than the model's positions, or its losses depend on neighbours.
    """
    import torch
    from torch.nn.functional import cross_entropy

    from dialint.detector.engines import packed
    from dialint.detector.engines.equivalence_check import CONFIG_ERRORS

    kind = model.config.model_type
    table = getattr(model.config, "max_position_embeddings", None)
    if isinstance(table, int) and row_tokens > table:
        raise ConfigError("E_BASE", f"rows of {row_tokens} tokens, but {kind} has positions for {table}")
    model.eval()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(0, model.config.vocab_size, (size,), generator=generator) for size in (7, 5, 9)]
    try:
        with torch.no_grad():
            logits = [
                model(input_ids=one[None].to(model.device), use_cache=False).logits[0].cpu() for one in ids
            ]
            alone = torch.cat(
                [
                    cross_entropy(own[:-1].float(), one[1:], reduction="none")
                    for own, one in zip(logits, ids, strict=True)
                ]
            )
            model.set_attn_implementation(packed.NAME)
            row = build_row([Piece(one.int().numpy(), "", 0) for one in ids])
            together = token_losses(model, row)[row.targets >= 0]
    except (*CONFIG_ERRORS, packed.PackingUnsupported) as error:
        raise ConfigError("E_BASE", f"{kind} does not run on packed rows ({type(error).__name__})") from error
    off = float((together - alone).abs().max() / alone.abs().max().clamp(min=1.0))
    if not off <= TOLERANCE:
        raise ConfigError("E_BASE", f"{kind} lets dialogues of a row see each other (off by {off:.1e})")
    model.train()
