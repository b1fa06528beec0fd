"""What is wrong with a value that a record refuses, as a message that a screen can translate."""

from __future__ import annotations

from pydantic_core import ErrorDetails

from dialint.detector.errors import Message


class InvalidValue(ValueError):
    """Raised by the validator of a record: a `text`, as of a `DialintError`."""

    def __init__(self, template: str, /, **values: object) -> None:
        self.text = Message(template, **values)
        super().__init__(str(self.text))


_TEXTS = {
    "missing": Message("Field required"),
    "extra_forbidden": Message("Extra inputs are not permitted"),
    "string_type": Message("Input should be a valid string"),
    "string_too_short": Message("String should have at least {min_length} character{plural}"),
    "string_too_long": Message("String should have at most {max_length} character{plural}"),
    "string_pattern_mismatch": Message("String should match pattern '{pattern}'"),
    "too_short": Message(
        "{field_type} should have at least {min_length} item{plural} after validation, not {actual_length}"
    ),
    "too_long": Message(
        "{field_type} should have at most {max_length} item{plural} after validation, not {actual_length}"
    ),
    "greater_than": Message("Input should be greater than {gt}"),
    "greater_than_equal": Message("Input should be greater than or equal to {ge}"),
    "less_than": Message("Input should be less than {lt}"),
    "less_than_equal": Message("Input should be less than or equal to {le}"),
    "literal_error": Message("Input should be {expected}"),
    "int_type": Message("Input should be a valid integer"),
    "int_parsing": Message("Input should be a valid integer, unable to parse string as an integer"),
    "int_from_float": Message("Input should be a valid integer, got a number with a fractional part"),
    "float_type": Message("Input should be a valid number"),
    "float_parsing": Message("Input should be a valid number, unable to parse string as a number"),
    "finite_number": Message("Input should be a finite number"),
    "bool_parsing": Message("Input should be a valid boolean, unable to interpret input"),
    "dict_type": Message("Input should be a valid dictionary"),
    "tuple_type": Message("Input should be a valid tuple"),
}
"""By pydantic's type of error, in pydantic's own words."""


def invalid_value(error: ErrorDetails) -> Message:
    """What pydantic says of a value. A type that is not in `_TEXTS` is not translated."""
    context = error.get("ctx", {})
    if isinstance(refused := context.get("error"), InvalidValue):
        return refused.text
    message = Message(error["msg"].removeprefix("Value error, "))
    if error["type"] not in _TEXTS:
        return message
    plural = "" if 1 in (context.get("min_length"), context.get("max_length")) else "s"
    try:
        translatable = Message(_TEXTS[error["type"]].template, **context, plural=plural)
    except KeyError:
        return message
    return translatable if translatable == message else message
