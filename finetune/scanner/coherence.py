"""Trains a coherence model on dialogues without labels: which replies fit which contexts.

Every reply is told from those of other dialogues and from another of the same dialogue. A prepared line,
which stands in many dialogues, counts less. Without a model to start from it starts from the token embeddings
of a release's scanner. The command is `dialint train adapt` (`finetune/scanner/adapt.py`).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter
from pydantic import Field

from dialint.detector.coherence import (
    SCALE,
    SMOOTHING,
    Array,
    CoherenceModel,
    exchanges,
    tokenize,
)
from dialint.detector.errors import ReleaseRefused
from dialint.detector.interface import default_threads
from dialint.detector.option_ranges import check_ranges
from dialint.detector.progress import progress
from dialint.detector.records import Dialogue
from dialint.detector.release import Release
from dialint.finetune.train.finite import validate_loss

if TYPE_CHECKING:
    import torch

MIN_EXCHANGES = 50
"""Least replies with a context that a log must have."""
CANDIDATES = 20
"""Replies, one of them the true one, among which the held-out measure ranks."""
HELD_OUT = 10
"""One dialogue of so many is kept from training."""
RANKED = 5000
"""Held-out replies that are ranked, at most."""
SAME = 1 - 1e-5
"""Cosine from which two replies count as the same."""
START_TEMPERATURE = math.log(10.0)
_LETTERS = re.compile(r"[^\W\d_]+")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AdaptConfig:
    """Options of `dialint train adapt`."""

    out: Path
    """Folder for the adapted release; must not exist."""
    release: Path | None = None
    """Folder of the release that is adapted; without it the embedded one."""
    name: str | None = None
    """Id of the adapted release; none: that of the release with -adapted."""
    labels: Path | None = None
    """Labels of some of the dialogues as JSONL, one a line: precision and average precision before and after
    are printed. Nothing is trained on them."""
    epochs: Annotated[float, Field(ge=0)] = 3.0
    """Passes over the replies of the log; 0: only centre and spread are those of the log."""
    batch: Annotated[int, Field(ge=8)] = 256
    """Replies that are told apart in one step."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    """Peak rate; it falls to zero."""
    dim: Annotated[int, Field(ge=2)] = 128
    """Length of the vectors, where the release has no coherence model yet."""
    same_dialogue: bool = True
    """Tell a reply also from another one of its dialogue, not only from other dialogues' ones."""
    prepared: Annotated[float, Field(ge=0)] = 0.5
    """How much less a reply counts that stands in n dialogues: by n to the minus this."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of words that a step does not see."""
    limit: Annotated[int | None, Field(ge=1)] = None
    """At most this many dialogues of the log."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of order and dropout."""
    threads: Annotated[int, Field(ge=1)] = field(default_factory=default_threads)
    """CPU threads; by default OMP_NUM_THREADS if it is set, else one for each core this process may use."""
    quiet: bool = False
    """Show no progress."""

    def __post_init__(self) -> None:
        check_ranges(self)


def split_dialogues(dialogues: Iterable[Dialogue]) -> tuple[list[Dialogue], list[Dialogue]]:
    """Held-out dialogues, one of `HELD_OUT` by a hash of the id, and those to train on."""
    held: list[Dialogue] = []
    train: list[Dialogue] = []
    for dialogue in dialogues:
        number = int.from_bytes(hashlib.sha256(dialogue.id.encode()).digest()[:4])
        (train if number % HELD_OUT else held).append(dialogue)
    return held, train


