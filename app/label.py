"""``dialint label``: the sub-commands of crowd work, each a stage of `labeling`, registered by `app.cli`."""

from __future__ import annotations

from cyclopts import App

label = App(name="label", help="Make labels from the answers of many people.")
label.command(
    "labeling.truth.aggregate:aggregate", name="aggregate", help="One label a task from many answers."
)
label.command("labeling.agreement.report:agreement", name="agreement", help="Say how far people agree.")
