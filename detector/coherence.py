"""Coherence: how well each turn of an agent fits what was said before it, learnt from unlabelled dialogues.

A dual encoder over bags of word pieces: the context (the customer's turns since the agent last spoke, the
agent's turn before, and the dialogue so far) and the reply are each a weighted mean of token embeddings, a
linear map and a point on the unit sphere. Their dot product was trained to be greater for the reply that
people gave than for others of the same and of other dialogues (`finetune/scanner/coherence.py`). No labels
and no made errors are needed, so it can be adapted to any log.

Source: Henderson et al. 2017, "Efficient natural language response suggestion"; the centring is that of
pointwise mutual information.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from dialint.detector.errors import ReleaseRefused
from dialint.detector.records import JUDGED_ROLES, Dialogue
from dialint.detector.release import COHERENCE, Release
from dialint.detector.render import load_tokenizer

MAX_TOKENS = 64
"""Word pieces of a turn that count, the last ones."""
HISTORY_TURNS = 12
"""Turns before the customer's last ones and the agent's previous one that count as the dialogue so far."""
SMOOTHING = 1.0
"""Added to the sum of a bag's weights: a bag of few words says little."""
SCALE = ".scale"

Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class Exchange:
    """A turn of an agent and its context, by positions in `dialogue.turns`: the customer's turns since the
    agent last spoke, the agent's turn before these, and what was said before."""

    reply: int
    customer: tuple[int, ...]
    agent: tuple[int, ...]
    history: tuple[int, ...]


def exchanges(dialogue: Dialogue) -> Iterator[Exchange]:
    """The spoken turns of agents and bots that something was said before, in order."""
    customer: list[int] = []
    agent: list[int] = []
    history: list[int] = []
    for position, turn in enumerate(dialogue.turns):
        if not turn.text.strip():
            continue
        if turn.role == "customer":
            customer.append(position)
        elif turn.role in JUDGED_ROLES:
            if customer or agent:
                yield Exchange(position, tuple(customer), tuple(agent), tuple(history[-HISTORY_TURNS:]))
            history += [*agent, *customer]
            customer, agent = [], [position]


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The ids of each text's last `MAX_TOKENS` word pieces."""
    return [list(each.ids[-MAX_TOKENS:]) for each in tokenizer.encode_batch(texts, add_special_tokens=False)]


