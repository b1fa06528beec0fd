"""Stages that can be searched over: functions of one config, called as the command line calls them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from dialint.detector.artifacts import read_manifest
from dialint.detector.errors import ConfigError
from dialint.finetune.train.metrics_log import METRICS

Direction = Literal["maximise", "minimise"]


@dataclass(frozen=True)
class Stage:
    """A stage: where its function stands (``module:name``), its command, the manifest that makes its folder
    count, and the figure that is searched for if no other is named."""

    function: str
    command: str
    manifest: str
    objective: str
    direction: Direction

    def bound(self, options: Sequence[str]) -> Callable[[], object]:
        """The stage with its options, read by the same rules as on the command line, and not yet run.

        Raises:
            ConfigError: E_OPTION, it has no such options, or needs others.
        """
        from cyclopts import CycloptsError

        try:
            function, given, _ = self._app.parse_args(list(options), print_error=False, exit_on_error=False)
        except CycloptsError as error:
            raise ConfigError(
                "E_OPTION", f"dialint {self.command}: {str(error).partition(chr(10))[0]}"
            ) from None
        return lambda: function(*given.args, **given.kwargs)

    @cached_property
    def _app(self) -> Any:
        from cyclopts import App, Parameter

        module, _, name = self.function.partition(":")
        app = App(
            default_parameter=Parameter(negative=()),
            help_flags=(),
            version_flags=(),
            result_action="return_value",
        )
        app.default(getattr(import_module(module), name))
        return app

    def figure(self, folder: Path, path: str) -> float | None:
        """The figure of a finished run at a dotted path: in its manifest, else in the last entry of its
        metrics that has it. None where it is no finite number.

        Raises:
            ConfigError: E_OBJECTIVE, neither has it.
        """
        entries = [json.loads(line) for line in _lines(folder / METRICS)]
        for entry in (read_manifest(folder / self.manifest), *reversed(entries)):
            found = _at(entry, path.split("."))
            if isinstance(found, int | float) and not isinstance(found, bool):
                return float(found) if math.isfinite(found) else None
        raise ConfigError("E_OBJECTIVE", f"{folder}: its manifest and {METRICS} have no figure {path}")


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def _at(entry: Any, path: Sequence[str]) -> Any:
    for name in path:
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry


STAGES = {
    "scan": Stage(
        "dialint.finetune.scanner.train:scan", "train sft scan", "training.json", "dev.ap.macro", "maximise"
    ),
    "judge": Stage(
        "dialint.finetune.judge.sft:sft_judge", "train sft judge", "MANIFEST.json", "figures.best", "minimise"
    ),
}
