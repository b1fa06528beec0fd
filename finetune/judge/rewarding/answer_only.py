"""How far pairs can be told apart without the question: a bag of words of the answers alone.

What a reward model gets right beyond this it must have from the dialogue; a figure of one says nothing
without the other. Words and pairs of words of both answers, logistic regression on their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dialint.detector.statistics import bootstrap_counts, grouped_sum, percentile_interval, ratio
from dialint.eval.metrics import Floats, Truth
from dialint.finetune.judge.rewarding.pairs import Pair


def answer_only(learn: Sequence[Pair], check: Sequence[Pair], seed: int = 0) -> Floats:
    """How far ahead the preferred answer of each pair of `check` is, shape (pairs,), for somebody who learnt
    from the answers of `learn` alone."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    words = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[^\w\s]", binary=True, min_df=2)
    try:
        words.fit(text for pair in learn for text in (pair.chosen, pair.rejected))
    except ValueError:  # no word stands in two answers
        return np.zeros(len(check))

    def ahead(pairs: Sequence[Pair]) -> Any:
        return words.transform([p.chosen for p in pairs]) - words.transform([p.rejected for p in pairs])

    sign = np.random.default_rng(seed).choice((-1, 1), len(learn))
    sign[:2] = (1, -1)  # both sides, however few pairs
    if len(learn) < 2:
        return np.zeros(len(check))
    model = LogisticRegression(fit_intercept=False, max_iter=500)
    model.fit(ahead(learn).multiply(sign[:, None]).tocsr(), sign)
    return np.asarray(model.decision_function(ahead(check)), float)


def share_right(ahead: Floats, pairs: Sequence[Pair], rounds: int = 1000) -> dict[str, Any]:
    """The share of `pairs` whose preferred answer is ahead, equals a half, with its 95 % interval by source
    dialogue."""
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(pair.source, len(numbers)) for pair in pairs], np.int64)
    counts = bootstrap_counts(len(numbers), rounds)
    right = (ahead > 0) + 0.5 * (ahead == 0)
    some: Truth = np.ones(len(pairs), bool)
    low, high = percentile_interval(
        values := ratio(grouped_sum(counts, right, groups), grouped_sum(counts, some, groups))
    )
    return {"accuracy": round(float(values[0]), 4), "accuracy_95": [round(low, 4), round(high, 4)]}
