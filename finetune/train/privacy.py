"""Differential privacy: gradients clipped owner by owner, noise, and what both promise together.

Whatever is learnt, any one owner's data change the probability of it by at most a factor of exp(epsilon), but
for a delta (Dwork et al. 2006); with and without that owner are compared. What an owner is, is the caller's
business: here each gets one gradient, whatever the number of rows in it, so no hooks into layers are needed,
and every model that has gradients will do. opacus keeps the account.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialint.detector.errors import ConfigError
from dialint.finetune.train.finite import validate_loss

if TYPE_CHECKING:
    import torch

CLIP = 1.0
"""The longest gradient of one owner."""


def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise, in multiples of `CLIP`, that keeps the promise over `steps` steps, in each of which
    every owner takes part with probability `rate`.

    Raises:
        ConfigError: E_OPTION, no noise is enough.
    """
    library: Any = import_module("opacus.accountants.utils")
    try:
        with _quiet():
            return float(
                library.get_noise_multiplier(
                    target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps,
                    accountant="prv", epsilon_tolerance=min(0.01, epsilon / 20),
                )
            )  # fmt: skip
    except ValueError:
        raise ConfigError("E_OPTION", "--private-epsilon is too low for any noise") from None


def compute_epsilon(noise: float, delta: float, rate: float, steps: int) -> float:
    """The epsilon of so much noise, an upper bound that is off by 0.01 at most.

    Source: Gopi et al. 2021, Numerical composition of differential privacy.
    """
    library: Any = import_module("opacus.accountants")
    account = library.create_accountant("prv")
    account.history = [(noise, rate, steps)]
    with _quiet():
        return float(account.get_epsilon(delta))


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore warnings of opacus about the bounds that its search starts from, and about a rate of 1."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Optimal order is the", UserWarning)
        warnings.filterwarnings("ignore", "divide by zero|invalid value", RuntimeWarning)
        yield


def sample_owners(n_owners: int, rate: float, generator: torch.Generator) -> list[int]:
    """The owners of a step, each sampled independently with probability `rate`; possibly none."""
    import torch

    sampled: list[int] = (torch.rand(n_owners, generator=generator) < rate).nonzero()[:, 0].tolist()
    return sampled


def set_noisy_gradient(
    weights: Sequence[torch.nn.Parameter],
    losses: Iterable[Callable[[], torch.Tensor]],
    noise: float,
    expected: float,
    generator: torch.Generator,
    step: int,
) -> None:
    """Set the gradients of `weights` to the sum over owners of each one's, no longer than `CLIP`, and noise,
    over the `expected` number of owners: the number that came would tell of them. `step` is what an error
    names.

    Source: Abadi et al. 2016, Deep learning with differential privacy, algorithm 1.

    Raises:
        ConfigError: E_DIVERGED, a loss or a gradient is NaN or infinite.
    """
    import torch

    sums = [torch.zeros_like(weight) for weight in weights]
    for loss_of in losses:
        loss = loss_of()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = float(torch.nn.utils.clip_grad_norm_(weights, CLIP))
        validate_loss(step, float(loss.detach()), norm)
        for weight, total in zip(weights, sums, strict=True):
            if weight.grad is not None:
                total += weight.grad
            weight.grad = None
    for weight, total in zip(weights, sums, strict=True):
        gaussian = torch.randn(total.shape, generator=generator).to(total)
        weight.grad = (total + noise * CLIP * gaussian) / expected
