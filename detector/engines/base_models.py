"""Base models and their adapters: resolved by folder or name, validated, loaded.

A base is a Hugging Face folder, a model that ships, or a name on a hub, which is downloaded. A *model
folder* is a base, or what a training stage wrote: an adapter with ``base.json``, which names the base and the
sha256 of its weights. Only safetensors are loaded, and no remote code. The manifest of an adapter is verified
before it is loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dialint.detector.artifacts import MANIFEST, fingerprint, read_object, sha256_file
from dialint.detector.engines.adapter_files import ADAPTER_CONFIG, validate_adapter, validate_manifest
from dialint.detector.engines.quantization import (
    iter_headers,
    iter_weights,
    keep_gradients,
    nf4_config,
    quantization_method,
    require_full_precision,
)
from dialint.detector.environment import home_folder
from dialint.detector.errors import ConfigError, WorldError, native_errors
from dialint.detector.release import EMBEDDED, Release
from dialint.detector.render import TRIAL

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel

BASE_FILE = "base.json"
BASE_FIELDS = {"base", "revision", "sha256"}
"""The name of an adapter's base, its revision and the sha256 of its weights: fields of `BASE_FILE`."""
SMALL_DECODER = Path(__file__).parents[2] / "finetune" / "small_decoder"
"""Folder of the small decoder that ships, made by the recipe in ``runs/embedded.sh``; its README is its
model card."""
LAYERS = {"num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers"}
"""Keys of a configuration that count layers; a layer has a tensor."""
SIZES = ("_layers", "_heads", "_size", "_dim", "_experts", "n_embd", "n_head", "n_inner")
"""Ends of the names of a configuration's sizes, each of which some tensor has as a dimension."""
SHIPPED = {"small_decoder": SMALL_DECODER, "embedded": EMBEDDED}
"""Models that ship, by names that are valid wherever the package is installed: a decoder, and the release,
whose backbone is a base for scanners."""
FETCHED = ("smollm2", "minilm")
"""Bases that `dialint base fetch` downloads to dialint's data folder."""
BACKBONE = "backbone."
"""Prefix of the names of a scanner's tensors of its base."""
INSIDE = "model."
"""Prefix of the backbone's tensors in a fetched language model."""
FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt")
"""Files that are downloaded from a hub: none that can run code."""
OTHER_COPIES = ("*/*", "consolidated*")
"""Copies of the same weights for other programs, which are not downloaded."""


@dataclass(frozen=True)
class BaseFolder:
    """A base's folder on this machine; its name, valid on other machines; its commit, if it is on a hub."""

    folder: Path
    name: str
    revision: str | None = None


def fetched_folder(name: str) -> Path:
    """The folder of a base that `dialint base fetch` downloads."""
    return home_folder() / "bases" / name


def resolve_base(base: Path | str, revision: str | None = None) -> BaseFolder:
    """The folder of `base`: a folder, one of `SHIPPED` or `FETCHED`, or a name on a hub, ``org/name`` or
    ``org/name@revision``, whose files are fetched where the hub's cache lacks them.

    Raises:
        ConfigError: E_BASE, there is none, or the hub does not give it.
        WorldError: E_WRITE, the copy cannot be written.
    """
    folder = Path(base)
    if folder.is_dir():
        shipped = (name for name, path in SHIPPED.items() if path.resolve() == folder.resolve())
        return BaseFolder(folder, next(shipped, str(base)))
    if str(base) in SHIPPED:
        return BaseFolder(SHIPPED[str(base)], str(base))
    if str(base) in FETCHED:
        if not fetched_folder(str(base)).is_dir():
            raise ConfigError("E_BASE", f"{base} is not here yet: dialint base fetch {base}")
        return BaseFolder(fetched_folder(str(base)), str(base))
    name, _, commit = str(base).partition("@")
    copy = _download(name, revision or commit or None)
    return BaseFolder(copy, name, copy.name)


def _download(name: str, revision: str | None) -> Path:
    """The folder of a hub's files in the cache, named by their commit."""
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


