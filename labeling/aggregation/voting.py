"""Vote counts: every vote with the same weight, shrunk, or weighted by how often its worker agrees with the
others; and a model counted among the workers.
"""

from __future__ import annotations

import numpy as np

from dialint.labeling.aggregation.answers import Answers, Floats
from dialint.labeling.aggregation.posterior import Posterior, normalise


def majority(answers: Answers) -> Posterior:
    """Shares of the votes. `skills` are the shares of a worker's answers that agree with the winner."""
    shares = normalise(answers.votes())
    return Posterior(shares, shares, skills=_agreement(answers, shares))


def wawa(answers: Answers) -> Posterior:
    """Votes weighted by each worker's agreement with the plain majority.

    Source: Appen's "worker agreement with aggregate". We add half a right answer of one to each worker,
    so that nobody's weight is 0 or rests on a single answer.
    """
    agreed = _agreement(answers, normalise(answers.votes()), smoothing=1.0)
    size = len(answers.labels)
    flat = np.bincount(
        answers.task.astype(np.int64) * size + answers.label,
        weights=agreed[answers.worker],
        minlength=len(answers.tasks) * size,
    )
    weighted = normalise(np.asarray(flat, float).reshape(-1, size))
    return Posterior(weighted, weighted, skills=agreed)


def _agreement(answers: Answers, shares: Floats, smoothing: float = 0.0) -> Floats:
    """The share of each worker's answers that have the most votes, one over their number in a tie;
    `smoothing` pseudo-answers of one half are added. NaN for a worker without any."""
    leads = shares == shares.max(axis=1, keepdims=True)
    agreed = leads[answers.task, answers.label] / leads.sum(axis=1)[answers.task]
    right = np.bincount(answers.worker, weights=agreed, minlength=len(answers.workers))
    totals = np.bincount(answers.worker, minlength=len(answers.workers)) + smoothing
    result = np.full(len(totals), np.nan)
    np.divide(right + smoothing / 2, totals, out=result, where=totals > 0)
    return result


def shrunk_votes(answers: Answers, model: Floats | None = None) -> Posterior:
    """Shares of the votes with `kappa` pseudo-answers added, distributed by the model's probabilities or,
    where they are NaN, as all answers are: the mean of a Dirichlet. `kappa` is the one under which
    each answer is likeliest after its task's others. `skills` as in `majority`.

    Source: the Dirichlet-multinomial, Mosimann 1962; leave-one-out probabilities in the place of its
    likelihood.
    """
    from scipy.optimize import minimize_scalar

    votes = answers.votes()
    prior = np.tile(normalise(votes.sum(axis=0) + 1e-9), (len(votes), 1))
    if model is not None:
        prior = np.where(np.isnan(model).any(axis=1, keepdims=True), prior, model)
    prior = normalise(np.maximum(prior, 1e-6))
    task, label = np.nonzero(votes)
    n, counts, prior_shares = votes.sum(axis=1)[task], votes[task, label], prior[task, label]

    def loss(log_kappa: float) -> float:
        kappa = float(np.exp(log_kappa))
        leave_one_out = (counts - 1.0 + kappa * prior_shares) / (n - 1.0 + kappa)
        return -float((counts * np.log(np.maximum(leave_one_out, 1e-12))).sum())

    optimum = minimize_scalar(loss, bounds=(np.log(0.05), np.log(100.0)), method="bounded")
    shares = normalise(votes + np.exp(optimum.x) * prior)
    return Posterior(shares, shares, skills=_agreement(answers, normalise(votes)))


def crowdlab(answers: Answers, model: Floats) -> Posterior:
    """The model and each worker weighted by how far their agreement is above that of the commonest label, and
    averaged; NaN in `model` leaves a task to its workers. `skills` are each worker's agreement with others.

    Source: Goh, Tkachenko and Mueller 2022 (arXiv 2210.06812), section 3. Ours: the model is not scaled by a
    temperature first, ties of the plurality fall to the model, and no weight is below 1e-3.
    """
    votes = answers.votes()
    n, size = votes.sum(axis=1), votes.shape[1]
    without_model = np.asarray(np.isnan(model).any(axis=1))
    model_shares = np.where(without_model[:, None], 0.0, model)
    consensus = (votes + 0.5 * model_shares).argmax(axis=1)
    several = np.asarray(n >= 2)
    if not several.any():
        several = np.asarray(n >= 1)
    agreeing = votes[answers.task, answers.label] - 1.0
    n_compared = np.bincount(answers.worker, weights=n[answers.task] - 1.0, minlength=len(answers.workers))
    agreed = np.bincount(answers.worker, weights=agreeing, minlength=len(answers.workers))
    likely = float((votes[np.arange(len(votes)), consensus] / np.maximum(n, 1))[several].mean())
    mean = float(agreed.sum() / max(n_compared.sum(), 1.0)) if n_compared.sum() else likely
    skills = np.full(len(n_compared), mean)
    np.divide(agreed, n_compared, out=skills, where=n_compared > 0)
    commonest = max(1e-9, 1.0 - float(np.bincount(consensus[several], minlength=size).max() / several.sum()))
    weights = np.maximum(1.0 - (1.0 - skills) / commonest, 1e-3)
    judged = several & ~without_model
    right = float((model_shares.argmax(axis=1) == consensus)[judged].mean()) if judged.any() else 0.0
    model_weight = max(1.0 - (1.0 - right) / commonest, 1e-3) * np.sqrt(n[n > 0].mean()) * ~without_model
    wrong = (1.0 - likely) / max(1, size - 1)
    table = np.bincount(
        answers.task.astype(np.int64) * size + answers.label,
        weights=weights[answers.worker] * (likely - wrong),
        minlength=len(votes) * size,
    ).reshape(-1, size)
    table += wrong * np.bincount(answers.task, weights=weights[answers.worker], minlength=len(votes))[:, None]
    shares = normalise(table + model_weight[:, None] * model_shares + 1e-12)
    return Posterior(shares, shares, skills=skills)
