"""``dialint label``: the sub-commands of crowd work, each a stage of `labeling`."""

from __future__ import annotations

from cyclopts import App

label = App(name="label", help="Make labels from the answers of many people.")
label.command("dialint.app.projects:project", name="project", help="Make, close and open projects.")
label.command("dialint.app.projects:plan", name="plan", help="Draw tasks for a project.")
label.command("dialint.app.projects:route", name="route", help="Turn the day's verdicts into work.")
label.command("dialint.app.projects:status", name="status", help="Show how far the projects are.")
label.command("dialint.app.truth:aggregate", name="aggregate", help="One label a task from many answers.")
label.command("dialint.app.truth:ask", name="ask", help="Ask again only where it is not sure yet.")
label.command("dialint.app.truth:adjudicate", name="adjudicate", help="Give experts what is not settled.")
label.command("dialint.app.truth:accept", name="accept", help="Accept in bulk what all agree on.")
label.command(
    "dialint.app.calibration:calibration", name="calibration", help="See who is strict, who lenient."
)
label.command(
    "dialint.app.calibration:appeals", name="appeals", help="Give appeals to a blind second review."
)
label.command("dialint.app.accounts:account", name="account", help="Make accounts, judge and ban them.")
label.command("dialint.app.crowd:agreement", name="agreement", help="Say how far people agree.")
label.command("dialint.app.crowd:watch", name="watch", help="Find who guesses, races or copies.")
label.command("dialint.app.crowd:quality", name="quality", help="Report on each labeler's work.")