def plain_tokenizer(tokenizer_json: str) -> Tokenizer:
    """A release's tokenizer, without truncation and padding."""
    tokenizer = load_tokenizer(tokenizer_json)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class CoherenceModel:
    """A trained dual encoder, in numpy.

    Its `tensors`: ``embeddings`` int8 of shape (tokens, dim) with ``embeddings.scale`` (tokens,);
    ``token_weights`` (tokens, 2), logarithms of a token's weight in a context and in a reply;
    ``projections`` (4, dim, dim) of customer, agent, history and reply; ``biases`` (2, dim) and ``means``
    (2, dim) of contexts and of replies; ``moments`` (2,), mean and standard deviation of the centred product
    on the log it was fitted to; ``temperature`` (1,), which only training needs.
    """

    def __init__(self, tensors: Mapping[str, Any], tokenizer_json: str) -> None:
        self.tensors = dict(tensors)
        self.tokenizer = plain_tokenizer(tokenizer_json)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.tensors["embeddings"].shape[1])

    def encode(self, dialogue: Dialogue) -> tuple[tuple[Exchange, ...], Array, Array]:
        """The exchanges of a dialogue, and their contexts and replies as unit vectors, both of shape
        (exchanges, dim)."""
        items = tuple(exchanges(dialogue))
        if not items:
            empty = np.zeros((0, self.dim), np.float32)
            return (), empty, empty
        needed = sorted(
            {place for item in items for place in (item.reply, *item.customer, *item.agent, *item.history)}
        )
        row_of = {place: row for row, place in enumerate(needed)}
        sums, weights = self._bags([dialogue.turns[place].text for place in needed])
        projections, biases = self.tensors["projections"], self.tensors["biases"]
        contexts = np.tile(biases[0], (len(items), 1))
        replies = np.tile(biases[1], (len(items), 1))
        for number, item in enumerate(items):
            for projection, places in zip(
                projections, (item.customer, item.agent, item.history), strict=False
            ):
                if places:
                    rows = [row_of[place] for place in places]
                    mean = sums[0, rows].sum(0) / (weights[0, rows].sum() + SMOOTHING)
                    contexts[number] += mean @ projection
            row = row_of[item.reply]
            replies[number] += (sums[1, row] / (weights[1, row] + SMOOTHING)) @ projections[3]
        return items, _normalize(contexts), _normalize(replies)

    def _bags(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """For each text the weighted sum of its token embeddings and the sum of the weights, as part of a
        context and as a reply: shapes (2, texts, dim) and (2, texts)."""
        ids = tokenize(self.tokenizer, texts)
        flat = np.array([token for each in ids for token in each], np.int64)
        text = np.repeat(np.arange(len(texts)), [len(each) for each in ids])
        vectors = self.tensors["embeddings"][flat] * self.tensors["embeddings.scale"][flat, None]
        sums = np.zeros((2, len(texts), self.dim), np.float32)
        weights = np.zeros((2, len(texts)), np.float32)
        for side in (0, 1):
            weight = np.exp(self.tensors["token_weights"][flat, side])
            np.add.at(sums[side], text, vectors * weight[:, None])
            np.add.at(weights[side], text, weight)
        return sums, weights

    def product(self, contexts: Array, replies: Array) -> Array:
        """How much better each reply fits its context than chance has it, shape (exchanges,): the dot product
        of the vectors less their means over the log."""
        means = self.tensors["means"]
        product: Array = ((contexts - means[0]) * (replies - means[1])).sum(1)
        return product

    def scores(self, dialogue: Dialogue) -> dict[int, float]:
        """Incoherence of each agent's turn by its index: by how many standard deviations it fits its context
        worse than the turns of the log that the model was fitted to. The first words of a dialogue have
        none."""
        items, contexts, replies = self.encode(dialogue)
        mean, deviation = map(float, self.tensors["moments"])
        values = (mean - self.product(contexts, replies)) / deviation
        return {
            dialogue.turns[item.reply].index: float(value) for item, value in zip(items, values, strict=True)
        }


def _normalize(vectors: Array) -> Array:
    unit: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return unit


SHAPES = {
    "embeddings": ("tokens", "dim"),
    "embeddings.scale": ("tokens",),
    "token_weights": ("tokens", 2),
    "projections": (4, "dim", "dim"),
    "biases": (2, "dim"),
    "means": (2, "dim"),
    "moments": (2,),
    "temperature": (1,),
}


def load_coherence(path: Path, tokenizer_json: str) -> CoherenceModel:
    """The model of a file, for dialogues in the word pieces of that tokenizer.

    Raises:
        ReleaseRefused: E_COHERENCE, the file is no such model, is of another tokenizer, or holds NaN.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except (OSError, SafetensorError):
        raise ReleaseRefused(
            "E_COHERENCE", "{path}: no safetensors file of a coherence model", path=path
        ) from None
    model_of = {name: tensor.shape for name, tensor in tensors.items()}
    tokens, dim = (*model_of.get("embeddings", ()), 0, 0)[:2]
    sizes = {"tokens": tokens, "dim": dim}
    expected = {name: tuple(sizes.get(str(size), size) for size in shape) for name, shape in SHAPES.items()}
    if not tokens or model_of != expected:
        raise ReleaseRefused("E_COHERENCE", "{path}: not made by `dialint train adapt`", path=path)
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()) or tensors["moments"][1] <= 0:
        raise ReleaseRefused("E_COHERENCE", "{path}: holds NaN, infinity or an empty spread", path=path)
    model = CoherenceModel(tensors, tokenizer_json)
    size = model.tokenizer.get_vocab_size()
    if size > tokens:
        raise ReleaseRefused(
            "E_COHERENCE",
            "{path}: of {n} tokens, and the tokenizer has {size}",
            path=path,
            n=tokens,
            size=size,
        )
    return model


def open_coherence(release: Release) -> CoherenceModel | None:
    """The release's coherence model, if it has one.

    Raises:
        ReleaseRefused: E_COHERENCE, its file is damaged, or its codes need one and it has none.
    """
    path = release.folder / COHERENCE
    if path.exists():
        return load_coherence(path, release.tokenizer_json())
    needing = [code for code, how in release.info.codes.items() if how.scan and how.scan.coherence]
    if needing:
        raise ReleaseRefused(
            "E_COHERENCE", "{path}: no {file}, which {codes} are calibrated with",
            path=release.folder, file=COHERENCE, codes=str(needing),
        )  # fmt: skip
    return None
