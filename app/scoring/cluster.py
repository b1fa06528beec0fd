"""``dialint score --cluster ray``: scores by actors of a Ray cluster.

This process reads the logs, sends whole chunks to actors, and commits their verdicts in the log's order to
the same job and journal as without a cluster. An actor loads the release once and scores in a worker with the
same limits (`WatchedDetector`), so verdicts are the same, and a dialogue that cannot be judged fails alone.
Ray restarts an actor that died and resends its chunks, up to `RETRIES` times.

Plain actors, not Ray Data: its ``map_batches`` forms batches of its own, which would change which dialogues
go through the model together, and writes its own files, which no journal covers.

With ``--judge`` this process asks the judge about scanned chunks while actors scan the next ones. The API key
is not sent through Ray, which logs what it transports.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialint.app.scoring.options import ClusterConfig
from dialint.detector.artifacts import TEMPORARY, disk_errors
from dialint.detector.environment import require_extra
from dialint.detector.errors import ConfigError, WorldError
from dialint.detector.ingest.outcomes import Loaded
from dialint.detector.interface import Detector, DetectorConfig, DetectorFacts, Monitor
from dialint.detector.isolation import Message, make_message, message_value
from dialint.detector.log_profile import EMPTY_PROFILE, LogProfile
from dialint.detector.records import Dialogue, Verdict
from dialint.detector.taxonomy import load_taxonomy
from dialint.detector.watchdog import WatchConfig, WatchedDetector

CHUNKS_AHEAD = 4
"""Chunks for each actor that are read before the first of them is committed: bounds this process's memory."""
RETRIES = 5
"""Times that Ray resends a chunk whose actor died, or is not available yet. A death counts for all pending
chunks of the actor."""
CONNECT_S = 5.0
LOAD_S = 600.0
"""Seconds for an actor to be scheduled in the cluster and load the release."""


