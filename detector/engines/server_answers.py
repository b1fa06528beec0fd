"""The answers of model servers, validated: the one place where values of the network become records.

`parse` turns bytes that are not of the required form into None. Of the optional parts (counts of tokens,
names) each that is not of its form is None by itself; numbers are finite.
"""

from __future__ import annotations

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


class ChatChoice(ServerAnswer):
    """One answer to a chat."""

    message: ChatMessage
    finish_reason: OrNone[str] = None


class ChatCompletion(ServerAnswer):
    """The answer of ``/v1/chat/completions``."""

    choices: Annotated[list[ChatChoice], Field(min_length=1)]
    usage: OrNone[TokenUsage] = None


class ModelCard(ServerAnswer):
    """A model or adapter that a server lists. An adapter names its parent."""

    id: Printable
    root: OrNone[str] = None
    parent: OrNone[str] = None
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
