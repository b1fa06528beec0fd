"""The decoder: our own shape from one dial, or a base model's folder; and the loss of every token.

Two ways to keep the dialogues of a row apart: `packed`, an attention call for each piece, quickest on
CPU as it stands; `masked`, a block mask over static rows, which torch.compile and CUDA want. Both are
compared with each piece alone before training begins.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.engines.base_models import validate_sizes
from dialint.detector.engines.quantization import load_dequantized, storage_format
from dialint.detector.errors import ConfigError, native_errors
from dialint.finetune.decoder.packing import IGNORE_INDEX, Batch, build_batch
from dialint.finetune.decoder.writing import Piece

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

AttentionMode = Literal["packed", "masked"]
HEAD_DIM = 32
TOLERANCE = 2e-4
"""Largest difference of a logit, as a share of the largest; see `detector.engines.equivalence_check`."""


@dataclass(frozen=True)
class TrainOptions:
    """What the steps need to know; all but `job` and `checkpoint_minutes` changes weights."""

    job: str
    seed: int
    epochs: float
    row_tokens: int
    rows: int
    accumulate: int
    learning_rate: float
    weight_decay: float
    warm_up: float
    eval_steps: int
    patience: int
    precision: str
    attention: AttentionMode
    device: str
    checkpoint_minutes: float

    def losses(self, model: Any, batch: Batch) -> torch.Tensor:
        """Each token's loss, on CPU in fp32, in the precision of the run."""
        import torch

        moved = Batch(*(part.to(self.device) for part in vars(batch).values()))
        low = self.precision == "bf16"
        with torch.autocast(self.device.split(":")[0], torch.bfloat16) if low else nullcontext():
            losses = token_losses(model, moved, self.attention)
        return losses.float().cpu()


def decoder_config(depth: int, vocabulary: int, ids: dict[str, int], row_tokens: int) -> dict[str, Any]:
    """Qwen3's options for `depth` layers: width 32 x depth, one head for each 32 of it, half as many for
    keys and values where that is even, feed-forward 3 x width, tied embeddings.

    `ids` are those of begin, end and pad. Depth 6 has 2.65 M parameters beside the embeddings.

    Raises:
        ConfigError: no such depth.
    """
    if not 1 <= depth <= 64:
        raise ConfigError("E_DEPTH", f"--depth {depth}: 1 to 64")
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
        "bos_token_id": ids["begin"],
        "eos_token_id": ids["end"],
        "pad_token_id": ids["pad"],
    }


