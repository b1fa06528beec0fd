"""Resolves a base model: a folder, a model that ships, or a name on a hub, which is downloaded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.release import EMBEDDED, Release

SMALL_DECODER = Path(__file__).parents[1] / "small_decoder"
"""Folder of the small decoder that ships, made by the recipe in ``runs/embedded.sh``; its README is its
model card."""
SHIPPED = {"small_decoder": SMALL_DECODER, "embedded": EMBEDDED}
"""What ships, by a name that means it wherever the package is installed: a decoder, and the release, whose
backbone is a base for scanners."""
FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""What is taken from a hub: nothing that could run."""
OTHER_COPIES = ("*/*", "consolidated*")
"""The same weights once more, for other programs."""


@dataclass(frozen=True)
class BaseFolder:
    """A base's folder on this machine; its name, which means the same on others; on a hub its commit."""

    folder: Path
    name: str
    revision: str | None = None


def resolve_base(named: Path | str, revision: str | None = None) -> BaseFolder:
    """The base that `named` means: a folder, one of `SHIPPED`, or a name on a hub, ``org/name`` or
    ``org/name@revision``, whose files are fetched where the hub's cache lacks them.

    Raises:
        ConfigError: E_BASE, there is none, or the hub does not give it.
        WorldError: E_WRITE, the copy cannot be written.
    """
    folder = Path(named)
    if folder.is_dir():
        shipped = (name for name, place in SHIPPED.items() if place.resolve() == folder.resolve())
        return BaseFolder(folder, next(shipped, str(named)))
    if str(named) in SHIPPED:
        return BaseFolder(SHIPPED[str(named)], str(named))
    name, _, wanted = str(named).partition("@")
    copy = _copy(name, revision or wanted or None)
    return BaseFolder(copy, name, copy.name)


def describe_base(base: BaseFolder) -> dict[str, str]:
    """Name, revision and licence of a base. A release records them in ``release.json``; the licence of any
    other base is the one that its model card declares (``license:`` in the header of README.md). Values that
    are not declared are left out."""
    if (base.folder / "release.json").exists():
        info = Release(base.folder).info
        return {
            "name": f"{info.id} (of {info.base.name})",
            "revision": info.base.revision,
            "licence": info.base.licence,
        }
    described = {"name": base.folder.name if Path(base.name).is_dir() else base.name}
    if base.revision:
        described["revision"] = base.revision
    card = base.folder / "README.md"
    header = card.read_text(errors="replace").split("---")[1:2] if card.exists() else []
    if header and (licence := re.search(r"^license: *([\w.+-]+) *$", header[0], re.MULTILINE)):
        described["licence"] = licence[1]
    return described


def _copy(name: str, revision: str | None) -> Path:
    """The folder of a hub's files, named by their commit."""
    from httpx2 import HTTPError
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    whole = f"{name}@{revision}" if revision else name
    try:
        return Path(
            snapshot_download(
                name, revision=revision, allow_patterns=list(FILES), ignore_patterns=list(OTHER_COPIES)
            )
        )
    except HFValidationError:
        reason = "there is no such folder"
    except GatedRepoError:
        reason = "the hub gives it to those only who accepted its terms; sign in with `hf auth login`"
    except (RepositoryNotFoundError, RevisionNotFoundError):
        reason = "neither a folder here nor on the hub"
    except (LocalEntryNotFoundError, HTTPError):
        reason = "there is no such folder, and no hub answers that might have it"
    except OSError as error:
        raise WorldError("E_WRITE", f"{whole}: {error.strerror or error}") from error
    raise ConfigError("E_BASE", f"{whole}: {reason}")