class ClusterDetector:
    """A `Detector` that scores by actors. Chunks passed to `send_ahead` are scored while `verdicts` waits for
    the first of them.

    A context manager: the actors end with it, or when this process dies.
    """

    judge_info = None

    def __init__(
        self,
        detector: DetectorConfig,
        watch: WatchConfig,
        config: ClusterConfig,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Connects, starts actors, and waits for the first that has loaded. `report` is called with messages
        about failed dialogues and dead actors.

        Raises:
            ConfigError: ray is not installed, nothing answers at the address, or the cluster has no room.
            UserError: as `dialint.detector.pipeline.load_detector`.
            WorldError: Ray could not be started, or no actor could load in `LOAD_S`.
        """
        if detector.device.startswith("cuda:"):
            raise ConfigError(
                "E_OPTION", f"--device {detector.device}: with --cluster each actor gets a GPU: cuda"
            )
        require_extra("cluster", "--cluster ray")
        self.taxonomy = load_taxonomy(detector.taxonomy)
        self._report = report
        n_cpus, n_gpus = detector.threads or 1, int(detector.device == "cuda")
        self.monitor = Monitor()
        self._sent: deque[tuple[Any, int]] = deque()
        """Ray's references to pending chunks, in the log's order, each with the index of its actor."""
        self._stack = ExitStack()
        try:
            self._ray = connect(config, n_cpus, self._stack)
            n_actors = count_actors(self._ray.cluster_resources(), config.actors, n_cpus, n_gpus)
            actor = self._ray.remote(Scorer).options(
                num_cpus=n_cpus, num_gpus=n_gpus, max_restarts=-1, max_task_retries=RETRIES
            )
            self._actors = [actor.remote(replace(detector, threads=n_cpus), watch) for _ in range(n_actors)]
            facts = self._wait_loaded()
            self.with_log(EMPTY_PROFILE)
        except BaseException:
            self.close()
            raise
        self.release, self.fingerprint = facts.release, facts.fingerprint
        self.codes, self.info = facts.codes, facts.info

    def __enter__(self) -> ClusterDetector:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def with_log(self, log: LogProfile) -> ClusterDetector:
        """Sets the profile of the log that the following dialogues are of; returns this detector."""
        self._log = self._ray.put(log)
        return self

    def send_ahead(
        self, chunks: Iterable[list[Loaded]], n_done: int, *, all_probabilities: bool
    ) -> Iterator[list[Loaded]]:
        """Yields the chunks unchanged. All but the first `n_done`, which are scored already, are sent to
        actors some chunks before they are yielded."""
        buffer: deque[list[Loaded]] = deque()
        for number, chunk in enumerate(chunks):
            buffer.append(chunk)
            if number >= n_done:
                self._send([loaded.dialogue for loaded in chunk], all_probabilities)
            while buffer and (number < n_done or len(buffer) > CHUNKS_AHEAD * len(self._actors)):
                yield buffer.popleft()
        yield from buffer

    def verdicts(self, dialogues: Sequence[Dialogue], *, all_probabilities: bool = False) -> list[Verdict]:
        """Returns the verdicts of the oldest pending chunk; of `dialogues` if there is none.

        Raises:
            ConfigError: an actor has another release, model or library than the first one.
            WorldError: actors died of the chunk, or cannot be scheduled any more.
        """
        if not self._sent:
            self._send(list(dialogues), all_probabilities)
        try:
            fingerprint, lines, message = self._ray.get(self._sent[0][0])
        except self._ray.exceptions.RayTaskError:
            raise  # a defect, with its traceback
        except self._ray.exceptions.RayError as error:
            raise WorldError(
                "E_CLUSTER",
                f"an actor died more than {RETRIES} times of what it was sent, or has no place in the "
                f"cluster ({type(error).__name__}): see Ray's own logs; the same command resumes",
            ) from None
        self._sent.popleft()
        for line in lines:
            self._report(line)
        verdicts: list[Verdict] = message_value(message)
        if fingerprint != self.fingerprint:
            raise ConfigError(
                "E_CLUSTER",
                "an actor's release, model or libraries are not those of the others: every node of the "
                "cluster needs the same dialint, release and processor type (or --precision fp32)",
            )
        return verdicts

    def _send(self, dialogues: list[Dialogue], all_probabilities: bool) -> None:
        """Sends a chunk to the actor with the fewest pending chunks."""
        references = [reference for reference, _ in self._sent]
        done = set(
            self._ray.wait(references, num_returns=len(references), timeout=0)[0] if references else ()
        )
        load = [0] * len(self._actors)
        for reference, actor in self._sent:
            load[actor] += reference not in done
        actor = load.index(min(load))
        method = self._actors[actor].verdicts
        self._sent.append((method.remote(dialogues, all_probabilities, self._log), actor))

    def _wait_loaded(self) -> DetectorFacts:
        """Returns the facts of the first actor that has loaded; raises as `__init__`."""
        references = [actor.facts.options(max_task_retries=0).remote() for actor in self._actors]
        ready, _ = self._ray.wait(references, num_returns=1, timeout=LOAD_S)
        if not ready:
            raise WorldError("E_CLUSTER", f"no actor could start and load in {LOAD_S:.0f} s: is it full?")
        try:
            facts: DetectorFacts = message_value(self._ray.get(ready[0]))
        except self._ray.exceptions.RayError as error:
            raise WorldError(
                "E_CLUSTER",
                f"an actor died while it loaded ({type(error).__name__}): is the same dialint installed for "
                "Ray's workers on every node?",
            ) from None
        return facts


def count_actors(resources: dict[str, float], requested: int | None, n_cpus: int, n_gpus: int) -> int:
    """Returns the number of actors to start: `requested`, else the most that the cluster's resources allow.

    Raises:
        ConfigError: the cluster lacks CPUs or GPUs.
    """
    cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
    most = min(cpus // n_cpus, gpus if n_gpus else cpus)
    if most < (requested or 1):
        raise ConfigError(
            "E_CLUSTER",
            f"--actors {requested or 1}: each needs {n_cpus} CPU{' and a GPU' if n_gpus else ''}, and the "
            f"cluster has {cpus} CPUs and {gpus} GPUs",
        )
    return requested or most


def connect(config: ClusterConfig, n_cpus: int, stack: ExitStack) -> Any:
    """Connects to Ray, or starts it; returns the module. `stack` disconnects.

    Raises:
        ConfigError: nothing answers at the address.
        WorldError: Ray could not be started here.
    """
    address = os.environ.get("RAY_ADDRESS") or None
    if address not in (None, "auto", "local"):
        check_reachable(str(address))
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address in (None, "local"):
        # Ray listens on every interface: clients need this process's token. Ray reads it once, on import;
        # without one it writes its own into the home folder.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_worker_niceness", "0")  # the default, 15, yields to all other processes
        with disk_errors(TEMPORARY):  # Ray's own folder is readable by all users
            private = tempfile.TemporaryDirectory(prefix="dialint-", ignore_cleanup_errors=True)
            folder = stack.enter_context(private)
        cores = max(len(os.sched_getaffinity(0)), (config.actors or 1) * n_cpus)
        options |= {"address": "local", "num_cpus": cores, "include_dashboard": False}
        options |= {"_temp_dir": str(Path(folder) / "ray")}
    else:
        options["address"] = address
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    try:
        ray.init(**options)
    except ConnectionError:
        raise ConfigError(
            "E_CLUSTER", f"RAY_ADDRESS={address}: no running Ray was found; start it with `ray start`"
        ) from None
    except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise WorldError("E_CLUSTER", f"Ray at {address or 'this machine'}: {reason}") from None
    stack.callback(ray.shutdown)
    return ray


def check_reachable(address: str) -> None:
    """
    Raises:
        ConfigError: E_OPTION, it is not HOST:PORT; E_CLUSTER, nothing listens there. Ray itself would try for
            two minutes and end the process.
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ConfigError(
            "E_OPTION",
            f"RAY_ADDRESS={address}: expected HOST:PORT (6379, where `ray start` said nothing else) or auto; "
            "ray:// is not supported, run dialint on a machine of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        raise ConfigError("E_CLUSTER", f"RAY_ADDRESS={address}: {reason.lower()}") from None


class Scorer:
    """The class of the actors: a detector, loaded once. Returns errors as messages, as Ray wraps raised
    ones."""

    def __init__(self, config: DetectorConfig, watch: WatchConfig) -> None:
        self._config, self._watch = config, watch
        self._detector: Detector | None = None
        self._fingerprint = ""
        self._log = EMPTY_PROFILE
        self._lines: list[str] = []
        ray = sys.modules.get("ray")
        if ray is not None and ray.get_runtime_context().was_current_actor_reconstructed:
            self._lines.append("an actor died; another one judges what it had")

    def facts(self) -> Message:
        """Returns the detector's `DetectorFacts`; loads it at the first call."""
        return make_message(lambda: DetectorFacts.of(self._load()))

    def verdicts(
        self, dialogues: list[Dialogue], all_probabilities: bool, log: LogProfile
    ) -> tuple[str, list[str], Message]:
        """Returns the fingerprint of the loaded detector, its reports, and a message with the verdicts."""

        def judge() -> list[Verdict]:
            detector = self._load()
            if log != self._log:
                self._detector, self._log = detector.with_log(log), log
            return self._load().verdicts(dialogues, all_probabilities=all_probabilities)

        try:
            message = make_message(judge)
        except MemoryError:
            os._exit(1)
        lines, self._lines[:] = list(self._lines), []
        return self._fingerprint, lines, message

    def _load(self) -> Detector:
        if self._detector is None:
            if self._watch.dialogue_seconds:
                self._detector = WatchedDetector(self._config, self._watch, self._lines.append).ready()
            else:
                from dialint.detector.rollout import load_rollout

                self._detector = load_rollout(self._config)
            self._fingerprint = self._detector.fingerprint
        return self._detector
