"""The Optuna study of a search: its space, as written on the command line, and its trials in a database.

``learning_rate=1e-5..1e-3:log`` is a range (of integers where both ends are), ``rank=4,8,16`` a choice.
Runs no trial itself and knows no training stage.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialint.detector.artifacts import option_changes
from dialint.detector.errors import ConfigError, OutputRefused

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

_RANGE = re.compile(r"\A(?P<low>[^,]{1,80}?)\.\.(?P<high>[^,]{1,80}?)(?P<log>:log)?")


def parse_space(texts: Sequence[str]) -> dict[str, BaseDistribution]:
    """The values of each option by its name, in the order given.

    Raises:
        ConfigError: E_OPTION, one cannot be read, or stands twice.
    """
    space: dict[str, BaseDistribution] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        if not name or not values or name in space:
            raise ConfigError("E_OPTION", f"--space {text!r}: expected an option once, as in rank=4,8,16")
        space[name] = _values(text, values)
    if not space:
        raise ConfigError("E_OPTION", "--space must name an option to search over, as in rank=4,8,16")
    return space


def _values(text: str, values: str) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found = _RANGE.fullmatch(values)
    if found is None:
        return CategoricalDistribution([value.strip() for value in values.split(",")])
    low, high, log = found["low"], found["high"], found["log"] is not None
    whole = all(re.fullmatch(r"\A\s*+[+-]?\d++\s*+", end) for end in (low, high))
    try:
        if whole:
            return IntDistribution(int(low), int(high), log)
        if math.isfinite(float(high) - float(low)):
            return FloatDistribution(float(low), float(high), log)
    except ValueError:
        pass
    expected = "low..high, above 0 for :log, as in learning_rate=1e-5..1e-3:log"
    raise ConfigError("E_OPTION", f"--space {text!r}: expected {expected}")


def to_options(values: Mapping[str, Any]) -> list[str]:
    """Chosen values as a command line has them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


Values = dict[str, Any]
"""Option and value."""
FinishedTrial = tuple[int, Values, float | None]
"""Number, choice and value."""


@contextmanager
def open_study(path: Path, told: Mapping[str, Any]) -> Iterator[Study]:
    """The study of a file, made or taken up. `told` is all that makes it this search.

    Raises:
        OutputRefused: E_OTHER_JOB, it is of another job.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
    try:
        study = optuna.create_study(
            storage=storage,
            study_name="search",
            direction="maximize" if told["direction"] == "maximise" else "minimize",
            load_if_exists=True,
        )
        job = dict(json.loads(json.dumps(told)))
        if changes := option_changes(study.user_attrs.get("job", job), job):
            raise OutputRefused(
                "E_OTHER_JOB", f"{path}: another search: {', '.join(changes)}; name another folder by --out"
            )
        study.set_user_attr("job", job)
        yield study
    finally:
        storage.remove_session()
        storage.engine.dispose()


def next_trial(
    study: Study, space: Mapping[str, BaseDistribution], at_most: int, seed: int
) -> tuple[int, Values] | None:
    """The trial that was cut off, else a new one, none after `at_most`: its number and what is chosen.

    The seed of each choice follows from how many came before, so that a search that was killed chooses what
    it would have chosen.
    """
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState

    begun = 0
    for known in study.get_trials(deepcopy=False):
        whole = known.params.keys() == space.keys()
        if known.state == TrialState.RUNNING and whole:
            return known.number, dict(known.params)
        if known.state == TrialState.RUNNING:
            study.tell(known.number, state=TrialState.FAIL)  # killed while it was being chosen: never was
        begun += whole
    if begun >= at_most:
        return None
    study.sampler = TPESampler(seed=(seed * 1_000_003 + begun) % 2**32)
    trial = study.ask(dict(space))
    return trial.number, dict(trial.params)


def record_result(study: Study, number: int, value: float | None) -> None:
    """A trial has ended, without a number if it is none."""
    from optuna.trial import TrialState

    study.tell(number, value, TrialState.FAIL if value is None else TrialState.COMPLETE)


def finished_trials(study: Study, space: Mapping[str, BaseDistribution]) -> Iterator[FinishedTrial]:
    """The trials that were run, in order; none has a value if it did not end with a number."""
    for known in study.get_trials(deepcopy=False):
        if known.params.keys() == space.keys():
            yield known.number, dict(known.params), known.values[0] if known.values else None
