"""The answers of model servers, validated: the one place where values of the network become records.

`parse` turns bytes that are not of the required form into None. Of the optional parts (log-probabilities,
counts of tokens, names) each that is not of its form is None by itself; numbers are finite. `bare_json` and
`fits_schema` are for what the model itself wrote.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WrapValidator
from pydantic_core import from_json

MAX_COUNT = 10**9


def _validate_or_none(value: Any, handler: Any) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


def _validate_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("characters that a terminal obeys")
    return text


T = TypeVar("T")
OrNone = Annotated[T | None, WrapValidator(_validate_or_none)]
Printable = Annotated[str, AfterValidator(_validate_printable)]
Count = OrNone[Annotated[int, Field(ge=0, lt=MAX_COUNT)]]
Size = OrNone[Annotated[int, Field(gt=0, lt=MAX_COUNT)]]


class ServerAnswer(BaseModel):
    """A part of an answer; unknown fields are ignored, types are not coerced."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class Alternative(ServerAnswer):
    """A token that might have stood in a place; part of a letter has bytes and no text."""

    token: OrNone[str] = None
    raw: OrNone[list[Annotated[int, Field(ge=0, lt=256)]]] = Field(default=None, validation_alias="bytes")
    logprob: OrNone[float] = None

    @property
    def spelling(self) -> bytes:
        """The token's bytes."""
        return (self.token or "").encode("utf-8", "replace") if self.raw is None else bytes(self.raw)


class AnswerToken(Alternative):
    """A token of an answer, with what might have stood in its place."""

    top_logprobs: OrNone[list[OrNone[Alternative]]] = None


class TokenDetails(ServerAnswer):
    """Which of the prompt's tokens were in the cache."""

    cached_tokens: Count = None


class TokenUsage(ServerAnswer):
    """What a request took, in tokens."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: OrNone[TokenDetails] = None

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that were not computed."""
        return (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0


class TextPart(ServerAnswer):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(ServerAnswer):
    """What the model wrote. A refusal or a thought alone has no content."""

    content: OrNone[str | list[TextPart]] = None

    @property
    def text(self) -> str:
        """The content, its parts joined."""
        content = self.content or ""
        return content if isinstance(content, str) else "".join(part.text for part in content)


class ChatLogprobs(ServerAnswer):
    """The answer's tokens."""

    content: OrNone[list[AnswerToken]] = None


class ChatChoice(ServerAnswer):
    """One answer to a chat."""

    message: ChatMessage
    logprobs: OrNone[ChatLogprobs] = None
    finish_reason: OrNone[str] = None


class ChatCompletion(ServerAnswer):
    """The answer of ``/v1/chat/completions``."""

    choices: Annotated[list[ChatChoice], Field(min_length=1)]
    usage: OrNone[TokenUsage] = None


class TextLogprobs(ServerAnswer):
    """Log-probabilities of tokens by their names, for each place."""

    top_logprobs: list[dict[str, OrNone[float]]]


class TextChoice(ServerAnswer):
    """One answer to a prompt of token ids."""

    text: OrNone[str] = None
    logprobs: OrNone[TextLogprobs] = None
    finish_reason: OrNone[str] = None


class TextCompletion(ServerAnswer):
    """The answer of ``/v1/completions``."""

    choices: Annotated[list[TextChoice], Field(min_length=1)]
    usage: OrNone[TokenUsage] = None


class Tokenized(ServerAnswer):
    """The answer of vLLM's ``/tokenize``."""

    tokens: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    max_model_len: Size = None


class ModelCard(ServerAnswer):
    """A model or adapter that a server lists. An adapter names its parent."""

    id: Printable
    root: OrNone[str] = None
    parent: OrNone[str] = None
    owned_by: OrNone[str] = None
    max_model_len: Size = None


class ModelList(ServerAnswer):
    """The answer of ``/v1/models``."""

    data: list[OrNone[ModelCard]]

    @property
    def cards(self) -> list[ModelCard]:
        """The models, in the server's order."""
        return [card for card in self.data if card is not None]


A = TypeVar("A", bound=ServerAnswer)


def parse(form: type[A], body: bytes) -> A | None:
    """The answer in a body; None if it is not of this form."""
    try:
        return form.model_validate_json(body)
    except ValidationError:
        return None


def parse_models(body: bytes) -> list[ModelCard]:
    """The models that a server lists; none if the body is no list."""
    listed = parse(ModelList, body)
    return [] if listed is None else listed.cards


def parse_error(body: bytes) -> str:
    """A server's own words for an error, empty if there are none. They may quote the prompt: never show them
    for a dialogue."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError:
        return ""
    if not isinstance(content, dict):
        return ""
    error = content.get("error", content)
    if not isinstance(error, dict):
        return str(error)
    return " ".join(str(error[name]) for name in ("message", "param", "code", "detail") if error.get(name))


FENCE = "```"
THOUGHTS_END = "</think>"


def bare_json(text: str) -> str:
    """`text` without what models put around an answer: thoughts and words before it, one fence of Markdown
    around it, words behind that."""
    text = text.rpartition(THOUGHTS_END)[2].strip()
    if not text.startswith("{") and text.count(FENCE) == 2:
        text = text.split(FENCE)[1].removeprefix("json").removeprefix("JSON").strip()
    return text


def fits_schema(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether `text` is one JSON value of `schema`, of which the keywords are read that judges' schemas use.

    Lengths of texts are not: they bound generation. Of an ``enum`` of numbers, any number between them is
    one, as servers without constrained decoding round as they like. A key that stands twice fits no schema.
    """
    try:
        from_json(text, allow_inf_nan=False)  # in words that can be written, and not too deep
        value = json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        return False
    return _fits(value, schema)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    choices = schema.get("enum")
    if choices is not None:
        if all(_is_number(choice) for choice in choices):
            return _is_number(value) and min(choices) <= value <= max(choices)
        return any(type(value) is type(choice) and value == choice for choice in choices)
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    if schema.get("const") is not None:
        return bool(value == schema["const"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return any(_fits(value, {**schema, "type": each}) for each in kind)
    if kind == "object":
        properties = schema.get("properties", {})
        return (
            isinstance(value, dict)
            and all(name in value for name in schema.get("required", ()))
            and (schema.get("additionalProperties", True) is not False or set(value) <= set(properties))
            and all(_fits(value[name], properties[name]) for name in value if name in properties)
        )
    if kind == "array":
        most = schema.get("maxItems", len(value) if isinstance(value, list) else 0)
        return (
            isinstance(value, list)
            and schema.get("minItems", 0) <= len(value) <= most
            and all(_fits(each, schema.get("items", {})) for each in value)
        )
    if kind in ("number", "integer"):
        whole = _is_number(value) and (kind == "number" or value % 1 == 0)
        return whole and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    kinds: dict[str, type | tuple[type, ...]] = {"string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds.get(str(kind), object))


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key stands twice")
    return values
