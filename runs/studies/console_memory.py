"""Does the server stay as large over a day? ``python runs/studies/console_memory.py [--minutes 120]``

Some reviewers work without a break through websocket clients (`console_client`), with short think times, so
that hours of clicks go by faster; one lead walks through all pages, and now and then everybody reloads, signs
out and in. The server's resident memory is sampled every few seconds; the slope is fitted by least squares
after a warm-up, in MB an hour. Prints JSON, and writes all samples to ``--out``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from console_client import ConsoleClient
from console_load import PASSWORD, Reviewer, fill_store, person_name, run_server

from dialint.app.console.main import PAGES
from dialint.labeling.store import accounts, passwords
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account

LEAD = "walker"
RELOAD_EVERY = 40
"""Items after which a person reloads the page, that is, opens another connection."""


@dataclass(frozen=True)
class MemoryConfig:
    """What is measured."""

    minutes: float = 120.0
    people: int = 4
    think_s: float = 1.0
    sample_s: float = 5.0
    warmup_share: float = 0.25
    """The first part of the samples, while caches fill, is left out of the slope."""
    out: Path | None = None


@dataclass
class Progress:
    """Counts of all threads."""

    clicks: int = 0
    pages: int = 0
    reloads: int = 0
    problems: list[str] = field(default_factory=list)


def run(config: MemoryConfig) -> dict[str, Any]:
    """Fill a store, start a server, let people work, and give the figures."""
    with tempfile.TemporaryDirectory(prefix="dialint-memory-") as folder:
        place = str(Path(folder) / "store.sqlite")
        fill_store(place, config.people, int(config.people * config.minutes * 60 / config.think_s / 2) + 100)
        with Store.open(place) as store:
            accounts.create(store, "admin", Account(id=LEAD, role="lead"), PASSWORD + LEAD)
            passwords.choose_password(store, LEAD, PASSWORD + LEAD, PASSWORD)
        with run_server(place) as (port, pid):
            return measure(port, pid, config)


def measure(port: int, pid: int, config: MemoryConfig) -> dict[str, Any]:
    """Sample the server's memory while people work."""
    stop, progress = threading.Event(), Progress()
    threads = [
        threading.Thread(target=review, args=(port, number, config, stop, progress))
        for number in range(config.people)
    ]
    threads.append(threading.Thread(target=walk, args=(port, config, stop, progress)))
    for thread in threads:
        thread.start()
    began_s, samples = time.monotonic(), []
    while time.monotonic() - began_s < config.minutes * 60 and any(each.is_alive() for each in threads):
        samples.append((time.monotonic() - began_s, resident_mb(pid)))
        time.sleep(config.sample_s)
    ran_min = (time.monotonic() - began_s) / 60
    stop.set()
    for thread in threads:
        thread.join()
    if config.out is not None:
        config.out.write_text(json.dumps(samples))
    hours, megabytes = np.array(samples).T / np.array([[3600.0], [1.0]])
    is_late = hours >= hours[-1] * config.warmup_share
    slope, _ = np.polyfit(hours[is_late], megabytes[is_late], 1)
    late = megabytes[is_late]
    return {
        "asked_minutes": config.minutes, "ran_minutes": round(ran_min, 1), "people": config.people,
        "think_s": config.think_s, "clicks": progress.clicks, "pages": progress.pages,
        "reloads": progress.reloads, "samples": len(samples), "first_mb": round(float(megabytes[0]), 1),
        "after_warmup_mb": round(float(late[0]), 1), "last_mb": round(float(late[-1]), 1),
        "highest_mb": round(float(megabytes.max()), 1), "slope_mb_per_hour": round(float(slope), 2),
        "slope_kb_per_1000_clicks": round(
            float(slope) * 1024 * ran_min / 60 / max(1, progress.clicks + progress.pages) * 1000, 1
        ),
        "load": [round(each, 2) for each in os.getloadavg()], "problems": progress.problems[:10],
    }  # fmt: skip


def review(port: int, number: int, config: MemoryConfig, stop: threading.Event, progress: Progress) -> None:
    """A reviewer who works until told to stop; cut off, or signed out, they come again."""
    chance, items = random.Random(number), 0
    while not stop.is_set():
        client = ConsoleClient(port)
        try:
            client.sign_in(person_name(number), PASSWORD)
            reviewer = Reviewer(client, chance)
            reviewer.start()
            items = 0
            while items < RELOAD_EVERY and not stop.is_set():
                for _kind, event in reviewer.clicks():
                    stop.wait(chance.expovariate(1 / config.think_s))
                    reviewer.click(event)
                    progress.clicks += 1
                items += 1
            client.press("Sign out")
            progress.reloads += 1
        except (LookupError, OSError, TimeoutError) as problem:
            progress.problems.append(f"{person_name(number)}: {type(problem).__name__} {problem}")
            stop.wait(5.0)
        finally:
            client.close()


def walk(port: int, config: MemoryConfig, stop: threading.Event, progress: Progress) -> None:
    """A lead who looks at one page after the other."""
    addresses = [title.lower().replace(" ", "-") for title, entry in PAGES.items() if not entry.hidden]
    while not stop.is_set():
        client = ConsoleClient(port)
        try:
            client.sign_in(LEAD, PASSWORD)
            for address in (each for _ in range(3) for each in addresses if each in client.pages):
                if stop.wait(2 * config.think_s):
                    break
                client.go(address)
                progress.pages += 1
            client.press("Sign out")
        except (LookupError, OSError, TimeoutError) as problem:
            progress.problems.append(f"{LEAD}: {type(problem).__name__} {problem}")
            stop.wait(5.0)
        finally:
            client.close()


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    line = next(each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in each)
    return int(line.split()[1]) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = MemoryConfig()
    parser.add_argument("--minutes", type=float, default=default.minutes)
    parser.add_argument("--people", type=int, default=default.people)
    parser.add_argument("--think-s", type=float, default=default.think_s)
    parser.add_argument("--out", type=Path)
    print(json.dumps(run(MemoryConfig(**vars(parser.parse_args()))), indent=2))


if __name__ == "__main__":
    main()
