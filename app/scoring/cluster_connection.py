"""Options of ``dialint score --cluster``, and the connection to a Ray cluster, or to one that is started on
this machine for one command. Ray itself is imported by `connect` only.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dialint.detector.artifacts import TEMPORARY, disk_errors
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.option_ranges import check_ranges

CONNECT_S = 5.0


@dataclass(frozen=True, kw_only=True)
class ClusterConfig:
    """Options of ``dialint score --cluster``."""

    cluster: Literal["ray"] | None = None
    """Judge by actors of a Ray cluster: same verdicts, same files, resumed by the same command. The cluster
    is that of RAY_ADDRESS (HOST:PORT, or auto for the one that this machine belongs to); without it Ray is
    started on this machine for this command alone."""

    actors: Annotated[int | None, Field(ge=1)] = None
    """Actors that judge, each with --threads CPUs (1 if that is 0), with --device cuda also a GPU; without it
    as many as the cluster has room for."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.cluster is None and self.actors is not None:
            raise ConfigError("E_OPTION", "--actors needs --cluster ray")


def connect(config: ClusterConfig, n_cpus: int, stack: ExitStack) -> Any:
    """The ray module, connected; `stack` undoes it.

    Raises:
        ConfigError: nothing answers at the address.
        WorldError: Ray could not be started here.
    """
    address = os.environ.get("RAY_ADDRESS") or None
    if address not in (None, "auto", "local"):
        check_reachable(str(address))
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address in (None, "local"):
        # Ray listens on every interface: only who has this process's token may talk to it. Ray reads it once,
        # when it is imported; without it, it writes one of its own into the home folder.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's own is 15: anything else goes first
        with disk_errors(
            TEMPORARY
        ):  # Ray opens its folder to everybody, so that it lies in one that is closed
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="dialint-", ignore_cleanup_errors=True)
            )
        cores = max(len(os.sched_getaffinity(0)), (config.actors or 1) * n_cpus)
        options |= {"address": "local", "num_cpus": cores, "include_dashboard": False}
        options |= {"_temp_dir": str(Path(folder) / "ray")}
    else:
        options["address"] = address
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    try:
        ray.init(**options)
    except ConnectionError:
        raise ConfigError(
            "E_CLUSTER", f"RAY_ADDRESS={address}: no running Ray was found; start it with `ray start`"
        ) from None
    except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise WorldError("E_CLUSTER", f"Ray at {address or 'this machine'}: {reason}") from None
    stack.callback(ray.shutdown)
    return ray


def check_reachable(address: str) -> None:
    """
    Raises:
        ConfigError: E_OPTION, it is not HOST:PORT; E_CLUSTER, nothing listens there. Ray itself would try for
            two minutes and end the process.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ConfigError(
            "E_OPTION",
            f"RAY_ADDRESS={address}: expected HOST:PORT (6379, where `ray start` said nothing else) or auto; "
            "ray:// is not supported, run dialint on a machine of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        raise ConfigError("E_CLUSTER", f"RAY_ADDRESS={address}: {reason.lower()}") from None