@dataclass(frozen=True)
class ModelSource:
    """The source of weights: the base, the sha256 of its weights, and the adapter on top of it, if any."""

    base: BaseFolder
    sha256: str
    adapter: Path | None = None

    @property
    def folder(self) -> Path:
        """The adapter's folder, or the base's without an adapter."""
        return self.adapter or self.base.folder

    def alone(self) -> ModelSource:
        return replace(self, adapter=None)


def resolve_source(model: str) -> ModelSource:
    """The source of `model`: a folder with an adapter, or a base as in `resolve_base`.

    Raises:
        ConfigError: E_BASE, there is none; E_ADAPTER, an adapter that does not belong to its base, is damaged
            or unsafe.
    """
    folder = Path(model)
    if (folder / ADAPTER_CONFIG).exists() or (folder / BASE_FILE).exists():
        return _resolve_adapter(folder)
    base = resolve_base(model)
    require_decoder(base)
    if (base.folder / MANIFEST).exists():  # all weights, written by a training stage
        validate_manifest(base.folder)
    sha256 = weights_sha256(base.folder)
    validate_sizes(base.folder)
    return ModelSource(base, sha256)


def require_decoder(base: BaseFolder) -> None:
    """Checks that a base is a causal language model by the type of its ``config.json``, if it has one.

    Raises:
        ConfigError: E_BASE, it is an encoder, or another model that writes no text.
    """
    from transformers.models.auto import modeling_auto as auto

    model_type = (read_object(base.folder / "config.json") or {}).get("model_type", "llama")
    decoders = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.keys() - auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.keys()
    if model_type not in decoders:
        raise ConfigError(
            "E_BASE",
            f"{base.name} ({model_type}): no causal language model, which judges, rewards and decoders need: "
            "small_decoder, smollm2, or a model ...ForCausalLM of a folder or a hub",
        )


def _resolve_adapter(folder: Path) -> ModelSource:
    """The source in an adapter's folder; all files are verified before any is loaded."""
    validate_manifest(folder)
    content = read_object(folder / BASE_FILE) or {}
    if not {*content} >= BASE_FIELDS:
        raise ConfigError("E_ADAPTER", f"{folder / BASE_FILE}: names no base")
    name, revision, sha256 = str(content["base"]), content["revision"], content["sha256"]
    try:
        base = resolve_base(name, None if revision is None else str(revision))
    except ConfigError as error:
        raise ConfigError("E_ADAPTER", f"{folder}: its base is not here: {error.message}") from None
    if weights_sha256(base.folder) != sha256:
        raise ConfigError("E_ADAPTER", f"{folder}: made for other weights than those in {name}")
    validate_sizes(base.folder)
    validate_adapter(folder, base.folder)
    return ModelSource(base, sha256, folder)