def init_coherence(release: Release, dim: int, seed: int) -> CoherenceModel:
    """An untrained model: the principal components of the scanner's token embeddings, which know what words
    are alike.

    Raises:
        ReleaseRefused: E_RELEASE, the release has no token embeddings.
    """
    import torch

    from dialint.detector.engines.weight_formats import decode_weight

    name = next(
        (
            name
            for name in release.tensors
            if name.endswith(("word_embeddings.weight", "embed_tokens.weight"))
        ),
        None,
    )
    if name is None:
        raise ReleaseRefused("E_RELEASE", f"{release.folder}: no token embeddings to start from")
    weight = decode_weight(release, name)
    weight = weight - weight.mean(0)
    dim = min(dim, weight.shape[1])
    _, axes = torch.linalg.eigh(weight.T @ weight)
    table = weight @ axes.flip(1)[:, :dim]
    table = 0.05 * table / table.std()
    generator = torch.Generator().manual_seed(seed)
    near = 0.01 * torch.randn(4, dim, dim, generator=generator)
    share = torch.tensor([1.0, 0.3, 0.3, 1.0])  # the customer's last words say most
    projections = near + torch.eye(dim) * share[:, None, None]
    tensors = quantize_table(table.numpy())
    return CoherenceModel(
        {
            **tensors,
            "token_weights": np.zeros((len(table), 2), np.float32),
            "projections": projections.numpy(),
            "biases": np.zeros((2, dim), np.float32),
            "means": np.zeros((2, dim), np.float32),
            "moments": np.array([0.0, 1.0], np.float32),
            "temperature": np.array([START_TEMPERATURE], np.float32),
        },
        release.tokenizer_json(),
    )


def quantize_table(table: Array) -> dict[str, Any]:
    """Token embeddings as int8 with a scale for each row."""
    scale = np.maximum(np.abs(table).max(1), 1e-8).astype(np.float32) / 127
    return {
        "embeddings": np.round(table / scale[:, None]).astype(np.int8),
        f"embeddings{SCALE}": scale,
    }


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths: `values` end to end, row i from `offsets[i]` to `offsets[i + 1]`."""

    values: np.ndarray[Any, np.dtype[np.int64]]
    offsets: np.ndarray[Any, np.dtype[np.int64]]

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        """The rows of lists."""
        values = np.array([value for row in rows for value in row], np.int64)
        return cls(values, np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64))

    def take(self, rows: Any) -> tuple[Any, Any]:
        """The values of some rows end to end, and for each the position of its row in `rows`."""
        start = self.offsets[rows]
        size = self.offsets[rows + 1] - start
        place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size) + np.repeat(start, size)
        return self.values[place], np.repeat(np.arange(len(rows)), size)


@dataclass(frozen=True)
class TrainData:
    """The exchanges of a log as numbers. `tokens` are those of each turn, as positions in `vocabulary`;
    `fields` the turns of each exchange's customer, agent and history; arrays of shape (exchanges,): its
    `reply` as a turn, the number of the reply's `text`, its `dialogue`, and its `weight`, which sums to 1."""

    vocabulary: Any
    tokens: Ragged
    fields: tuple[Ragged, Ragged, Ragged]
    reply: Any
    text: Any
    dialogue: Any
    weight: Any


def build_data(model: CoherenceModel, dialogues: Sequence[Dialogue], prepared: float) -> TrainData:
    """The exchanges of dialogues. A reply of n dialogues has the weight n to the minus `prepared`."""
    texts: list[str] = []
    fields: tuple[list[list[int]], ...] = ([], [], [])
    replies, names, owners = [], [], []
    number_of: dict[str, int] = {}
    in_dialogues: Counter[int] = Counter()
    for number, dialogue in enumerate(dialogues):
        first = len(texts)
        texts.extend(turn.text for turn in dialogue.turns)
        own: set[int] = set()
        for item in exchanges(dialogue):
            for part, places in zip(fields, (item.customer, item.agent, item.history), strict=True):
                part.append([first + place for place in places])
            words = " ".join(_LETTERS.findall(dialogue.turns[item.reply].text.casefold()))
            replies.append(first + item.reply)
            names.append(number_of.setdefault(words, len(number_of)))
            owners.append(number)
            own.add(names[-1])
        in_dialogues.update(own)
    ids = Ragged.of(tokenize(model.tokenizer, texts))
    vocabulary, flat = np.unique(ids.values, return_inverse=True)
    tokens = Ragged(flat.astype(np.int64), ids.offsets)
    weight = np.array([in_dialogues[name] ** -prepared for name in names])
    return TrainData(
        vocabulary, tokens, tuple(map(Ragged.of, fields)), np.array(replies), np.array(names),  # type: ignore[arg-type]
        np.array(owners), weight / weight.sum(),
    )  # fmt: skip


