"""Many codes asked of one task: a problem a code, with the workers' tables apart or shared.

Apart, a worker may be good at one code and bad at another, and every code must learn it from its own
answers. Shared, all codes teach what a worker is like; right when the labels mean the same everywhere
(yes and no) and each code alone has few answers a worker.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dialint.detector.errors import ConfigError
from dialint.labeling.truth.answers import Answers, Floats
from dialint.labeling.truth.methods import aggregated
from dialint.labeling.truth.posterior import Posterior


def posteriors(
    tables: Mapping[str, Answers],
    method: str,
    models: Mapping[str, Floats] | None = None,
    shared: bool = False,
    golds: Mapping[str, NDArray[np.int64]] | None = None,
) -> dict[str, Posterior]:
    """The posterior of each code; with `shared`, from one fit with one table a worker. `golds` has the known
    label of each task or -1, shape (tasks,), for the joint method.

    Raises:
        ConfigError: `shared`, and the codes do not have the same labels.
    """
    if not shared or len(tables) < 2:
        return {
            code: aggregated(table, method, (models or {}).get(code), (golds or {}).get(code))
            for code, table in tables.items()
        }
    if len({table.labels for table in tables.values()}) > 1:
        raise ConfigError("E_OPTION", "--share-workers needs the same labels for every code")
    stacked = None if models is None else np.concatenate([models[code] for code in tables])
    gold = None if golds is None else np.concatenate([golds[code] for code in tables])
    whole = aggregated(joined(tables), method, stacked, gold)
    ends = np.cumsum([len(table.tasks) for table in tables.values()])
    starts = ends - [len(table.tasks) for table in tables.values()]
    return {code: whole.part(slice(a, b)) for code, a, b in zip(tables, starts, ends, strict=True)}


def joined(tables: Mapping[str, Answers]) -> Answers:
    """All codes as one table; a task is (code, task), and workers, who are the same in all, stay."""
    parts = list(tables.values())
    shift = np.cumsum([0, *(len(part.tasks) for part in parts[:-1])]).astype(np.int32)
    return Answers(
        np.concatenate([part.task + step for part, step in zip(parts, shift, strict=True)]),
        np.concatenate([part.worker for part in parts]),
        np.concatenate([part.label for part in parts]),
        tuple(f"{code}\x1f{task}" for code, part in tables.items() for task in part.tasks),
        parts[0].workers,
        parts[0].labels,
    )
