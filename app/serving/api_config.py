"""The options of ``dialint serve api``."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.detector.ingest.config import ReadConfig
from dialint.detector.interface import DetectorConfig
from dialint.detector.option_ranges import command_options
from dialint.detector.watchdog import WatchConfig


@command_options
class ApiConfig:
    """Options of ``dialint serve api``."""

    host: str = "127.0.0.1"
    """Address to listen on. For any but loopback put a proxy with TLS before it: keys cross here."""

    port: Annotated[int, Field(ge=1, le=65535)] = 8080
    """Port to listen on."""

    keys: Path | None = None
    """File of the keys that `dialint serve key` makes; without it api-keys.json in $DIALINT_HOME."""

    jobs: Path | None = None
    """Folder of the jobs; without it api-jobs in $DIALINT_HOME."""

    workers: Annotated[int, Field(ge=1)] = 1
    """Processes that judge, each with the model; with more than one, each in one thread."""

    max_requests: Annotated[int, Field(ge=1)] = 32
    """Requests that run or wait at once; more are refused (429)."""

    max_body_mb: Annotated[int, Field(ge=1)] = 8
    """Most megabytes of a request (413)."""

    max_job_mb: Annotated[int, Field(ge=1)] = 1000
    """Most megabytes of the log of a job (413)."""

    webhook: str | None = None
    """URL that gets a signed POST when a job is done or failed."""

    webhook_secret_file: Path | None = None
    """File with the secret that signs it, 24 bytes or more in base64; without it the environment variable
    DIALINT_WEBHOOK_SECRET."""

    read: Annotated[ReadConfig, Parameter(name="*")] = field(default_factory=ReadConfig)
    """Options of reading."""

    detector: Annotated[DetectorConfig, Parameter(name="*")] = field(default_factory=DetectorConfig)
    """Options of the detector."""

    watch: Annotated[WatchConfig, Parameter(name="*")] = field(default_factory=WatchConfig)
    """Limits of one dialogue."""
