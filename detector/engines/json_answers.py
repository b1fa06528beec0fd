"""What a language model wrote, as the JSON object that was asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

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
