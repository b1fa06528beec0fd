"""What a scoring run took: seconds by stage, processor time, tokens and, where the machine tells it, energy.

Figures are those of this run; chunks that an earlier run has scored are not in them. Nothing is estimated:
what cannot be read is None.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

from dialint.detector.interface import Detector

POWERCAP = Path("/sys/class/powercap")
JOULES_PER_WH = 3600.0


class CostMeter:
    """Measures from its creation on. `scoring_s` and `tokens` are added by the run."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._powercap = powercap
        self._started_s = time.monotonic()
        self._cpu_before = _cpu_seconds()
        self._energy_before = read_energy(powercap)
        self.scoring_s = 0.0
        self.dialogues = self.tokens = 0

    def summarize(self, detector: Detector) -> dict[str, Any]:
        """The figures for the manifest. Stages are those that the detector tells of; `read_write` is all that
        is not spent in it, `other` what it spent beside its stages, such as waiting for its worker.
        Processor time includes the worker's loading, which the seconds do not. `energy_wh` is that of the
        whole machine's processors."""
        stages = detector.monitor.seconds
        total_s = time.monotonic() - self._started_s
        seconds = {
            "read_write": max(0.0, total_s - self.scoring_s),
            **stages,
            "other": max(0.0, self.scoring_s - sum(stages.values())),
        }
        energy_j = _difference(self._energy_before, read_energy(self._powercap))
        return {
            "dialogues": self.dialogues,
            "tokens_scanned": self.tokens,
            "seconds": {name: round(value, 3) for name, value in seconds.items()},
            "seconds_all": round(total_s, 3),
            "cpu_seconds": round(_cpu_seconds() - self._cpu_before + detector.monitor.cpu_seconds(), 2),
            "dialogues_per_second": round(self.dialogues / total_s, 3) if total_s else None,
            "energy_wh": None if energy_j is None else round(energy_j / JOULES_PER_WH, 4),
        }


def cost_line(cost: dict[str, Any]) -> str:
    """The figures on one line of the closing table."""
    shares = ", ".join(
        f"{name.replace('_', ' and ')} {value:,.1f}" for name, value in cost["seconds"].items()
    )
    energy = "" if cost["energy_wh"] is None else f"; {cost['energy_wh']:,.2f} Wh of the machine's processors"
    speed = cost["dialogues_per_second"] or 0
    return (
        f"{cost['seconds_all']:,.1f} s ({shares}), {cost['cpu_seconds']:,.1f} s of processor time; "
        f"{cost['tokens_scanned']:,} tokens scanned, {speed:,.3g} dialogues a second{energy}"
    )


def read_energy(powercap: Path = POWERCAP) -> dict[str, tuple[int, int]] | None:
    """The energy counter of each processor package in microjoules, with the value at which it wraps around;
    None where there is none that may be read (Intel RAPL by powercap, often for root only)."""
    try:
        counters = {
            zone.name: (
                int((zone / "energy_uj").read_text()),
                int((zone / "max_energy_range_uj").read_text()),
            )
            for zone in sorted(powercap.glob("intel-rapl:*"))
            if zone.name.count(":") == 1  # its parts have two
        }
    except (OSError, ValueError):
        return None
    return counters or None


def _difference(
    before: dict[str, tuple[int, int]] | None, after: dict[str, tuple[int, int]] | None
) -> float | None:
    """Joules between two readings, if both were possible; a counter wraps around at most once."""
    if before is None or after is None or before.keys() != after.keys():
        return None
    return sum((after[name][0] - before[name][0]) % wrap for name, (_, wrap) in before.items()) / 1e6


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
