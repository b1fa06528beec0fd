"""Measures the latency of the console under load: `python runs/studies/console_load.py [--people 20]`

Websocket clients (`console_client`) review the demo's findings, each with a mean think time of 10 s between
clicks: confirm or reject each finding, save, get the next dialogue. The latency of a click is measured at the
client, from sending it until the script has finished and its output has arrived. Each click is a rerun, as
with a browser, without rendering.

All clients are threads of one process. The CPU time of clients and server is reported as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from console_client import ConsoleClient, Run

from dialint.app.console.demo import REVIEW, SAMPLE, make_demo, score_sample
from dialint.app.console.launch import server_command, server_environment
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.verdict_files import read_verdicts
from dialint.labeling.store import accounts, authentication, dialogues, tasks
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import Account, NewTask

PASSWORD = "for the benchmark only"
START_S = 90.0
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LoadConfig:
    """Options of the measurement."""

    people: int = 20
    minutes: float = 3.0
    think_s: float = 10.0
    """Mean time before a click."""
    seed: int = 0


def fill_store(place: str, people: int, n_tasks: int) -> None:
    """Creates the demo, reviewers, and `n_tasks` tasks: copies of the sample's flagged dialogues."""
    make_demo(place)
    verdicts = {verdict.dialogue_id: verdict for verdict in read_verdicts(score_sample())}
    flagged = [each for each in load_dialogues([str(SAMPLE)]).values() if verdicts[each.id].findings]
    with Store.open(place) as store:
        for number in range(people):
            name = person_name(number)
            accounts.create(store, "admin", Account(id=name, role="reviewer"), PASSWORD + name)
            authentication.choose_password(store, name, PASSWORD + name, PASSWORD)
        for copy in range(n_tasks // len(flagged) + 1):
            names = {each.id: f"{each.id}~{copy}" for each in flagged}
            dialogues.add(store, "lead", [each.model_copy(update={"id": names[each.id]}) for each in flagged])
            copies = [
                verdicts[each.id].model_copy(update={"dialogue_id": names[each.id]}) for each in flagged
            ]
            dialogues.add_verdicts(store, "lead", copies)
            new = [NewTask(dialogue=names[each.id], priority=100.0) for each in flagged]
            tasks.add(store, "lead", REVIEW, new)


def person_name(number: int) -> str:
    """Returns the name of a reviewer."""
    return f"person{number}"


class Reviewer:
    """A simulated reviewer who sends the events of `workspace.js`."""

    def __init__(self, client: ConsoleClient, rng: random.Random) -> None:
        self.client, self.rng = client, rng
        self.seq = 0
        self.draft = ""

    def start(self) -> None:
        """Open the Review page and claim the first task."""
        self.client.go("review")
        if self.client.has("button", "Start reviewing"):
            self.client.press("Start reviewing")

    def clicks(self) -> list[tuple[str, dict[str, Any]]]:
        """Returns the clicks that complete the current item, saving included."""
        choices = [each for each in self.client.data()["choices"] if not each["suggested"]]
        decisions = [
            (
                "decide",
                {
                    "kind": "set", "id": each["id"], "code": each["code"], "severity": each["severity"],
                    "state": self.rng.choice(("kept", "rejected")),
                },
            )
            for each in choices
            if each["state"] == "open"
        ]  # fmt: skip
        return [*decisions, ("next", {"kind": "save"})]

    def click(self, event: dict[str, Any]) -> Run:
        """Sends one event."""
        data = self.client.data()
        if data["draft"] != self.draft:
            self.draft, self.seq = data["draft"], 0
        self.seq += 1
        log = {"tab": "load", "draft": self.draft, "events": [{**event, "seq": self.seq}]}
        return self.client.report({"log": log})


def run(config: LoadConfig) -> dict[str, Any]:
    """Fills a store, starts a server, and measures."""
    with tempfile.TemporaryDirectory(prefix="dialint-load-") as folder:
        place = str(Path(folder) / "store.sqlite")
        fill_store(place, config.people, int(config.people * (config.minutes * 60 / config.think_s + 3)))
        with run_server(place) as (port, pid):
            return measure(port, pid, config)


@contextmanager
def run_server(place: str) -> Iterator[tuple[int, int]]:
    """Runs a console on a store; yields its port and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen(server_command(port, "127.0.0.1"), env=server_environment(place, 7200.0))
    try:
        give_up_s = time.monotonic() + START_S
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health"):
                break
            if time.monotonic() > give_up_s:
                raise TimeoutError("the server did not start")
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def measure(port: int, pid: int, config: LoadConfig) -> dict[str, Any]:
    """Runs the simulated reviewers on a server and returns the figures."""
    times: dict[str, list[float]] = defaultdict(list)
    problems: list[str] = []
    lock, ready = threading.Lock(), threading.Barrier(config.people + 1)
    until = [0.0]

    def work(number: int) -> None:
        rng = random.Random(config.seed * 1000 + number)
        client = ConsoleClient(port)
        client.sign_in(person_name(number), PASSWORD)
        reviewer = Reviewer(client, rng)
        reviewer.start()
        ready.wait()
        try:
            while time.monotonic() < until[0]:
                title = client.data()["title"]
                for kind, event in reviewer.clicks():
                    time.sleep(rng.expovariate(1 / config.think_s))
                    done = reviewer.click(event)
                    with lock:
                        times[kind].append(done.seconds)
                if client.data()["title"] == title:
                    raise RuntimeError(f"not saved: {client.data()['notices']}")
        except (LookupError, RuntimeError, OSError, TimeoutError) as problem:
            with lock:
                problems.append(f"{person_name(number)}: {problem}")
        finally:
            client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(config.people)]
    for thread in threads:
        thread.start()
    until[0] = time.monotonic() + 1e9
    ready.wait(timeout=120)
    own_s, server_s, began_s = own_cpu_s(), cpu_s(pid), time.monotonic()
    until[0] = began_s + config.minutes * 60
    for thread in threads:
        thread.join()
    wall_s = time.monotonic() - began_s
    everything = [seconds for kind in times.values() for seconds in kind]
    return {
        "people": config.people, "think_s": config.think_s, "seconds": round(wall_s, 1),
        "milliseconds": {
            name: percentiles(values) for name, values in {"all": everything, **times}.items() if values
        },
        "clients_cpu_share": round((own_cpu_s() - own_s) / wall_s, 3),
        "server_cpu_share": round((cpu_s(pid) - server_s) / wall_s, 3),
        "load": [round(each, 2) for each in os.getloadavg()], "cores": os.cpu_count(), "problems": problems,
    }  # fmt: skip


def percentiles(seconds: list[float]) -> dict[str, float]:
    """Returns the count, and percentiles in milliseconds."""
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95]).round(1).tolist()
    return {"n": len(seconds), "p50": p50, "p95": p95}


def own_cpu_s() -> float:
    """Returns the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_s(pid: int) -> float:
    """Returns the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    default = LoadConfig()
    parser.add_argument("--people", type=int, default=default.people)
    parser.add_argument("--minutes", type=float, default=default.minutes)
    parser.add_argument("--think-s", type=float, default=default.think_s)
    parser.add_argument("--seed", type=int, default=default.seed)
    print(json.dumps(run(LoadConfig(**vars(parser.parse_args()))), indent=2))


if __name__ == "__main__":
    main()
