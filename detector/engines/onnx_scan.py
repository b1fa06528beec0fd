"""The engine that runs a scanner of BERT's shape by ONNX Runtime, on CPUs and without torch.

One window is one call, so that its numbers do not depend on other windows; each thread runs one at a time.
Arithmetic is fp32: the scores are torch's fp32 scores up to rounding.

Source: Devlin et al. 2019, BERT; operators of ONNX, opset 20, and
`MultiHeadAttention` and `Gelu` of ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from dialint.detector.engines.quantization import read_weight
from dialint.detector.errors import ReleaseRefused, native_errors
from dialint.detector.release import SCALE, Release
from dialint.detector.render import Rendered
from dialint.detector.scanner import Array, WindowScores

LAYER = "backbone.encoder.layer."
EMBEDDINGS = "backbone.embeddings."
OPSET, IR_VERSION, RUNTIME = 20, 10, "com.microsoft"


class OnnxEngine:
    """Runs the windows in `threads` threads."""

    fingerprint = "onnx/cpu/fp32"

    def __init__(self, release: Release, threads: int = 1) -> None:
        """
        Raises:
            ReleaseRefused: configuration, weights and tokenizer do not fit together.
        """
        import onnxruntime  # type: ignore[import-untyped]

        weights = {name: read_weight(release, name) for name in release.tensors if not name.endswith(SCALE)}
        self._slot_head, self._bias, self._token_head = (
            weights.pop(name) for name in _validated_heads(release, weights)
        )
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        with native_errors(
            lambda name: ReleaseRefused(
                "E_RELEASE", f"{release.folder}: the weights do not fit config.json ({name})"
            )
        ):
            graph = _Graph(release.config, weights)
            model = graph.model().SerializeToString()
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in graph.constants.values()]
            options.add_external_initializers(list(graph.constants), values)
            self._session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
            n_embedded = len(weights[EMBEDDINGS + "word_embeddings.weight"])
            self._hidden_states([0])
        release.check_vocabulary(n_embedded)
        longest = len(weights[EMBEDDINGS + "position_embeddings.weight"])
        if longest < release.info.render.context_tokens:
            context = f"windows of {release.info.render.context_tokens} tokens"
            raise ReleaseRefused(
                "E_RELEASE", f"{release.folder}: {context}, the model has {longest} positions"
            )
        self.on_row: Callable[[], None] = lambda: None
        self.n_tokens = 0

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Scores of each window, in their order."""
        running: list[Future[WindowScores]] = []
        with ThreadPoolExecutor(self._threads) as threads:
            try:
                for number, window in enumerate(windows):
                    self.n_tokens += len(window)
                    self.on_row()
                    running.append(threads.submit(self._scan_window, window))
                    if number >= self._threads:
                        running[number - self._threads].result()
                return [each.result() for each in running]
            finally:  # what `on_row` raises ends the scan
                threads.shutdown(cancel_futures=True)

    def _hidden_states(self, ids: Sequence[int], word_kinds: Sequence[int] = ()) -> Array:
        """Hidden states of one window, shape (tokens, hidden)."""
        rows = {"ids": ids, "positions": range(len(ids)), "word_kinds": word_kinds or [0] * len(ids)}
        wanted = {each.name for each in self._session.get_inputs()}
        feeds = {name: np.asarray(row, np.int64)[None] for name, row in rows.items() if name in wanted}
        states: Array = self._session.run(None, feeds)[0][0]
        return states

    def _scan_window(self, window: Rendered) -> WindowScores:
        """The heads' logits, as `ScanModel.scores` computes them."""
        states = self._hidden_states(window.ids, window.word_kinds)
        slots = states[[slot.position for slot in window.slots]] @ self._slot_head.T + self._bias
        spans = []
        for position, slot in enumerate(window.slots):
            tokens = states[slot.first_token : slot.position] @ self._token_head.T
            spans.append(tokens + slots[position])
            slots[position] += tokens.mean(axis=0) if len(tokens) else 0
        return WindowScores(slots, tuple(spans))