def init_decoder(shape: dict[str, Any], seed: int) -> PreTrainedModel:
    """A Qwen3 decoder of random weights, in fp32."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    model: PreTrainedModel = Qwen3ForCausalLM(Qwen3Config(**shape))
    return model


def load_decoder(folder: Path) -> PreTrainedModel:
    """The decoder in a folder, in fp32: local files, safetensors, no code of the folder's.

    Raises:
        ConfigError: there is none that loads under these terms.
    """
    import torch
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        raise ConfigError("E_BASE", f"{folder}: no config.json with *.safetensors")
    loader: Any = AutoModelForCausalLM
    plain = storage_format(folder) == "plain"
    validate_sizes(folder)
    with native_errors(lambda name: ConfigError("E_BASE", f"{folder}: no decoder that loads ({name})")):
        if plain:
            model, loading_info = loader.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                dtype=torch.float32,
                output_loading_info=True,
            )
        else:
            model, loading_info = load_dequantized(loader, folder, dtype=torch.float32)
    if loading_info["missing_keys"] or loading_info["mismatched_keys"]:
        raise ConfigError("E_BASE", f"{folder}: weights are missing or do not fit config.json")
    loaded: PreTrainedModel = model
    return loaded


def token_losses(model: Any, batch: Batch, way: AttentionMode) -> torch.Tensor:
    """Cross-entropy in nats of each wanted token, shape of the batch, 0 where nothing is wanted. `model`
    may be a compiled one (masked only)."""
    return _packed_losses(model, batch) if way == "packed" else _masked_losses(model, batch)


def _packed_losses(model: Any, batch: Batch) -> torch.Tensor:
    """All pieces in one row, padding left out."""
    import torch
    from torch.nn.functional import cross_entropy

    real = batch.segments > 0
    first = batch.positions[real] == 0
    ends = torch.nonzero(first).flatten().cpu()
    bounds = torch.cat((ends, torch.tensor([len(first)])))
    logits = model(
        input_ids=batch.ids[real][None],
        position_ids=batch.positions[real][None],
        cu_seq_lens_q=bounds,
        use_cache=False,
    ).logits
    losses = torch.zeros(batch.ids.shape, device=logits.device)
    return losses.masked_scatter(
        real,
        cross_entropy(logits[0].float(), batch.wanted[real], ignore_index=IGNORE_INDEX, reduction="none"),
    )


def _masked_losses(model: Any, batch: Batch) -> torch.Tensor:
    """Rows of one length; a token sees the tokens before it that have its segment."""
    import torch
    from torch.nn.functional import cross_entropy

    size = batch.ids.shape[1]
    before = torch.ones(size, size, dtype=torch.bool, device=batch.ids.device).tril()
    sees = (batch.segments[:, None, :, None] == batch.segments[:, None, None, :]) & before
    logits = model(
        input_ids=batch.ids, position_ids=batch.positions, attention_mask=sees, use_cache=False
    ).logits
    flat = cross_entropy(
        logits.float().flatten(0, 1), batch.wanted.flatten(), ignore_index=IGNORE_INDEX, reduction="none"
    )
    return flat.view(batch.ids.shape)


def set_attention(model: PreTrainedModel, way: AttentionMode, row_tokens: int) -> None:
    """Set the way of attention, and refuse a model that does not keep the pieces of a row apart.

    Raises:
        ConfigError: rows are longer than the model's positions, or its losses depend on neighbours.
    """
    import torch

    from dialint.detector.engines import packed
    from dialint.detector.engines.equivalence_check import CONFIG_ERRORS

    kind = model.config.model_type
    table = getattr(model.config, "max_position_embeddings", None)
    if isinstance(table, int) and row_tokens > table:
        raise ConfigError("E_BASE", f"rows of {row_tokens} tokens, but {kind} has positions for {table}")
    model.eval()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(0)
    pieces = [
        Piece(torch.randint(0, model.config.vocab_size, (size,), generator=generator).int().numpy(), "", 0)
        for size in (7, 5, 9)
    ]
    try:
        with torch.no_grad():
            alone = torch.cat([_alone(model, piece) for piece in pieces])
            if way == "packed":
                model.set_attn_implementation(packed.NAME)
            batch = _on(build_batch(pieces, [[0, 1], [2]], 2, 16), model.device)
            together = token_losses(model, batch, way)[batch.wanted != IGNORE_INDEX]
    except (*CONFIG_ERRORS, packed.PackingUnsupported) as error:
        raise ConfigError("E_BASE", f"{kind} does not run on packed rows ({type(error).__name__})") from error
    off = float((together - alone).abs().max() / alone.abs().max().clamp(min=1.0))
    if not off <= TOLERANCE:
        raise ConfigError("E_BASE", f"{kind} lets dialogues of a row see each other (off by {off:.1e})")
    model.train()


def _alone(model: PreTrainedModel, piece: Piece) -> torch.Tensor:
    import torch
    from torch.nn.functional import cross_entropy

    ids = torch.from_numpy(piece.ids).long().to(model.device)
    logits = model(input_ids=ids[None], use_cache=False).logits[0]
    return cross_entropy(logits[:-1].float(), ids[1:], reduction="none")


def _on(batch: Batch, device: torch.device) -> Batch:
    return Batch(*(getattr(batch, name).to(device) for name in ("ids", "positions", "segments", "wanted")))
