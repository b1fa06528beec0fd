"""The error classes of dialint and the exit code of each.

    DialintError
    ├── UserError            the user's: one clear line, exit 2
    │   ├── InputRefused     a log that is refused whole
    │   ├── ConfigError      an invalid option
    │   ├── ReleaseRefused   a release that must not be loaded
    │   ├── OutputRefused    an output that belongs to another job, or is damaged
    │   └── TooManyBad       over the share of bad records or failures, exit 3
    ├── WorldError           the world's (disk full, server down), exit 3
    └── DialogueFailed       one dialogue's: becomes a failed verdict, is counted

`dialint.detector.isolation` makes failed verdicts too (`E_TIMEOUT`), as a killed worker cannot raise. Any
other error of masking or of a check is a defect, which fails the dialogue it meets (`E_INTERNAL`).

A message is a text in English with places for values, both kept, so that a screen can show it in another
language (`dialint.app.console.messages.explain`). No message may contain dialogue text; `excerpt` masks
values.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_EXCERPT = 20


class Message(str):
    """A text with places ``{name}``, as `str.format` knows them, and their values: a plain text without any.

    It is the text in English, and keeps the template and the values, so that a screen can show it in another
    language. A value is a text, a number or another message, which is then translated, too. Of a message
    alone it is that message.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Message:
        if isinstance(template, Message) and not values:
            return template
        self = super().__new__(cls, template.format(**values) if values else template)
        self.template, self.values = template, values
        return self

    def without(self, part: str) -> Message:
        """Return the message without a text that occurs in its values, such as the path of a folder."""
        values = {
            name: value.without(part)
            if isinstance(value, Message)
            else str(value).replace(part, "")
            if isinstance(value, str | PurePath)
            else value
            for name, value in self.values.items()
        }
        return Message(self.template, **values)

    def as_json(self) -> dict[str, Any]:
        """Return the message for a file of JSON."""
        values = {
            name: value.as_json()
            if isinstance(value, Message)
            else value
            if isinstance(value, int | float)
            else str(value)
            for name, value in self.values.items()
        }
        return {"template": self.template, "values": values}

    @classmethod
    def from_json(cls, content: Any) -> Message:
        """Return the message that `as_json` wrote; of a text, a message without values.

        Raises:
            ValueError: It is none.
        """
        if isinstance(content, str):
            return cls(content)
        try:
            values = {
                str(name): cls.from_json(value) if isinstance(value, dict) else value
                for name, value in content["values"].items()
            }
            return cls(str(content["template"]), **values)
        except (TypeError, LookupError, AttributeError):
            raise ValueError("no message with its values") from None


class DialintError(Exception):
    """An error with a stable code (``E_...``) and one line for a person: a `text`, which `message` is in
    English."""

    exit_code = 2

    def __init__(self, code: str, message: str, /, **values: object) -> None:
        self.text = Message(message, **values)
        self.code = code
        self.message = str(self.text)
        super().__init__(f"{code}: {self.message}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled and copied without a call of `__init__`, whose arguments differ between the classes."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UserError(DialintError):
    """An error that the user can fix; the message says where and how."""


class InputRefused(UserError):
    """A log file is refused whole; nothing of it is committed."""


class ConfigError(UserError):
    """An option or a configuration file is wrong."""


class ReleaseRefused(UserError):
    """A release is damaged, unsafe or not the requested one."""


class OutputRefused(UserError):
    """An output file belongs to another job, is in use, or fails its checksum."""


class TooManyBad(UserError):
    """More bad records or failed dialogues than the job allows."""

    exit_code = 3


class WorldError(DialintError):
    """Disk, network or another program failed after bounded retries."""

    exit_code = 3


class DialogueFailed(DialintError):
    """One dialogue could not be judged; its verdict has status ``failed``."""

    exit_code = 3


@contextmanager
def native_errors(error: Callable[[str], DialintError]) -> Iterator[None]:
    """Raises what `error` makes of the name of any error of a library that reads files of others, also of a
    panic of Rust, which is no `Exception`."""
    try:
        yield
    except BaseException as raised:
        name = type(raised).__name__
        is_native = isinstance(raised, Exception) or name == "PanicException"
        if isinstance(raised, DialintError) or not is_native:
            raise
        raise error(name) from None


def describe_defect(error: BaseException) -> str:
    """Returns the type of an error and its location, without its text, which may be a dialogue's."""
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    place = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "?"
    return f"{type(error).__name__} at {place}"


def excerpt(value: object) -> str:
    """At most 20 characters of `value` with every letter and digit masked, for error messages."""
    masked = re.sub(r"\d", "9", re.sub(r"[^\W\d_]", "x", str(value)[: MAX_EXCERPT + 1]))
    masked = "".join(char if char.isprintable() else "?" for char in masked)
    return masked if len(masked) <= MAX_EXCERPT else masked[: MAX_EXCERPT - 1] + "…"


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
    """Return pydantic's message about a value. A type that is not in `_TEXTS` is not translated."""
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
