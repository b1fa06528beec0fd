"""Requirements of commands on their environment (optional dependencies, a single process), the part of it
that child processes get, and the folder of dialint's data.

The table of extras comes from the package's own metadata, or from ``pyproject.toml`` where the package is
not installed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dialint.detector.errors import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

MODULES = {
    "argon2-cffi": "argon2", "crowd-kit": "crowdkit",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter.otlp.proto.http",
    "opentelemetry-sdk": "opentelemetry.sdk.trace", "prometheus-client": "prometheus_client",
    "scikit-learn": "sklearn",
}  # fmt: skip
"""The imported name of packages whose installed name differs."""

INSTALLED_BY_HAND = ("dev",)
"""Extras that no command needs."""


GC_THRESHOLD = 50_000
"""New objects after which commands and workers look for unused cycles: imports and word lists are many
objects, and none is unused."""


def home_folder() -> Path:
    """The folder of dialint's data: ``$DIALINT_HOME``, else ``~/.local/share/dialint``."""
    return Path(os.environ.get("DIALINT_HOME") or Path.home() / ".local/share/dialint")


@cache
def modules_by_extra() -> dict[str, tuple[str, ...]]:
    """Return each extra with the modules it brings, those of extras within it included."""
    direct: dict[str, list[str]] = {}
    inner: dict[str, set[str]] = {}
    for extra, requirement in _requirements():
        direct.setdefault(extra, [])
        if requirement.name == "dialint":
            inner.setdefault(extra, set()).update(requirement.extras)
        else:
            direct[extra].append(MODULES.get(requirement.name, requirement.name))

    def modules(extra: str) -> set[str]:
        return set(direct[extra]).union(*(modules(part) for part in inner.get(extra, ())))

    return {extra: tuple(sorted(modules(extra))) for extra in direct if extra not in INSTALLED_BY_HAND}


def missing_modules(extra: str) -> list[str]:
    """Return the modules of an extra that cannot be imported; none is imported to find out."""
    return [name for name in modules_by_extra()[extra] if not is_installed(name)]


def is_installed(module: str) -> bool:
    """Return whether a top-level module is installed; a folder of the same name does not count."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # ValueError: a module that was put into sys.modules by hand
        return False
    return spec is not None and spec.origin is not None


def extra_providing(module: str) -> str | None:
    """Return the smallest extra that brings `module` or what it is a part of."""
    root = module.partition(".")[0]
    having = [extra for extra, modules in modules_by_extra().items() if root in modules]
    return min(having, key=lambda extra: len(modules_by_extra()[extra]), default=None)


def require_extra(extra: str, what: str) -> None:
    """Refuse `what` (a command, an option) unless all of an extra is installed.

    Raises:
        ConfigError: E_EXTRA.
    """
    if lacking := missing_modules(extra):
        raise missing_extra_error(extra, what, lacking)


def require_library(module: str, what: str) -> None:
    """Refuse `what` (a command, an option) unless one library of an extra is installed.

    Raises:
        ConfigError: E_EXTRA.
    """
    if not is_installed(module):
        raise missing_extra_error(str(extra_providing(module)), what, [module])


def missing_extra_error(extra: str, what: str, lacking: list[str]) -> ConfigError:
    """Return the error that names what is missing and the command that installs it."""
    return ConfigError("E_EXTRA", f"{what} needs {', '.join(lacking)}: {install_command(extra)}")


def install_command(extra: str) -> str:
    return f"pip install 'dialint[{extra}]'"


def has_gpu() -> bool:
    """Return whether this machine has a GPU of NVIDIA's; torch is not imported to find out."""
    return Path("/dev/nvidiactl").exists()


def world_size() -> int:
    """Number of processes that ``torchrun`` or ``accelerate launch`` started; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def sharding() -> str:
    """Returns how the launcher shards the model: fsdp, deepspeed, or empty if it is whole in each process."""
    names = {"ACCELERATE_USE_FSDP": "fsdp", "ACCELERATE_USE_DEEPSPEED": "deepspeed"}
    return next((kind for name, kind in names.items() if os.environ.get(name, "").lower() == "true"), "")


def require_single_process(command: str) -> None:
    """Refuse to run `command` in several processes: each would do the whole work in the same folder.

    Raises:
        ConfigError: E_OPTION, a launcher started several.
    """
    if world_size() > 1:
        raise ConfigError(
            "E_OPTION",
            f"dialint {command} runs in one process, and a launcher started {world_size()}: start it without "
            "torchrun or accelerate launch",
        )


def _requirements() -> Iterator[tuple[str, Requirement]]:
    from packaging.requirements import Requirement

    try:
        lines = requires("dialint") or []
    except PackageNotFoundError:
        declared = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))
        optional = declared["project"]["optional-dependencies"]
        yield from ((extra, Requirement(line)) for extra, lines in optional.items() for line in lines)
        return
    for requirement in map(Requirement, lines):
        for marker in str(requirement.marker or "").split(" and "):
            if marker.startswith("extra == "):
                yield marker.removeprefix("extra == ").strip('"'), requirement


ENVIRONMENT_NAMES = frozenset(
    (
        "DIALINT_DEBUG", "DIALINT_HOME", "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH",
        "LD_PRELOAD", "LOGNAME", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TEMP", "TMP", "TMPDIR",
        "TOKENIZERS_PARALLELISM", "TRANSFORMERS_VERBOSITY", "TZ", "USER", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    )
)  # fmt: skip
"""Environment variables that a process may have which reads untrusted content: dialogues, uploads, outputs of
models. A list of secrets to withhold can't contain the names that an operator gives to theirs."""
PREFIXES = (
    "CUDA_", "GOMP_", "HIP_", "KMP_", "LC_", "MALLOC_", "MKL_", "NVIDIA_", "OMP_", "OPENBLAS_", "PYTHON",
    "PYTORCH_",
)  # fmt: skip
"""Beginnings of names that set up the interpreter and its numerical libraries."""
SERVER_PREFIXES = ("FLASHINFER_", "HF_", "HUGGING", "NCCL_", "TORCH", "TRITON_", "VLLM_", "XDG_")
"""More of them, for a server of models, which may have to get a model from a hub."""


def child_environment(*prefixes: str) -> dict[str, str]:
    """Return the variables of this process that a child may have: those of `ENVIRONMENT_NAMES`, and those
    that begin with one of `PREFIXES` or of `prefixes`."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in ENVIRONMENT_NAMES or name.startswith((*PREFIXES, *prefixes))
    }