def _validated_heads(release: Release, weights: Mapping[str, Array]) -> tuple[str, str, str]:
    """The names of the heads' weights: of slots, their bias, of tokens."""
    codes, hidden = len(release.info.head_codes), release.config.get("hidden_size")
    shapes = {
        "slot_head.weight": (codes, hidden),
        "slot_head.bias": (codes,),
        "token_head.weight": (codes, hidden),
    }
    for name, shape in shapes.items():
        if name not in weights or weights[name].shape != shape:
            raise ReleaseRefused(
                "E_RELEASE", f"{release.folder}: {name} does not fit config.json; another base?"
            )
    return tuple(shapes)  # type: ignore[return-value]


def _declare(name: str, array: Array) -> Any:
    """Declares a weight without its numbers, which are passed to the session: copied into the graph they took
    .2 s and 180 MB."""
    from onnx import TensorProto

    tensor = TensorProto(
        name=name, dims=array.shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="weights")
    return tensor


class _Graph:
    """The graph of a backbone, built operator by operator; each method returns the name of its result."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, Array]) -> None:
        self.config, self.weights = config, weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}

    def model(self) -> Any:
        from onnx import TensorProto, helper

        sizes = {"word_kinds"} if "history.weight" in self.weights else set[str]()
        inputs = ["ids", "positions", *sizes]
        states = self._embeddings(inputs)
        for layer in range(self.config["num_hidden_layers"]):
            states = self._layer(f"{LAYER}{layer}.", states)
        if (
            unused := self.weights.keys()
            - self.constants.keys()
            - {EMBEDDINGS + "token_type_embeddings.weight"}
        ):
            raise ValueError(f"weights without a place: {min(unused)}")
        graph = helper.make_graph(
            self.nodes,
            "scan",
            [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"]) for name in inputs],
            [
                helper.make_tensor_value_info(
                    states, TensorProto.FLOAT, [1, "tokens", self.config["hidden_size"]]
                )
            ],
            [_declare(name, array) for name, array in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        result = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [result], domain=domain, **attributes))
        return result

    def _constant(self, name: str, array: Array) -> str:
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def _embeddings(self, inputs: Sequence[str]) -> str:
        positions = self.weights[EMBEDDINGS + "position_embeddings.weight"]
        of_first_type = self.weights[EMBEDDINGS + "token_type_embeddings.weight"][0]
        tables = {
            "ids": ("word_embeddings.weight", self.weights[EMBEDDINGS + "word_embeddings.weight"]),
            "positions": ("position_embeddings.weight", positions + of_first_type),
        }
        rows = [
            self._node("Gather", self._constant(EMBEDDINGS + name, table), each)
            for each, (name, table) in tables.items()
        ]
        if "word_kinds" in inputs:
            history = self._constant("history.weight", self.weights["history.weight"])
            rows.insert(1, self._node("Gather", history, "word_kinds"))
        total = rows[0]
        for row in rows[1:]:
            total = self._node("Add", total, row)
        return self._norm(EMBEDDINGS + "LayerNorm", total)

    def _layer(self, name: str, states: str) -> str:
        heads = self.config["num_attention_heads"]
        parts = [self._linear(f"{name}attention.self.{part}", states) for part in ("query", "key", "value")]
        attended = self._node("MultiHeadAttention", *parts, domain=RUNTIME, num_heads=heads)
        attended = self._node("Add", self._linear(f"{name}attention.output.dense", attended), states)
        attended = self._norm(f"{name}attention.output.LayerNorm", attended)
        wide = self._node("Gelu", self._linear(f"{name}intermediate.dense", attended), domain=RUNTIME)
        narrow = self._node("Add", self._linear(f"{name}output.dense", wide), attended)
        return self._norm(f"{name}output.LayerNorm", narrow)

    def _linear(self, name: str, states: str) -> str:
        weight = self._constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        bias = self._constant(f"{name}.bias", self.weights[f"{name}.bias"])
        return self._node("Add", self._node("MatMul", states, weight), bias)

    def _norm(self, name: str, states: str) -> str:
        parts = (
            self._constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias")
        )
        return self._node(
            "LayerNormalization", states, *parts, axis=-1, epsilon=self.config.get("layer_norm_eps", 1e-12)
        )
