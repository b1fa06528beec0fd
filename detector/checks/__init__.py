"""Exact checks: rules that detect errors without a model. Findings name their check in `reason`.

Checks read the original text, before masking, so that a placeholder of the masking is never reported as an
unfilled one. A check is added in a module here and in `dialint.detector.plugins`, by an installed package in
the group ``dialint.checks``, or by a file of the option ``--check``:

    from dialint.detector.checks import Check, CheckContext, Evidence, Hit, check

    @check(T1=Evidence(right=47, read=50), languages=("en",))
    def shouting(dialogue, context):
        for turn in dialogue.turns:
            if turn.role == "agent" and turn.text.isupper():
                yield Hit(turn.index, 0, len(turn.text), "the agent shouts")
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dialint.detector.checks.context import (
    NO_CONTEXT,
    Check,
    CheckContext,
    CheckFunction,
    Evidence,
    Hit,
    check,
)
from dialint.detector.plugins import Plugin, plugins

__all__ = [
    "NO_CONTEXT",
    "Check",
    "CheckContext",
    "CheckFunction",
    "Evidence",
    "Hit",
    "check",
    "check_plugins",
    "load_checks",
]


def check_plugins(files: Sequence[Path] = ()) -> Mapping[str, Plugin]:
    """Return where the checks come from, those in `files` included.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return plugins("dialint.checks", files, Check)


@cache
def load_checks(files: tuple[Path, ...] = ()) -> Mapping[str, Check]:
    """Return the checks by their names in reasons: dialint's own, those of installed packages and of `files`.

    Raises:
        ConfigError: E_PLUGIN.
    """
    return {name: plugin.load(Check) for name, plugin in check_plugins(files).items()}
