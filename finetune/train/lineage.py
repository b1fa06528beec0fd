"""The lineage of trained weights in a manifest: base, data, options, seed, versions, commit."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from dialint.detector.artifacts import (
    MANIFEST,
    file_entry,
    package_versions,
    write_manifest,
)
from dialint.detector.engines.adapter_files import BESIDE
from dialint.detector.engines.base_models import ModelSource
from dialint.detector.environment import world_size
from dialint.finetune.train.checkpoint import describe_job
from dialint.finetune.train.options import NOT_IN_JOB

TRAINING = "training.json"
"""The manifest of a trained scanner or decoder."""
LIBRARIES = (
    "dialint",
    "torch",
    "transformers",
    "peft",
    "trl",
    "accelerate",
    "bitsandbytes",
    "opacus",
    "tokenizers",
    "deepspeed",
)
BATCHES = frozenset(("questions", "pairs"))
"""Options with the batch size of each process."""


def config_to_dict(config: Any) -> dict[str, Any]:
    """Returns a config as JSON, nested option groups flattened, paths by their names."""
    content: dict[str, Any] = {}
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            content |= config_to_dict(value)
        elif isinstance(value, Path):
            content[field.name] = value.name
        else:
            content[field.name] = list(value) if isinstance(value, tuple) else value
    return content


def job_of_config(config: Any, *inputs: Any) -> str:
    """Returns the job of a checkpoint: every option that changes a weight, and all inputs. The batch is that
    of all processes."""
    content = config_to_dict(config)
    for name in BATCHES & content.keys():
        content[name] *= world_size()
    options = {name: str(value) for name, value in content.items() if name not in NOT_IN_JOB}
    return describe_job(options, *map(str, inputs))


def git_commit() -> str | None:
    """Returns the commit of the running checkout, with ``+`` if files were changed; None outside of one."""
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"]
    try:
        described = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()


def provenance(config: Any) -> dict[str, Any]:
    """Returns the options of a training, the commit and the versions of libraries."""
    return {
        "config": config_to_dict(config),
        "commit": git_commit(),
        "versions": package_versions(*LIBRARIES),
    }


def manifest_content(
    kind: str, config: Any, source: ModelSource, data: Mapping[str, str], figures: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the manifest content of trained weights. `data` has each input and its hash."""
    return {
        "kind": kind,
        **provenance(config),
        "base": {"name": source.base.name, "revision": source.base.revision, "sha256": source.sha256},
        "data": dict(data),
        "figures": dict(figures),
    }


def seal_folder(folder: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Writes the folder's manifest: `content`, and the sha256 of every file in it."""
    files = [
        file_entry(path)
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name not in BESIDE and not path.name.startswith(".")
    ]
    whole = {**content, "files": files}
    write_manifest(folder / MANIFEST, whole)
    return whole


def render_template(path: Path, **content: Any) -> str:
    """Renders a Markdown document from a Jinja template."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(path.read_text(encoding="utf-8")).render(content)