def weights_sha256(folder: Path) -> str:
    """One hash of all weights of a base's folder.

    Raises:
        ConfigError: E_BASE, it has none as safetensors, or an index that names other files.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ConfigError("E_BASE", f"{folder}: no *.safetensors")
    names = {file.name for file in files}
    if (index := folder / "model.safetensors.index.json").exists():
        weight_map = (read_object(index) or {}).get("weight_map")
        if not isinstance(weight_map, dict) or not names.issuperset(map(str, weight_map.values())):
            raise ConfigError("E_BASE", f"{index}: names weights that are none of the folder's safetensors")
    if len(files) == 1:
        return sha256_file(files[0])
    return fingerprint([(file.name, sha256_file(file)) for file in files])


def fetched_backbone(name: str, sha256: str, shapes: Collection[str]) -> dict[str, torch.Tensor]:
    """Loads the tensors of a fetched base that a scanner uses, in fp32.

    Raises:
        ConfigError: E_BASE, the base is not here, or its weights are others.
    """
    if name not in FETCHED:
        raise ConfigError("E_BASE", f"{name}: no base to fetch, and the scanner holds none of its weights")
    folder = resolve_base(name).folder
    if weights_sha256(folder) != sha256:
        raise ConfigError("E_BASE", f"{folder}: other weights than those the scanner was made for")
    tensors = ((f"{BACKBONE}{key.removeprefix(INSIDE)}", weight) for key, weight in iter_weights(folder))
    return {key: weight.float() for key, weight in tensors if key in shapes}


def validate_sizes(folder: Path) -> None:
    """Checks that no size in ``config.json`` is beyond what the weights can fill, before memory is allocated
    for it.

    Raises:
        ConfigError: E_BASE, one is, or the folder has no weights or no configuration that can be read.
    """
    sizes = [math.prod(part.get_shape()) for _, part in iter_headers(folder)]
    n_tensors, n_numbers = len(sizes), sum(sizes)
    config = read_object(folder / "config.json")
    if config is None:
        raise ConfigError("E_BASE", f"{folder}: no config.json that can be read")
    parts: list[Any] = [config]
    while parts:
        part = parts.pop()
        for name, value in part.items() if isinstance(part, dict) else enumerate(part):
            if isinstance(value, dict | list):
                parts.append(value)
            most = n_tensors if name in LAYERS else n_numbers if str(name).endswith(SIZES) else math.inf
            if isinstance(value, int) and value > most:
                raise ConfigError(
                    "E_BASE",
                    f"{folder}: config.json says {name} {str(value)[:20]}, and the weights are {n_tensors:,} "
                    f"tensors of {n_numbers:,} numbers",
                )


def load_folder_tokenizer(folder: Path | str) -> Any:
    """Loads the tokenizer of a folder: local files only, no code of the folder's. It has tokenized a text.

    Raises:
        ConfigError: E_BASE, there is none that works so.
    """
    from transformers import AutoTokenizer

    with native_errors(lambda name: ConfigError("E_BASE", f"{folder}: its tokenizer does not load ({name})")):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        tokenizer(TRIAL)
    return tokenizer


def load_base_model(
    source: ModelSource,
    *,
    kind: str = "CAUSAL_LM",
    device: str = "cpu",
    quantise: Literal["none", "nf4"] = "none",
    trainable: bool = False,
    full_precision: bool = False,
    bf16: bool = False,
) -> PreTrainedModel:
    """Loads the base alone, in fp32 or bf16, or with `quantise` in 4 bits with bf16 for the rest.

    `kind` is peft's task type: CAUSAL_LM, or SEQ_CLS for one number a text (a reward). A base that is stored
    in few bits is loaded by its own kernels, which is how it is served, and refused with `full_precision`, or
    with `trainable` where gradients cannot pass through these kernels.

    Raises:
        ConfigError: E_BASE, nothing there that loads, or its weights are stored in an unknown format.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    folder = source.base.folder
    loader: Any = AutoModelForSequenceClassification if kind == "SEQ_CLS" else AutoModelForCausalLM
    arguments: dict[str, Any] = {"num_labels": 1} if kind == "SEQ_CLS" else {}
    method = quantization_method(folder)
    if full_precision or (trainable and method != "bitsandbytes"):
        require_full_precision(folder)
    as_served = method is not None
    if as_served:
        arguments |= {"device_map": {"": device}}
    elif quantise == "nf4":
        arguments |= {"quantization_config": nf4_config(kind), "device_map": {"": device}}
        arguments |= {"dtype": torch.bfloat16}
    else:
        arguments |= {"dtype": torch.bfloat16 if bf16 else torch.float32}
    with native_errors(lambda name: ConfigError("E_BASE", f"{folder}: no model that loads ({name})")):
        model, info = loader.from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **arguments,
        )
    missing = [name for name in info["missing_keys"] if kind != "SEQ_CLS" or "score" not in name]
    if missing or info["mismatched_keys"]:
        raise ConfigError("E_BASE", f"{folder}: weights are missing or do not fit config.json")
    if as_served or quantise == "nf4":
        keep_gradients(model, served=as_served and not trainable)
        return model  # type: ignore[no-any-return]
    return model.to(device)  # type: ignore[no-any-return]


def load_adapter(model: Any, folder: Path, *, trainable: bool = False) -> PeftModel:
    """Adds the adapter in `folder` to `model`.

    Raises:
        ConfigError: E_ADAPTER, it does not fit its base.
    """
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, folder, is_trainable=trainable)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "E_ADAPTER", f"{folder}: does not fit its base ({type(error).__name__}); wrong rank or shape?"
        ) from None


def tokenizer_folder(source: ModelSource) -> Path:
    """The folder with the tokenizer: the adapter's if it has one, else the base's."""
    return source.folder if (source.folder / "tokenizer.json").exists() else source.base.folder
