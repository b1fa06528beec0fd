"""Lease time: the time that leases run by, which does not jump when the wall clock is set.

Each machine measures with the clock that counts from its boot and cannot be set; the table ``clocks`` has the
offset to add, so that all machines and restarts share one lease time. The wall clock is read once, when a
machine (or a rebooted machine) first joins. A step of the wall clock before that is compensated, because
machines that joined earlier record how far the wall clock has drifted from lease time, and the new machine
applies that correction. Not compensated is a step while no machine is active, just before a new one joins;
the fencing token still prevents wrong answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Executable, bindparam, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from dialint.labeling.store.database.schema import clocks

STEP_MS = 1000
"""Drift of the wall clock from lease time above which it is recorded."""


@dataclass(frozen=True)
class Clock:
    """A machine's clocks in milliseconds. `steady_ms` must not be settable and must be the same for all
    processes that share `machine`; with `wall_ms` none, the database's wall clock is read."""

    machine: str
    steady_ms: Callable[[], int]
    wall_ms: Callable[[], int] | None = None


def system_clock() -> Clock:
    """This machine's clock: time since boot, suspended time included, where the system has it (Linux)."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    if hasattr(time, "CLOCK_BOOTTIME") and boot.exists():
        return Clock(boot.read_text().strip(), _boot_ms)
    return Clock(f"process-{uuid4()}", lambda: time.monotonic_ns() // 1_000_000)


def _boot_ms() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


_OF_MACHINE = select(clocks.c.offset_ms, clocks.c.correction_ms).where(
    clocks.c.machine == bindparam("machine")
)
_LAST_CORRECTION = select(clocks.c.correction_ms).order_by(clocks.c.noticed_ms.desc()).limit(1)
_DATABASE_TIME = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)")


Run = Callable[[Executable, Any], Any]
"""Executes a statement that changes the table, and records the change."""


def lease_time_ms(connection: Connection, clock: Clock, run: Run) -> int:
    """Lease time now, in milliseconds; monotonic on each machine. Must be called in a write transaction, with
    its `run` method."""
    wall_ms, steady_ms = _wall_ms(connection, clock), clock.steady_ms()
    offset = connection.execute(_OF_MACHINE, {"machine": clock.machine}).one_or_none()
    if offset is None:
        return _join(connection, clock, run, wall_ms, steady_ms)
    now_ms = int(offset.offset_ms) + steady_ms
    if abs(now_ms - wall_ms - offset.correction_ms) > STEP_MS:
        correction = {"correction_ms": now_ms - wall_ms, "noticed_ms": now_ms}
        run(update(clocks).where(clocks.c.machine == clock.machine).values(correction), None)
    return now_ms


def _wall_ms(connection: Connection, clock: Clock) -> int:
    if clock.wall_ms is not None:
        return clock.wall_ms()
    if connection.dialect.name == "postgresql":
        return int(connection.execute(_DATABASE_TIME).scalar_one())
    return time.time_ns() // 1_000_000


def _join(connection: Connection, clock: Clock, run: Run, wall_ms: int, steady_ms: int) -> int:
    """Insert the offset of a machine that is new or was rebooted; return lease time."""
    correction_ms = connection.execute(_LAST_CORRECTION).scalar() or 0
    now_ms = wall_ms + correction_ms
    row = {
        "machine": clock.machine,
        "offset_ms": now_ms - steady_ms,
        "correction_ms": correction_ms,
        "noticed_ms": now_ms,
    }
    try:
        with connection.begin_nested():
            run(insert(clocks).values(row), None)
    except IntegrityError:  # another process of this machine came first: its offset holds
        offset = connection.execute(_OF_MACHINE, {"machine": clock.machine}).one()
        return int(offset.offset_ms) + steady_ms
    return now_ms
