"""Reads what a server needs to know of a judge's folder: its base, and the shape of its adapter.

Every file is verified against the manifest before a server gets the folder. Whether the tensors fit the base
is left to the server, so neither torch nor peft is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialint.detector.artifacts import MANIFEST, fingerprint, read_object
from dialint.detector.errors import ConfigError, Message

CHAT_TEMPLATE = "chat_template.jinja"
PLAIN_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Answer: ' }}{% endif %}"
)
"""Chat template of bases without one: the words alone."""
STRUCTURED = {"backend": "xgrammar", "disable_any_whitespace": True}
"""vLLM's configuration for structured answers without blanks between parts, as in training."""

LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of vLLM's option for the greatest rank of adapters."""

NO_JUDGES = {"reward": Message("reward model"), "scanner adapter": Message("scanner's adapter")}
"""Kinds of sealed folders that are no judges, with their names in messages."""


@dataclass(frozen=True, kw_only=True)
class JudgeFolder:
    """A verified folder of `dialint train sft judge` or a stage after it. `base`, its `revision` and the hash
    of its weights are those of an adapter; a judge with all its weights has none, and rank 0."""

    folder: Path
    fingerprint: str
    base: str | None = None
    revision: str | None = None
    base_sha256: str = ""
    rank: int = 0


def read_judge(folder: Path) -> JudgeFolder:
    """Reads the judge in `folder`, after verifying every byte of it.

    Raises:
        ConfigError: E_JUDGE, there is none, or it is damaged; E_ADAPTER, no server can load its adapter.
    """
    from dialint.detector.engines.adapter_files import ADAPTER_CONFIG, validate_manifest
    from dialint.detector.engines.base_models import BASE_FIELDS, BASE_FILE

    if not folder.is_dir():
        raise ConfigError(
            "E_JUDGE", "{path}: there is no such folder; `dialint train sft judge` makes one", path=folder
        )
    if (folder / "release.json").exists():
        raise ConfigError(
            "E_JUDGE", "{path}: a release of a scanner; a server of judges cannot run it", path=folder
        )
    if not (folder / MANIFEST).exists():
        raise ConfigError(
            "E_JUDGE", "{path}: no {file}, so no trained judge (`serve --base` is for bases)",
            path=folder, file=MANIFEST,
        )  # fmt: skip
    manifest = validate_manifest(folder)
    if manifest.get("kind") in NO_JUDGES:
        what = NO_JUDGES[manifest["kind"]]
        raise ConfigError("E_JUDGE", "{path}: no judge, but a {what}", path=folder, what=what)
    digest = fingerprint(manifest)
    if not (folder / ADAPTER_CONFIG).exists():
        if not (folder / "config.json").exists():
            raise ConfigError("E_JUDGE", "{path}: no config.json, so no model", path=folder)
        return JudgeFolder(folder=folder.resolve(), fingerprint=digest)
    base, options = read_object(folder / BASE_FILE), read_object(folder / ADAPTER_CONFIG)
    rank = options and options.get("r")
    if not base or not options or type(rank) is not int or rank < 1 or not {*base} >= BASE_FIELDS:
        raise ConfigError("E_ADAPTER", "{path}: names no base, or no rank", path=folder)
    if options.get("use_dora"):
        raise ConfigError(
            "E_ADAPTER", "{path}: vLLM serves no DoRA; `dialint train merge` makes a whole model of it",
            path=folder,
        )  # fmt: skip
    return JudgeFolder(
        folder=folder.resolve(),
        fingerprint=digest,
        base=str(base["base"]),
        revision=None if base["revision"] is None else str(base["revision"]),
        base_sha256=str(base["sha256"]),
        rank=rank,
    )


def resolve_model(model: str, expected_sha256: str = "") -> str:
    """The model argument of a server: the absolute path of a folder or of a model that ships, else `model`,
    which is a name on a hub.

    Raises:
        ConfigError: E_BASE, a folder without a model, or with other weights than expected.
    """
    from dialint.detector.engines.base_models import SHIPPED, weights_sha256

    folder = Path(model)
    if not folder.is_dir() and model in SHIPPED:
        folder = SHIPPED[model]
    if not folder.is_dir():
        if folder.is_absolute() or model.startswith((".", "~")) or model.count("/") != 1:
            raise ConfigError(
                "E_BASE", "{path}: there is no such folder, and it is no name on a hub", path=model
            )
        return model
    if not (folder / "config.json").exists():
        raise ConfigError("E_BASE", "{path}: no config.json, so no model", path=model)
    if expected_sha256 and weights_sha256(folder) != expected_sha256:
        raise ConfigError("E_BASE", "{path}: the adapter was made for other weights", path=model)
    return str(folder.resolve())


def context_of(model: str) -> int | None:
    """Tokens of a model's context, from its folder; None if unknown."""
    config = read_object(Path(model) / "config.json") or {}
    config = config.get("text_config") or config
    size = config.get("max_position_embeddings") if isinstance(config, dict) else None
    return size if isinstance(size, int) else None


def has_chat_template(model: str) -> bool:
    """Returns whether a model's folder has a chat template; a name on a hub is assumed to have one."""
    folder = Path(model)
    if not folder.is_dir() or (folder / CHAT_TEMPLATE).exists():
        return True
    return bool((read_object(folder / "tokenizer_config.json") or {}).get("chat_template"))
