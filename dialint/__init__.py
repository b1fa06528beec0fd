"""Finds the errors that support agents make.

    from dialint import Dialogue, Turn, score

    turns = (
        Turn(index=0, role="customer", text="I want my money back."),
        Turn(index=1, role="agent", text="Dear {{name}}, stop whining. That is not my problem."),
    )
    dialogue = Dialogue(id="1", turns=turns)
    for verdict in score([dialogue]):
        for finding in verdict.findings:
            print(finding.code, finding.turn, finding.probability, finding.quote)

`score` loads the embedded release at each call. To score several times, or by another release, load the
detector once:

    from dialint import DetectorConfig, load_detector

    detector = load_detector(DetectorConfig(device="cpu", threads=1))
    verdicts = score([dialogue], detector, all_probabilities=True)

Errors are raised as a `DialintError` with a `code` and a `message`.

The names below are the public interface, with `dialint.testing`, the plugin of pytest; the other modules of
`dialint` may change between versions. The names are imported at first use, so that ``import dialint`` stays
light.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dialint.detector.errors import DialintError
    from dialint.detector.interface import DetectorConfig
    from dialint.detector.pipeline import load_detector, score
    from dialint.detector.records import Dialogue, Finding, ToolCall, Turn, Verdict

    __version__: str

__all__ = [
    "DetectorConfig",
    "DialintError",
    "Dialogue",
    "Finding",
    "ToolCall",
    "Turn",
    "Verdict",
    "__version__",
    "load_detector",
    "score",
]

_MODULES = {
    "DetectorConfig": "dialint.detector.interface",
    "DialintError": "dialint.detector.errors",
    "Dialogue": "dialint.detector.records",
    "Finding": "dialint.detector.records",
    "ToolCall": "dialint.detector.records",
    "Turn": "dialint.detector.records",
    "Verdict": "dialint.detector.records",
    "load_detector": "dialint.detector.pipeline",
    "score": "dialint.detector.pipeline",
}

_CHECKOUT = Path(__file__).parents[1]
if (_CHECKOUT / "setup.py").exists():
    # The sub-packages are the folders beside this one, even if another checkout is installed.
    __path__.append(str(_CHECKOUT))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("dialint")
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'dialint' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
