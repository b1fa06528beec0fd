"""A study of federated training over Flower: three parties that may not pool their dialogues train one LoRA.

    python -m venv flower && flower/bin/pip install 'dialint[train]' 'flwr[simulation]==1.42.0'
    flower/bin/python runs/federated.py --examples a b c --codes L1 L2 T1

Needs its own environment, as flwr pins other versions. Each party is a Flower client in a process, reads only
its folder of ``dialint data inject`` and sends adapters and heads masked by SecAgg+: the server learns only
their mean. Baselines: training on the pooled data with as many tokens, and each party alone. All are
evaluated on the dev sets of all parties, to which a server would have no access. The factors of LoRA are
averaged separately.

Source: McMahan et al. 2017, FedAvg; Bell et al. 2020, SecAgg+.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")  # read when flwr is imported

import numpy as np
import torch
from cyclopts import Parameter
from flwr.client import ClientApp, NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.common import Context, ndarrays_to_parameters
from flwr.server import LegacyContext, ServerApp, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.simulation import run_simulation

from dialint.detector.engines.base_models import resolve_base
from dialint.detector.option_ranges import command_options, run_script
from dialint.finetune.scanner.backbone import build_network, load_base
from dialint.finetune.scanner.options import ScanConfig
from dialint.finetune.scanner.train import load_data
from dialint.finetune.scanner.trainer import ScanTrainer, TrainData, evaluate_scanner, scan_loss
from dialint.finetune.train.adapters import AdapterOptions
from dialint.finetune.train.options import RunOptions

DEV = 30
"""Windows of each dev set for the evaluation."""


@command_options
class FederatedOptions:
    """Options of the study."""

    examples: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)]
    """The folder of each party, at least three."""
    codes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)]
    """Codes to train: parties must agree on them."""
    rounds: int = 3
    """Rounds of training and averaging."""
    tokens: int = 10_000
    """Tokens of each party in a round."""


@dataclass
class Party(NumPyClient):  # type: ignore[misc]
    """A scanner with adapters, and the dialogues of one party, or of several for the baselines."""

    options: FederatedOptions
    folders: tuple[Path, ...]

    def __post_init__(self) -> None:
        torch.set_num_threads(1)
        self.config = ScanConfig(
            examples=self.folders[0], base=resolve_base("small_decoder").folder, out=Path(os.devnull),
            epochs=1000, row_tokens=1024, prefix_share=0.0, learning_rate=1e-3, adapters=AdapterOptions(),
            running=RunOptions(precision="fp32", device="cpu"),
        )  # fmt: skip
        base, codes = load_base(self.config), list(self.options.codes)
        self.model = build_network(self.config, base, len(codes), "cpu")
        loaded = [load_data(replace(self.config, examples=folder), base, codes) for folder in self.folders]
        dev = [target for data in loaded for target in data.evaluation["dev"][:DEV]]
        self.data = TrainData([target for data in loaded for target in data.train], {"dev": dev}, codes, "")
        self.weights = ScanTrainer(self.config, self.model, self.data, "fp32").parameters

    def arrays(self) -> list[np.ndarray]:
        return [weight.detach().numpy().copy() for weight in self.weights.values()]

    def load(self, arrays: list[np.ndarray]) -> None:
        with torch.no_grad():
            for weight, array in zip(self.weights.values(), arrays, strict=True):
                weight.copy_(torch.from_numpy(np.array(array)))

    def train(self, seed: int, tokens: int) -> None:
        running = replace(self.config.running, seed=seed)
        config = replace(self.config, tokens=tokens, running=running)
        trainer = ScanTrainer(config, self.model, self.data, "fp32")
        self.model.train()
        for step in range(len(trainer.steps)):
            trainer.train_step(step)

    def fit(
        self, arrays: list[np.ndarray], config: dict[str, Any]
    ) -> tuple[list[np.ndarray], int, dict[str, Any]]:
        self.load(arrays)
        self.train(int(config["round"]), self.options.tokens)
        return self.arrays(), 1, {}

    def measure(self) -> dict[str, float]:
        """Returns loss and macro average precision on dev."""
        self.model.eval()
        dev = self.data.evaluation["dev"]
        with torch.no_grad():
            rows = [dev[start : start + 8] for start in range(0, len(dev), 8)]
            losses = [float(scan_loss(self.model, row, 0.0)) * len(row) for row in rows]
        ap = evaluate_scanner(self.model, dev, self.data.codes, 1024, "fp32")["ap"]
        return {"loss": round(sum(losses) / len(dev), 4), **ap}


def federate(options: FederatedOptions, first: list[np.ndarray]) -> list[np.ndarray]:
    """Returns the mean weights after all rounds."""
    n_parties, means = len(options.examples), [first]
    server = ServerApp()

    @server.main()  # type: ignore[untyped-decorator]
    def serve(grid: Any, context: Context) -> None:
        strategy = FedAvg(
            fraction_evaluate=0.0, min_fit_clients=n_parties, min_available_clients=n_parties,
            accept_failures=False, initial_parameters=ndarrays_to_parameters(first),
            on_fit_config_fn=lambda number: {"round": number},
            evaluate_fn=lambda _, mean, __: means.append(mean),
        )  # fmt: skip
        secure = SecAggPlusWorkflow(1.0, 0.67, max_weight=1, quantization_range=2**28)
        legacy = LegacyContext(context=context, config=ServerConfig(options.rounds), strategy=strategy)
        DefaultWorkflow(fit_workflow=secure)(grid, legacy)

    def start(context: Context) -> Any:
        return Party(options, (options.examples[int(context.node_config["partition-id"])],)).to_client()

    client = ClientApp(start, mods=[secaggplus_mod])
    resources = {
        "init_args": {"num_cpus": n_parties, "include_dashboard": False},
        "client_resources": {"num_cpus": 1},
    }
    run_simulation(server, client, n_parties, backend_config=resources)
    if len(means) != options.rounds + 2:  # the initial weights are evaluated too
        raise RuntimeError("a round failed: see the log of Flower")
    return means[-1]


def main(options: FederatedOptions) -> None:
    """Train in each way and print loss and average precision on the dev sets of all."""
    everyone = Party(options, options.examples)
    first = everyone.arrays()

    def show(name: str, arrays: list[np.ndarray]) -> None:
        everyone.load(arrays)
        print(json.dumps({"trained": name, **everyone.measure()}), flush=True)

    show("not at all", first)
    show("federated", federate(options, first))
    for folders in [options.examples, *((folder,) for folder in options.examples)]:
        one = Party(options, folders)
        one.train(1, options.rounds * options.tokens * len(folders))
        show("pooled" if len(folders) > 1 else f"{folders[0].name} alone", one.arrays())


if __name__ == "__main__":
    run_script(main, "Train one scanner on the dialogues of parties that may not pool them.")
