"""Objects of an S3-compatible store, named ``s3://BUCKET/KEY``: what is there, their bytes, and new ones.

Credentials, region and endpoint are those of the AWS tools: environment variables (``AWS_ACCESS_KEY_ID``,
``AWS_REGION``, ``AWS_ENDPOINT_URL`` for MinIO and others), ``~/.aws``, or the machine's role. They are in
no option, manifest or message. Requests are tried again by the AWS SDK, five times at most. An object is
complete or not there, so that the last of several files vouches for the others.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from dialint.detector.environment import require_library
from dialint.detector.errors import ConfigError, Message, WorldError

SCHEME = "s3://"
ATTEMPTS = 5
CONNECT_S = 10.0
PART_BYTES = 1 << 20
REFUSALS = {
    "ACCESS_DENIED": Message("access denied"),
    "INVALID_ACCESS_KEY_ID": Message("the access key is not known there"),
    "INVALID_CLIENT_TOKEN_ID": Message("the access key is not known there"),
    "SIGNATURE_DOES_NOT_MATCH": Message("the secret key is wrong"),
    "NO_SUCH_BUCKET": Message("there is no such bucket"),
    "UNKNOWN (HTTP status 301)": Message("the bucket is in another region: AWS_REGION"),
}
"""Errors of the store that no retry changes, with the messages for users."""


def is_object(name: str) -> bool:
    """Returns whether `name` is an object or a pattern of objects."""
    return name.startswith(SCHEME)


def list_objects(pattern: str) -> list[str]:
    """The objects that match a name or a pattern, sorted. In a pattern ``*``, ``?`` and ``[...]`` do not
    match a slash; a prefix that ends with a slash matches all objects below it.

    Raises:
        ConfigError: E_S3, the store refuses it.
        WorldError: E_S3, no answer.
    """
    is_prefix = pattern.endswith("/")
    key = _key(pattern.removesuffix("/"))
    require_library("pyarrow", pattern)
    from pyarrow.fs import FileSelector, FileType

    with _errors(pattern):
        store = _open_store()
        if not is_prefix and not glob.has_magic(key):
            is_there = store.get_file_info(key).type == FileType.File
            return [pattern] if is_there else []
        parts = PurePosixPath(key).parts
        fixed = len(parts) if is_prefix else next(n for n, part in enumerate(parts) if glob.has_magic(part))
        if fixed == 0:
            raise ConfigError("E_S3", "{name}: name the bucket; only keys may be patterns", name=pattern)
        selector = FileSelector("/".join(parts[:fixed]), recursive=True, allow_not_found=True)
        paths = [info.path for info in store.get_file_info(selector) if info.type == FileType.File]
    if is_prefix:
        return sorted(f"{SCHEME}{path}" for path in paths)
    names = [PurePosixPath(path) for path in paths]
    return sorted(f"{SCHEME}{name}" for name in names if len(name.parts) == len(parts) and name.match(key))


def copy_object(name: str, file: IO[bytes]) -> None:
    """Write an object's bytes to an open file.

    Raises:
        ConfigError, WorldError: as `list_objects`; ConfigError also where there is no such object.
    """
    with _errors(name), _open_store().open_input_stream(_key(name)) as stream:
        while part := stream.read(PART_BYTES):
            file.write(part)


def store_object(path: Path, name: str) -> None:
    """Uploads a file, replacing an object of that name.

    Raises:
        ConfigError, WorldError: as `list_objects`.
    """
    with _errors(name), open(path, "rb") as file, _open_store().open_output_stream(_key(name)) as stream:
        shutil.copyfileobj(file, stream, 8 * PART_BYTES)


def _key(name: str) -> str:
    """Bucket and key, separated by a slash.

    Raises:
        ConfigError: E_S3, it has not both.
    """
    key = name.removeprefix(SCHEME)
    bucket, _, rest = key.partition("/")
    if not bucket or not rest or rest.endswith("/") or "//" in key or not key.isprintable():
        raise ConfigError("E_S3", "{name}: expected s3://BUCKET/KEY", name=name)
    return key


@cache
def _open_store() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    parts = urlsplit(endpoint)
    if endpoint and (parts.scheme not in ("http", "https") or not parts.netloc):
        raise ConfigError("E_S3", "AWS_ENDPOINT_URL: expected a URL such as http://127.0.0.1:9000")
    return S3FileSystem(
        endpoint_override=parts.netloc or None,
        scheme=parts.scheme or "https",
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None,
        connect_timeout=CONNECT_S,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


@contextmanager
def _errors(name: str) -> Iterator[None]:
    """Translates pyarrow's exceptions. Their messages hold neither keys nor bytes of an object."""
    try:
        yield
    except FileNotFoundError:
        raise ConfigError("E_S3", "{name}: there is no such object", name=name) from None
    except OSError as error:
        text = str(error)
        for sign, refusal in REFUSALS.items():
            if sign in text:
                raise ConfigError("E_S3", "{name}: {reason}", name=name, reason=refusal) from None
        reason = text.rpartition("AWS Error ")[2].strip().partition("\n")[0][:120] or type(error).__name__
        raise WorldError(
            "E_S3", "{name}: no answer of the store ({reason})", name=name, reason=reason
        ) from None