class Encoder:
    """The dual encoder with gradients, over the words of a log only; `parameters` by the names of the
    model's tensors."""

    def __init__(self, model: CoherenceModel, data: TrainData) -> None:
        import torch

        self.data = data
        tensors, words = model.tensors, data.vocabulary
        table = tensors["embeddings"][words] * tensors[f"embeddings{SCALE}"][words, None]
        start = {
            "embeddings": table,
            "token_weights": tensors["token_weights"][words],
            "projections": tensors["projections"],
            "biases": tensors["biases"],
            "temperature": tensors["temperature"],
        }
        self.parameters = {
            name: torch.nn.Parameter(torch.tensor(value, dtype=torch.float32))
            for name, value in start.items()
        }

    def vectors(
        self, contexts: Any, replies: Any, dropout: float, generator: torch.Generator
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Unit vectors of the contexts and of the replies of the exchanges with these numbers."""
        import torch
        from torch.nn.functional import normalize

        own, data = self.parameters, self.data
        context = own["biases"][0].expand(len(contexts), -1)
        for number, part in enumerate(data.fields):
            turns, row = part.take(contexts)
            bag = self._bag(turns, row, len(contexts), 0, dropout, generator)
            context = context + bag @ own["projections"][number]
        turns = data.reply[replies]
        bag = self._bag(turns, np.arange(len(turns)), len(turns), 1, dropout, generator)
        reply = own["biases"][1] + bag @ own["projections"][3]
        return normalize(context, dim=1), torch.nn.functional.normalize(reply, dim=1)

    def _bag(
        self, turns: Any, row: Any, n: int, side: int, dropout: float, generator: torch.Generator
    ) -> torch.Tensor:
        """The weighted mean of the words of each row's turns, shape (n, dim)."""
        import torch

        tokens, of_turn = self.data.tokens.take(turns)
        rows = torch.from_numpy(row[of_turn])
        ids = torch.from_numpy(tokens)
        weight = self.parameters["token_weights"][ids, side].exp()
        if dropout:
            weight = weight * (torch.rand(len(weight), generator=generator) >= dropout)
        vectors = self.parameters["embeddings"][ids] * weight[:, None]
        total = torch.zeros(n).index_add(0, rows, weight) + SMOOTHING
        dim = vectors.shape[1]
        return torch.zeros(n, dim).index_add(0, rows, vectors) / total[:, None]

    def to_model(self, model: CoherenceModel) -> CoherenceModel:
        """The model with what was learnt; words that the log does not have stay as they are."""
        parameters = {name: value.detach().numpy() for name, value in self.parameters.items()}
        table = model.tensors["embeddings"] * model.tensors[f"embeddings{SCALE}"][:, None]
        table[self.data.vocabulary] = parameters.pop("embeddings")
        weights = model.tensors["token_weights"].copy()
        weights[self.data.vocabulary] = parameters.pop("token_weights")
        tensors = {**model.tensors, **parameters, **quantize_table(table), "token_weights": weights}
        return CoherenceModel(tensors, model.tokenizer.to_str())


def train_coherence(
    model: CoherenceModel, train: Sequence[Dialogue], held: Sequence[Dialogue], config: AdaptConfig
) -> CoherenceModel:
    """The model further trained, with centre and spread of the log. `held` is for the spread only: on what
    it was trained on, a model is too sure.

    Raises:
        ConfigError: E_DIVERGED, the loss is no number.
    """
    import torch
    from torch.nn.functional import cross_entropy

    data = build_data(model, train, config.prepared)
    n = len(data.reply)
    encoder = Encoder(model, data)
    rates = {"embeddings": 2.0, "token_weights": 10.0, "projections": 2.0, "biases": 2.0, "temperature": 10.0}
    optimizer = torch.optim.Adam(
        [{"params": [parameter]} for parameter in encoder.parameters.values()], lr=config.learning_rate
    )
    batch = min(config.batch, n)
    n_steps = round(config.epochs * n / batch)
    rng, generator = np.random.default_rng(config.seed), torch.Generator().manual_seed(config.seed)
    of_dialogue: dict[int, list[int]] = defaultdict(list)
    for number, owner in enumerate(data.dialogue.tolist()):
        of_dialogue[owner].append(number)
    with progress("training", "steps", quiet=config.quiet) as report:
        for step in range(n_steps):
            for group, name in zip(optimizer.param_groups, encoder.parameters, strict=True):
                group["lr"] = config.learning_rate * rates[name] * (1 - step / n_steps)
            rows = rng.choice(n, batch, p=data.weight)
            columns = rows
            if config.same_dialogue:
                others = [of_dialogue[data.dialogue[row]] for row in rows.tolist()]
                columns = np.concatenate([rows, [each[rng.integers(len(each))] for each in others]])
            contexts, replies = encoder.vectors(rows, columns, config.dropout, generator)
            logits = contexts @ replies.T * encoder.parameters["temperature"].exp()
            same = torch.from_numpy(data.text[rows][:, None] == data.text[columns][None])
            same[torch.arange(batch), torch.arange(batch)] = False
            logits = logits.masked_fill(same, -1e4)
            truth = torch.arange(batch)
            loss = cross_entropy(logits, truth) + 0.5 * cross_entropy(logits[:, :batch].T, truth)
            validate_loss(step, loss.item())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            report(step + 1, (step + 1) / n_steps)
    return center(encoder.to_model(model), [*train, *held], held or train)


def center(model: CoherenceModel, dialogues: Sequence[Dialogue], held: Sequence[Dialogue]) -> CoherenceModel:
    """The model with the mean vectors of a log, and the spread of its product on the dialogues `held`."""
    parts = [model.encode(dialogue)[1:] for dialogue in dialogues]
    contexts, replies = (np.concatenate(side) for side in zip(*parts, strict=True))
    means = np.stack([contexts.mean(0), replies.mean(0)])
    centred = CoherenceModel({**model.tensors, "means": means}, model.tokenizer.to_str())
    values = np.concatenate([centred.product(*centred.encode(dialogue)[1:]) for dialogue in held])
    if len(values) < 2:
        values = centred.product(contexts, replies)
    moments = np.array([values.mean(), max(float(values.std()), 1e-6)], np.float32)
    return CoherenceModel({**centred.tensors, "moments": moments}, model.tokenizer.to_str())


def ranked_first(model: CoherenceModel, dialogues: Sequence[Dialogue], seed: int = 0) -> float:
    """The share of replies that are ranked first among `CANDIDATES`, the others drawn from the same
    dialogues; 0 without any."""
    parts = [model.encode(dialogue)[1:] for dialogue in dialogues]
    if not parts or sum(len(part[0]) for part in parts) < 2:
        return 0.0
    contexts, replies = (np.concatenate(side)[:RANKED] for side in zip(*parts, strict=True))
    others = np.random.default_rng(seed).integers(len(replies), size=(len(replies), CANDIDATES - 1))
    true = (contexts * replies).sum(1)
    false = np.einsum("nd,nkd->nk", contexts, replies[others])
    same = np.einsum("nd,nkd->nk", replies, replies[others]) > SAME
    return float((true > np.where(same, -np.inf, false).max(1)).mean())


def write_coherence(model: CoherenceModel, path: Path) -> None:
    """Write a coherence model as safetensors."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(value) for name, value in sorted(model.tensors.items())}, path)
