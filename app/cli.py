"""The one command, ``dialint``. Every sub-command is imported only when it is called."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from cyclopts import App, Parameter

from dialint.app.ingest import ingest
from dialint.app.label import label
from dialint.detector import extras
from dialint.detector.errors import DialintError

HELP = frozenset(("--help", "-h"))

app = App(
    name="dialint",
    help="Finds the errors that support agents make: a dialogue log goes in, verdicts come out.",
    version=lambda: version("dialint"),
    default_parameter=Parameter(negative=()),
)
app.command("dialint.app.score:score", name="score", help="Find the errors in dialogue logs: the main job.")
app.command("dialint.app.report:report", name="report", help="Report findings as a page or a workbook.")
app.command("dialint.app.codes:codes", name="codes", help="Show the taxonomy, or explain one code.")
app.command("dialint.app.console_command:console", name="console", help="Review and label in the browser.")
app.command(
    "dialint.app.doctor:doctor", name="doctor", help="Say what works on this machine, and what does not."
)
app.command(
    "dialint.app.verify:verify", name="verify", help="Check outputs and releases against their manifests."
)

app.command(ingest)
app.command("dialint.app.ingest:convert", name="convert", help="Write logs in another format.")

data = App(name="data", help="Make training data.")
data.command(
    "dialint.labeling.synthetic.run:inject", name="inject", help="Make labelled errors in clean dialogues."
)
data.command(
    "dialint.labeling.corpus.dedup:dedup",
    name="dedup",
    help="Read all corpora, each dialogue once, into shards.",
)
data.command(
    "dialint.labeling.corpus.contamination:contamination",
    name="contamination",
    help="Find evaluation dialogues in training data.",
)
app.command(data)

train = App(name="train", help="Fine-tune models.")
sft = App(name="sft", help="Teach by labelled examples.")
sft.command("dialint.finetune.scan:scan", name="scan", help="Fine-tune a scanner on labelled examples.")
sft.command(
    "dialint.finetune.judge.sft:sft_judge", name="judge", help="Fine-tune a judge on labelled dialogues."
)
train.command(sft)
train.command("dialint.finetune.pretrain:pretrain", name="pretrain", help="Pre-train a decoder on dialogues.")
train.command("dialint.finetune.average:average", name="average", help="Average scanners of the same base.")
train.command(
    "dialint.finetune.distill:distill", name="distill", help="Teach a small scanner what a large one says."
)
train.command(
    "dialint.finetune.prune:prune", name="prune", help="Take out a scanner's least useful heads or layers."
)
train.command("dialint.finetune.pack:pack", name="pack", help="Make a release of a trained scanner.")
train.command(
    "dialint.finetune.judge.reward:reward", name="reward", help="Learn which answers people prefer."
)
train.command("dialint.finetune.judge.ppo:ppo", name="ppo", help="Align a judge by PPO with a reward model.")
train.command(
    "dialint.finetune.judge.grpo:grpo", name="grpo", help="Align a judge by rewards that can be verified."
)
train.command(
    "dialint.finetune.judge.merge_adapter:merge",
    name="merge",
    help="Make one model of a judge and its adapter.",
)
train.command(
    "dialint.finetune.judge.preference:prefer", name="prefer", help="Align a judge with preferences directly."
)
train.command(
    "dialint.finetune.screening.screen:screen", name="screen", help="Leave out what must not be learned."
)
train.command(
    "dialint.finetune.search.search:search", name="search", help="Find the options a stage is best under."
)
app.command(train)

evaluation = App(name="eval", help="Measure quality and speed.")
evaluation.command("dialint.eval.run:run", name="run", help="Measure a release on labelled examples.")
evaluation.command(
    "dialint.eval.baselines.make:baseline", name="baseline", help="Train and calibrate a simple baseline."
)
evaluation.command(
    "dialint.finetune.judge.exam:judge", name="judge", help="Measure a judge on held-out questions."
)
evaluation.command(
    "dialint.eval.outcome:outcome", name="outcome", help="Compare quality with an outcome in the log."
)
evaluation.command(
    "dialint.eval.reading:sample", name="sample", help="Draw findings at random for a person to read."
)
evaluation.command(
    "dialint.eval.reading:tally", name="tally", help="Count what a person said of drawn findings."
)
evaluation.command("dialint.eval.speed:speed", name="speed", help="Time the scan on this machine.")
app.command(evaluation)
app.command(label)
app.command(
    "dialint.app.transfer:bring", name="import", help="Bring logs, verdicts and labels into the store."
)
app.command(
    "dialint.app.transfer:give", name="export", help="Give labels, annotations and datasets to other tools."
)

database = App(name="db", help="Care for the label store.")
database.command(
    "dialint.app.db:upgrade", name="upgrade", help="Make the label store, or bring it to this version."
)
database.command("dialint.app.db:verify", name="verify", help="Check that nothing in the store was changed.")
database.command("dialint.app.db:backup", name="backup", help="Copy the store while work goes on.")
database.command("dialint.app.db:rekey", name="rekey", help="Seal the store with another key.")
database.command("dialint.app.db:restore", name="restore", help="Put a backup into an empty store.")
app.command(database)


EXTRAS = {
    "console": "console",
    "label": "crowd",
    "db": "crowd",
    "import": "crowd",
    "export": "crowd",
    "train sft judge": "train",
    "train reward": "train",
    "train ppo": "train",
    "train grpo": "train",
    "train prefer": "train",
    "train merge": "train",
    "train screen": "train",
    "train search": "search",
    "eval judge": "train",
}
"""The extra that a command, or all commands of a group, can't work without. What only some options need is
asked for where they are checked."""


def check_extras(tokens: Sequence[str]) -> None:
    """Refuse a command whose extra is not installed, before anything of it is imported or read; its help is
    shown where it can be.

    Raises:
        ConfigError: E_EXTRA.
    """
    if HELP.isdisjoint(tokens):
        for n in range(1, len(tokens) + 1):
            command = " ".join(tokens[:n])
            if command in EXTRAS:
                extras.need(EXTRAS[command], f"dialint {command}")


def main() -> None:
    """Entry point: errors become one line on standard error and an exit code, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a screen that cannot show a letter is no defect
    if not os.environ.get("DIALINT_DEBUG"):
        _hush()
    try:
        check_extras(sys.argv[1:])
        sys.exit(app(sys.argv[1:]))
    except DialintError as error:
        print(f"dialint: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:  # the last line of defence: dialogue text must not leak
        if os.environ.get("DIALINT_DEBUG"):
            raise
        _end_after(error)


def _end_after(error: Exception) -> NoReturn:
    """Say which extra is missing, or where the defect is and nothing else: the text of an exception may be a
    dialogue's."""
    lacking = error.name if isinstance(error, ModuleNotFoundError) else None
    if lacking and (extra := extras.extra_with(lacking)):
        refusal = extras.without(extra, "this", [lacking])
        print(f"dialint: {refusal}", file=sys.stderr)
        sys.exit(refusal.exit_code)
    place = error.__traceback__
    while place and place.tb_next:
        place = place.tb_next
    where = f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else "?"
    print(
        f"dialint: E_INTERNAL: {type(error).__name__} at {where}; a defect of dialint, please report it. "
        "DIALINT_DEBUG=1 shows the traceback, which may hold dialogue text.",
        file=sys.stderr,
    )
    sys.exit(3)


def _hush() -> None:
    """Say nothing that libraries tell each other's developers; what concerns the user raises an error."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    for library in ("alembic", "bitsandbytes"):
        logging.getLogger(library).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning)


if __name__ == "__main__":
    main()
