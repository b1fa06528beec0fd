"""The training stages that can be searched, bound to options as the command line binds them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from dialint.detector.artifacts import MANIFEST, read_manifest
from dialint.detector.errors import ConfigError
from dialint.finetune.train.metrics_log import METRICS

Direction = Literal["maximise", "minimise"]


@dataclass(frozen=True)
class Stage:
    """A training stage: its function (``module:name``), its command, the manifest that completes its folder,
    and its default objective, a figure of the manifest or the metrics."""

    function: str
    command: str
    manifest: str
    objective: str
    direction: Direction

    def bind(self, options: Sequence[str]) -> Callable[[], object]:
        """A call of the stage with `options`, parsed as on the command line.

        Raises:
            ConfigError: E_OPTION, an unknown or missing option, or a value out of its range.
        """
        from cyclopts import CycloptsError

        try:
            function, arguments, _ = self._app.parse_args(
                list(options), print_error=False, exit_on_error=False
            )
        except CycloptsError as error:
            raise ConfigError(
                "E_OPTION", f"dialint {self.command}: {str(error).partition(chr(10))[0]}"
            ) from None
        return lambda: function(*arguments.args, **arguments.kwargs)

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
        """The figure of a finished run at a dotted path, in its manifest or else in the last entry of its
        metrics that has it; None if it is not finite.

        Raises:
            ConfigError: E_OBJECTIVE, neither has it.
        """
        metrics = folder / METRICS
        entries = [json.loads(line) for line in metrics.read_bytes().splitlines()] if metrics.exists() else []
        for entry in (read_manifest(folder / self.manifest), *reversed(entries)):
            value: Any = entry
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value) if math.isfinite(value) else None
        raise ConfigError("E_OBJECTIVE", f"{folder}: its manifest and {METRICS} have no figure {path}")


STAGES = {
    "scan": Stage(
        "dialint.finetune.scanner.train:scan", "train sft scan", "training.json", "dev.ap.macro", "maximise"
    ),
    "judge": Stage(
        "dialint.finetune.judge.sft:sft_judge", "train sft judge", MANIFEST, "figures.best", "minimise"
    ),
}
