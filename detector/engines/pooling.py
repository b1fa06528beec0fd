"""The engine that asks a vLLM server for the scan: token classification by its ``/pooling``, token ids in.

The server has the backbone and the three heads as one stacked head (`dialint train export`); it returns their
logits for every token. The slots, the strongest token of each turn and its learnt weight are taken here, from
the release. A backbone that is given a vector for each token's history beside its id cannot be served so.

At first one window is scored by the server and in this process: another model's scores would be verdicts too.
Failures that may pass are tried again by openai's client; then the job ends.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import numpy as np
import openai

from dialint.detector.engines.local import fill_rows, load_engine
from dialint.detector.engines.model_server import (
    TRANSIENT,
    Address,
    client_options,
    connection_reason,
    parse_address,
)
from dialint.detector.engines.scan_model import EVIDENCE_WEIGHT, HEADS
from dialint.detector.engines.server_answers import Pooling, parse, parse_models
from dialint.detector.engines.weight_formats import decode_weight
from dialint.detector.errors import ConfigError, ReleaseRefused, WorldError
from dialint.detector.records import Dialogue, Turn
from dialint.detector.release import Release
from dialint.detector.render import Rendered, Renderer
from dialint.detector.scanner import WindowScores

IN_FLIGHT = 4
"""Requests at a time; the server batches them."""
TIMEOUT_S = 60.0
RETRIES = 6
"""Tries after the first one: about 24 s of waiting where the server names no time."""
ANOTHER_MODEL = 0.5
"""Largest difference of a logit between the server and this process that arithmetic alone explains."""
PROBE = Dialogue(
    id="probe",
    turns=(
        Turn(index=0, role="customer", text="Where is the order that I placed last week?"),
        Turn(index=1, role="agent", text="It is on its way, and I have sent you the tracking number."),
    ),
    masked=True,
)


class PoolingEngine:
    """Windows in requests of about `row_tokens` tokens, some requests at a time."""

    def __init__(self, release: Release, address: Address, row_tokens: int = 4096) -> None:
        """
        Raises:
            ReleaseRefused: the release cannot be served so.
            ConfigError: the server has no such model, or another one.
            WorldError: it does not answer.
        """
        info = release.info
        if info.render.history:
            raise ReleaseRefused(
                "E_RELEASE",
                f"{info.id}: tells its model which words occurred before, which vLLM cannot; train with "
                "--history=false, or leave out --engine",
            )
        self._address = address
        self._n_codes = len(info.head_codes)
        self._bias = decode_weight(release, "span_head.bias").numpy()
        has_evidence = EVIDENCE_WEIGHT in release.tensors
        self._weight = decode_weight(release, EVIDENCE_WEIGHT).numpy() if has_evidence else None
        self.row_tokens = row_tokens
        self.on_row: Callable[[], None] = lambda: None
        """Called before each request of `scan`."""
        self.n_tokens = 0
        """Tokens that were sent."""
        self.share_scanned = 0.0
        """Share of the tokens of the `scan` that is at work, 0 to 1."""
        options = client_options(address, None, TIMEOUT_S, retries=RETRIES, is_async=False)
        self._client = openai.OpenAI(**options)
        self._model = self._find_model(info.render.context_tokens)
        self._verify(release)

    @property
    def fingerprint(self) -> str:
        """Engine options that may change a score. The server's address is left out, so that a run can go on
        on another replica."""
        return f"pooling/{self.row_tokens}"

    def scan(self, windows: Sequence[Rendered]) -> list[WindowScores]:
        """Scores of each window, in the order given."""
        results: dict[int, WindowScores] = {}
        wanted = sum(map(len, windows))
        rows = fill_rows([len(window) for window in windows], self.row_tokens)
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            answers = pool.map(lambda row: self._pool([windows[place] for place in row]), rows)
            before = self.n_tokens
            for row in rows:
                self.share_scanned = (self.n_tokens - before) / wanted
                self.on_row()
                logits = next(answers)
                self.n_tokens += sum(len(windows[place]) for place in row)
                for place, own in zip(row, logits, strict=True):
                    results[place] = self._read_scores(windows[place], own)
        return [results[place] for place in range(len(windows))]

    def _read_scores(self, window: Rendered, logits: np.ndarray) -> WindowScores:
        """Of logits of shape (tokens, 3 x codes), what the local engine reads from the heads."""
        turn, dialogue, span = np.split(logits, 3, axis=1)
        scores, spans = [], []
        for slot in window.slots:
            evidence = span[slot.first_token : slot.position]
            strongest = evidence.max(0) if len(evidence) else self._bias
            added = 0.0 if self._weight is None else self._weight * strongest
            scores.append(turn[slot.position] + added)
            spans.append(evidence)
        end = None if window.dialogue_slot is None else dialogue[window.dialogue_slot]
        slots = np.array(scores, np.float32).reshape(len(scores), self._n_codes)
        return WindowScores(slots, end, tuple(spans))

    def _pool(self, windows: Sequence[Rendered]) -> list[np.ndarray]:
        """The logits of each window's tokens, shape (tokens, 3 x codes)."""
        body = {
            "model": self._model,
            "task": "token_classify",
            "input": [list(window.ids) for window in windows],
            "use_activation": False,
            "encoding_format": "base64",
            "embed_dtype": "float32",
            "endianness": "little",
        }
        pooled = parse(Pooling, self._ask("POST", f"{self._address.root_url}/pooling", body=body))
        rows = {} if pooled is None else {row.index: row.data for row in pooled.data}
        if set(rows) != set(range(len(windows))):
            raise ConfigError("E_ENGINE", f"{self._address.url}: does not answer for each window")
        return [self._decode(rows[place], len(window)) for place, window in enumerate(windows)]

    def _decode(self, data: str, n_tokens: int) -> np.ndarray:
        """
        Raises:
            ConfigError: E_ENGINE, not the logits of so many tokens and this release's heads.
        """
        try:
            flat = np.frombuffer(base64.b64decode(data, validate=True), "<f4")
            logits = flat.reshape(n_tokens, len(HEADS) * self._n_codes)
        except (ValueError, binascii.Error):
            logits = np.full((1, 1), np.nan)
        if not np.isfinite(logits).all():
            raise ConfigError(
                "E_ENGINE",
                f"{self._address.url}: {self._model} has other outputs than this release; serve what "
                "`dialint train export` made of it",
            )
        return logits

    def _find_model(self, context_tokens: int) -> str:
        """The name of the only model, which must hold a whole window."""
        cards = parse_models(self._ask("GET", f"{self._address.url}/models"))
        if len(cards) != 1:
            raise ConfigError("E_ENGINE", f"{self._address.url}: expected a server with one model, the scan")
        most = cards[0].max_model_len
        if most is not None and most < context_tokens:
            raise ConfigError(
                "E_ENGINE", f"{self._address.url}: --max-model-len {most} is under {context_tokens} tokens"
            )
        return cards[0].id

    def _verify(self, release: Release) -> None:
        """
        Raises:
            ConfigError: E_ENGINE, the server's model is another one.
        """
        windows = Renderer(release.info.render, release.tokenizer_json()).render(PROBE)
        expected = load_engine(release, "fp32", self.row_tokens, "cpu").scan(windows)
        for own, other in zip(self.scan(windows), expected, strict=True):
            pairs = [(own.slots, other.slots), *zip(own.spans, other.spans, strict=True)]
            if any(np.abs(ours - theirs).max(initial=0.0) > ANOTHER_MODEL for ours, theirs in pairs):
                raise ConfigError(
                    "E_ENGINE",
                    f"{self._address.url}: {self._model} scores otherwise than {release.info.id}; serve what "
                    "`dialint train export` made of it",
                )
        self.n_tokens, self.share_scanned = 0, 0.0

    def _ask(self, method: str, url: str, **options: Any) -> bytes:
        """The body of a response, after as many tries as the client allows.

        Raises:
            ConfigError: E_ENGINE, the server refuses the request.
            WorldError: E_SERVER, it does not answer.
        """
        send = self._client.get if method == "GET" else self._client.post
        try:
            response: httpx2.Response = send(url, cast_to=httpx2.Response, **options)
            return response.content
        except openai.APIConnectionError as error:
            reason = connection_reason(error)
        except openai.APIStatusError as error:
            reason = f"status {error.status_code}"
            if error.status_code < 500 and error.status_code not in TRANSIENT:
                hint = ": is it vLLM with --runner pooling?" if error.status_code == 404 else ""
                raise ConfigError("E_ENGINE", f"--engine {url}: {reason}{hint}") from None
        raise WorldError(
            "E_SERVER", f"--engine {url}: {reason}: is the server running, and is this its address?"
        )


def open_pooling_engine(release: Release, url: str, row_tokens: int) -> PoolingEngine:
    """The engine that asks the server at `url`, with or without ``/v1``.

    Raises:
        ConfigError: E_OPTION, no URL; or as `PoolingEngine`, with its other errors.
    """
    try:
        address = parse_address(url.rstrip("/").removesuffix("/v1") + "/v1", has_key=False)
    except ConfigError:
        raise ConfigError(
            "E_OPTION", f"--engine {url}: expected local, or a URL such as http://127.0.0.1:8000"
        ) from None
    return PoolingEngine(release, address, row_tokens)
