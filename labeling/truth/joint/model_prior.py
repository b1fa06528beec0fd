"""The model's opinion as odds before anybody is asked.

A calibrated probability is a posterior already: it goes in as prior odds, raised to a *trust* that is
learnt from the answers, with an offset for each label so that the model's base rates become this crowd's.
Both begin with caution, as trust that is learnt from a handful of tasks feeds on itself: half the model's
word, and its own base rates as if `OWN_ITEMS` tasks bore them out. A model that says nothing about these
tasks gets a trust towards 0 and does little harm. The other way, binning
the probability and giving the model a confusion table like a worker, loses what lies within a bin and
needs many tasks to learn what a calibrated model has told already.

What it assumes: given the truth, the model errs apart from the people. A model taught by these very
people does not, and its trust is then too high; the ceiling is there for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeling.truth.answers import Floats
from labeling.truth.joint.items import Items
from labeling.truth.posterior import softmax

FLOOR = 0.01
"""A model is never surer than this: what it is surest of is what it has not seen."""
TRUST = 0.5
"""Trust before any answer."""
MAX_TRUST = 4.0
"""A model that tells shares of opinion, not of truth, deserves more than 1."""
RIDGE = 10.0
"""How firmly trust is held near `TRUST`."""
OWN_ITEMS = 3.0
"""Tasks that stand behind the model's own base rates."""
STEPS = 3
RAKINGS = 5


@dataclass(frozen=True)
class ModelPrior:
    """`logs`, shape (tasks, labels): the model's log probabilities, 0 throughout where it is silent."""

    logs: Floats
    trust: float
    offsets: Floats

    def component_logs(self, items: Items) -> Floats:
        """The logarithm of each task's prior, shape (tasks, components), rows sum to 1 as probabilities."""
        tilt = self.trust * self.logs + self.offsets * self.speaks[:, None]
        raw = np.log(items.weights) + tilt[:, items.truth]
        return np.asarray(raw - np.logaddexp.reduce(raw, axis=1, keepdims=True), float)

    @property
    def speaks(self) -> Floats:
        """1 where the model said something, shape (tasks,)."""
        return np.asarray((self.logs != 0).any(axis=1), float)


def model_prior(probabilities: Floats) -> ModelPrior:
    """The prior of `probabilities`, shape (tasks, labels), before any answer; rows of NaN are tasks about
    which the model is silent."""
    silent = np.asarray(np.isnan(probabilities).any(axis=1))
    logs = np.log(np.clip(np.where(silent[:, None], 1.0, probabilities), FLOOR, None))
    logs -= logs.mean(axis=1, keepdims=True)
    logs[silent] = 0.0
    return ModelPrior(logs, TRUST, np.zeros(probabilities.shape[1]))


def retrusted(prior: ModelPrior, items: Items, truth: Floats) -> ModelPrior:
    """Trust after a few Newton steps towards the `truth`, shape (tasks, labels), and offsets at which
    the prior holds as many tasks of each label as the items do, or the model where tasks are few."""
    spoken = prior.speaks > 0
    if not spoken.any():
        return prior
    logs, wanted = prior.logs[spoken], truth[spoken]
    base = items.weights @ items.indicator
    own = softmax(logs)[0].mean(axis=0)
    share = (len(logs) * base + OWN_ITEMS * own) / (len(logs) + OWN_ITEMS)
    base, share = np.log(np.maximum(base, 1e-12)), np.log(np.maximum(share, 1e-12))
    trust, offsets = prior.trust, prior.offsets
    for _ in range(STEPS):
        offsets = _raked(base + trust * logs, offsets, share)
        chance = softmax(base + trust * logs + offsets)[0]
        spread = chance * (logs - (chance * logs).sum(axis=1, keepdims=True))
        slope = ((wanted - chance) * logs).sum() - RIDGE * (trust - TRUST)
        trust = float(np.clip(trust + slope / ((spread * logs).sum() + RIDGE), 0.0, MAX_TRUST))
    return ModelPrior(prior.logs, trust, _raked(base + trust * logs, offsets, share))


def _raked(logs: Floats, offsets: Floats, share: Floats) -> Floats:
    """Offsets at which the mean prior is `share` (logarithms): the items' matter, so that it cannot drift
    with the model. Source: iterative proportional fitting, Deming and Stephan 1940."""
    for _ in range(RAKINGS):
        mean = softmax(logs + offsets)[0].mean(axis=0)
        offsets = offsets + share - np.log(np.maximum(mean, 1e-12))
    return np.asarray(offsets - offsets.mean(), float)
