"""The environment of processes that read what others sent: dialogues, uploads, the outputs of models.

An allow-list: a list of secrets can't know the names that an operator gives to theirs.
"""

from __future__ import annotations

import os

NAMES = frozenset(
    (
        "DIALINT_DEBUG", "DIALINT_HOME", "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH",
        "LD_PRELOAD", "LOGNAME", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TEMP", "TMP", "TMPDIR",
        "TOKENIZERS_PARALLELISM", "TRANSFORMERS_VERBOSITY", "TZ", "USER", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    )
)  # fmt: skip
PREFIXES = (
    "CUDA_",
    "GOMP_",
    "HIP_",
    "KMP_",
    "LC_",
    "MALLOC_",
    "MKL_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTHON",
    "PYTORCH_",
)
"""Beginnings of names that set up the interpreter and its numerical libraries."""
SERVER_PREFIXES = ("FLASHINFER_", "HF_", "HUGGING", "NCCL_", "TORCH", "TRITON_", "VLLM_", "XDG_")
"""More of them, for a server of models, which may have to get a model from a hub."""


def child_environment(*prefixes: str) -> dict[str, str]:
    """Return the variables of this process that a child may have: those of `NAMES`, and those that begin with
    one of `PREFIXES` or of `prefixes`."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in NAMES or name.startswith((*PREFIXES, *prefixes))
    }
