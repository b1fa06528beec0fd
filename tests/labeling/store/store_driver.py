"""A process of its own that works on a store until it is done, told to stop, or killed.

claim PLACE ACTOR N   claims tasks of project p until there are none; prints the longest wait and the tasks
write PLACE ACTOR N FILE   saves review after review, N a second if the store is that fast; each key and the
    time go to FILE once acknowledged
"""

import json
import sys
import time
from itertools import count

from dialint.labeling.store import annotations, leases
from dialint.labeling.store.database.transactions import Store


def claim(place: str, actor: str, n: str) -> None:
    waits, task_ids = [], []
    with Store.open(place) as store:
        leases.claim(store, actor, "warm")  # connect, compile: not what is measured
        print("ready", flush=True)
        sys.stdin.readline()
        while True:
            started_s = time.monotonic()
            lease = leases.claim(store, actor, "p", at_once=int(n) + 1)
            waits.append(time.monotonic() - started_s)
            if lease is None:
                break
            task_ids.append(lease.task)
    print(json.dumps({"longest_s": max(waits), "mean_s": sum(waits) / len(waits), "tasks": task_ids}))


def write(place: str, actor: str, per_second: str, path: str) -> None:
    last: int | None = None
    due_s = time.monotonic()
    with Store.open(place) as store, open(path, "w", buffering=1) as log:
        for number in count():
            key = f"{actor}-{number}"
            saved = annotations.review(store, actor, f"d-{actor}", key, ["C1"], expected=last)
            last = int(saved.id)
            log.write(f"{key} {time.monotonic():.3f}\n")
            due_s = max(due_s + 1 / float(per_second), time.monotonic() - 1)  # catches up with one second
            time.sleep(max(0.0, due_s - time.monotonic()))


if __name__ == "__main__":
    {"claim": claim, "write": write}[sys.argv[1]](*sys.argv[2:])
