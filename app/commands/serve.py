"""``dialint serve vllm``: a judge behind vLLM's OpenAI-compatible server, on this machine; ``dialint serve
api``: `dialint score` by HTTP, and ``dialint serve key``, which makes the keys for it.

The first builds the server's command and prints it, or replaces its own process by it, so that signals and
the terminal are vLLM's. `dialint score --judge http:URL` uses the server.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.app.output import print_line, print_status
from dialint.app.ports import check_port
from dialint.app.serving.api_config import ApiConfig
from dialint.app.serving.api_keys import Scope, create_key, keys_path, revoke_key
from dialint.app.serving.vllm_command import (
    VllmConfig,
    format_command,
    probe_vllm,
    select_models,
    server_command,
    server_environment,
    server_options,
    server_variables,
)
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import KEY_VARIABLE, read_key
from dialint.detector.registry import resolve_release

DEFAULT = VllmConfig()
DEFAULT_API = ApiConfig()
DEFAULT_SCOPES: tuple[Scope, ...] = ("score", "jobs")


def vllm(
    *,
    config: Annotated[VllmConfig, Parameter(name="*")] = DEFAULT,
    print_: Annotated[bool, Parameter(name="--print")] = False,
) -> None:
    """Serve a judge by vLLM.

    Parameters
    ----------
    print_
        Show the command and its environment, and run nothing.

    Raises:
        ConfigError: what is named cannot be served, or not so.
    """
    key, note = read_key(config.key_file, "--key-file")
    if note and not print_:
        print_status(note)
    config.check_exposure(key)
    models = select_models(
        config, None if config.release is None else resolve_release("judge", config.release)
    )
    options = server_options(config, models)
    variables = server_variables(config, models)
    python = config.python.expanduser() if config.python is not None else Path(sys.executable)
    try:
        version = probe_vllm(python)
    except ConfigError:
        if not print_:
            raise
        version = ""
    command = server_command(python, version, models, options)
    if print_:
        sys.stdout.write(format_command(command, variables, config.key_file, key is not None) + "\n")
        return
    check_port(config.host, config.port, "--host")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.host, config.host)
    address = f"http://{f'[{host}]' if ':' in host else host}:{config.port}/v1"
    if not config.is_loopback:
        print_status(
            f"{config.host} can be reached from other machines without TLS, and vLLM asks for the key under "
            "/v1 only: put a proxy before it that lets nothing else through"
        )
    model = f" --judge-model {models.served_names[0]}" if len(models.served_names) > 1 else ""
    key_option = "" if key is None or os.environ.get(KEY_VARIABLE) else " --judge-key-file FILE"
    print_status(
        f"starting {version} at {address} with {', '.join(models.served_names)}; when it is ready: dialint "
        f"score LOG --judge {address}{model}{key_option}"
    )
    os.execve(command[0], command, server_environment(variables, key))


def api(*, config: ApiConfig = DEFAULT_API) -> int:
    """Serve the HTTP API: `dialint score` for other programs.

    Raises:
        ConfigError: an option is wrong, or there is no key yet.
        WorldError: the release does not load.
    """
    from dialint.app.serving.api import serve

    return serve(config)


def key(
    name: str,
    /,
    *,
    scope: Annotated[tuple[Scope, ...], Parameter(consume_multiple=True)] = DEFAULT_SCOPES,
    days: Annotated[float, Field(gt=0, le=36500)] = 365,
    revoke: bool = False,
    keys: Path | None = None,
) -> int:
    """Make a key for the HTTP API and print it, once; running servers take it at once.

    Parameters
    ----------
    name
        Whose key it is: it stands in the log and owns jobs. A key of the same name is replaced.
    scope
        What it may do.
    days
        When it expires.
    revoke
        Revoke the key instead.
    keys
        The file; without it api-keys.json in $DIALINT_HOME.
    """
    path = keys_path(keys)
    if revoke:
        revoke_key(path, name)
        return 0
    secret = create_key(path, name, scope, days)
    print_status(f"the key of {name}, for {days:g} days; it is shown this once:")
    print_line(secret)
    return 0
