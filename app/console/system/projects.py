"""The view Projects of the Admin page: queues, limits and costs of projects."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

import streamlit as st

from dialint.app.console.i18n import (
    N_,
    _,
    ngettext,
    paragraph,
    show_day,
    show_number,
    show_percent,
)
from dialint.app.console.messages import ADMIN, attempt
from dialint.app.console.tables import select, show_table, split_commas
from dialint.app.console.text import code_title, safe_markdown, safe_text
from dialint.detector.errors import ConfigError
from dialint.detector.taxonomy import load_taxonomy
from dialint.labeling.queue.sampling import SamplingConfig, sample_tasks
from dialint.labeling.store import projects
from dialint.labeling.store.api import Store
from dialint.labeling.store.gold import has_gold
from dialint.labeling.store.records import Account, Project, Purpose
from dialint.labeling.store.tasks import Design, count_tasks, mix_in_gold

MAX_SAMPLE, MAX_CODES = 10_000, 8
END_OF_DAY = time(23, 59, 59)
PURPOSES: dict[Purpose, str] = {
    "label": N_("labeling"), "review": N_("review"), "adjudication": N_("adjudication"),
    "calibration": N_("calibration session"),
}  # fmt: skip


def show_projects(store: Store, account: Account) -> None:
    """Show all projects with their queues and costs, and forms to create, fill, limit and close one."""
    listed = projects.list_projects(store, account.id)
    purposes, rows = {each: _(name) for each, name in PURPOSES.items()}, []
    for project, state in listed:
        counts = count_tasks(store, account.id, project.id)["main"]
        total = sum(n for name, n in counts.items() if name != "withdrawn")
        rows.append((
            project.id, purposes[project.purpose], _("open") if state == "open" else _("closed"),
            ", ".join((*project.codes[:MAX_CODES], *(["…"] if len(project.codes) > MAX_CODES else []))),
            show_number(counts["open"] + counts["full"]),
            show_number(counts["done"]),
            show_percent(counts["done"] / total) if total else "–", f"{project.overlap}–{project.most}",
            "–" if project.fair_share is None else show_percent(project.fair_share),
            show_percent(project.control_share), show_day(project.deadline) if project.deadline else "–",
        ))  # fmt: skip
    headings = (
        _("Project"), _("Purpose"), _("State"), _("Codes"), _("To do"), _("Done"), _("Progress"),
        _("Answers per task"), _("Fair share"), _("Control tasks"), _("Deadline"),
    )  # fmt: skip
    show_table(headings, rows)
    left, right = st.columns(2, gap="medium")
    with left:
        if listed:
            _show_one(store, account, {project.id: (project, state) for project, state in listed})
            _show_costs(store, account)
    with right:
        _show_create(store, account)


def _show_costs(store: Store, account: Account) -> None:
    """Show the cost of each project so far and to come."""
    rows = []
    for name, spent in projects.list_spending(store, account.id).items():
        mean_s = spent.seconds / spent.timed_answers if spent.timed_answers else None
        rows.append((
            name, show_number(spent.answers), show_number(spent.seconds / 60, "#,##0"),
            "–" if mean_s is None else show_number(mean_s, "0.0"),
            show_number(spent.open_answers),
            "–" if spent.minutes_left is None else show_number(spent.minutes_left, "#,##0"),
        ))  # fmt: skip
    headings = (
        _("Project"), _("Answers given"), _("Minutes spent"), _("Seconds per answer"), _("Answers to come"),
        _("Minutes to come"),
    )  # fmt: skip
    show_table(headings, rows)
    st.caption(paragraph("Minutes to come are the answers"))


def _show_one(store: Store, account: Account, listed: dict[str, tuple[Project, str]]) -> None:
    designs: dict[Design, str] = {
        "random": _("at random"), "risk": _("by the expected number of errors"),
        "uncertain": _("where the model is uncertain"), "stratified": _("spread over agents"),
        "audit": _("at random among unflagged dialogues"),
    }  # fmt: skip
    with st.container(border=True):
        st.markdown(f"**{safe_markdown(_('Work on a project'))}**")
        name = select(_("Project"), list(listed), "project chosen")
        with st.form(f"sample:{name}", border=False):
            design_column, number_column, seed_column = st.columns([3, 1, 1])
            design = select(
                _("Sample dialogues"), designs, "sample design", at=design_column,
                help=paragraph("Each task keeps the probability"),
            )  # fmt: skip
            n = number_column.number_input(_("How many"), 1, MAX_SAMPLE, 100, key="sample number")
            seed = seed_column.number_input(_("Seed"), 0, 2**31 - 1, 0, key="sample seed")
            if st.form_submit_button(_("Add tasks"), type="primary"):
                config = SamplingConfig(project=name, design=design, n=int(n), seed=int(seed))
                with attempt(ADMIN) as done:
                    n_control = mix_in_gold(store, account.id, config.project)
                    n = sample_tasks(store, account.id, config)
                    message = ngettext("{n} task was added.", "{n} tasks were added.", n)
                    if n_control:
                        message += " " + ngettext(
                            "{n} of them is a control task.",
                            "{n} control tasks were added besides.",
                            n_control,
                        )
                    done(message)
        project, state = listed[name]
        with st.form(f"limits:{name}", border=False):
            limits = _show_limit_fields("limits", project)
            if st.form_submit_button(_("Save limits")):
                with attempt(ADMIN) as done:
                    projects.change_limits(store, account.id, name, **limits)
                    done(_("The limits of {name} were changed.").format(name=name))
        is_open = state == "open"
        if st.button(
            _("Close the project") if is_open else _("Open the project again"), key="project state",
            help=_("Nobody gets tasks of it any more; it can be opened again.") if is_open else None,
        ):  # fmt: skip
            with attempt(ADMIN) as done:
                projects.set_state(store, account.id, name, "closed" if is_open else "open")
                text = _("{name} is closed now.") if is_open else _("{name} is open now.")
                done(text.format(name=name))


def _show_limit_fields(key: str, project: Project | None = None) -> dict[str, Any]:
    """Show the fields of a project's limits, and return the values; an unchanged share or day of `project`
    stays exact."""
    name = "" if project is None else f":{project.id}"
    before = project or Project(id="new", codes=("C1",))
    columns = (*st.columns(3), *st.columns(2))
    overlap = columns[0].number_input(
        _("Answers per task"), 1, 99, before.overlap, key=f"{key} overlap{name}",
        help=_("Holds for tasks that are added from now on."),
    )  # fmt: skip
    most = columns[1].number_input(
        _("At most"), 1, 99, before.most, key=f"{key} most{name}",
        help=_("Answers that a task may ask for where people disagree."),
    )  # fmt: skip
    displayed = round(100 * (before.fair_share or 0)), round(100 * before.control_share)
    fair = columns[2].number_input(
        _("Fair share, %"), 0, 100, displayed[0], key=f"{key} fair{name}",
        help=_("The largest share of the answers that one person may give; 0 is without a limit."),
    )  # fmt: skip
    control = columns[3].number_input(
        _("Control tasks, %"), 0, 100, displayed[1], key=f"{key} control{name}",
        help=_("Tasks with known answers, mixed into the work."),
    )  # fmt: skip
    before_day = None if before.deadline is None else before.deadline.date()
    day = columns[4].date_input(
        _("Deadline"), before_day, key=f"{key} deadline{name}", help=_("The end of the day, UTC.")
    )
    return {
        "overlap": int(overlap), "most": int(most),
        "fair_share": before.fair_share if fair == displayed[0] else fair / 100 or None,
        "control_share": before.control_share if control == displayed[1] else control / 100,
        "deadline": before.deadline if day == before_day else day and datetime.combine(day, END_OF_DAY, UTC),
    }  # fmt: skip


def _show_create(store: Store, account: Account) -> None:
    taxonomy = load_taxonomy()
    with st.form("new project", clear_on_submit=False):
        st.markdown(f"**{safe_markdown(_('New project'))}**")
        left, right = st.columns(2)
        name = left.text_input(_("Name"), max_chars=200, key="project name")
        purposes = {each: _(title) for each, title in PURPOSES.items()}
        purpose = select(
            _("Purpose"), purposes, "project purpose", at=right,
            help=paragraph("Labeling: people annotate. Review"),
        )  # fmt: skip
        codes = st.multiselect(
            _("Codes"), list(taxonomy.codes), key="project codes",
            format_func=lambda each: safe_text(code_title(each, taxonomy)),
        )  # fmt: skip
        instructions = st.text_area(
            _("Instructions"), max_chars=20_000, height=90, key="project instructions"
        )
        limits = _show_limit_fields("project")
        first, second = st.columns(2)
        lease_min = first.number_input(
            _("Lease, minutes"), 1, 600, 15, key="project lease",
            help=_("For so long a task is held for one person."),
        )  # fmt: skip
        control_uses = second.number_input(_("Uses of a control task"), 1, 10_000, 50, key="project uses")
        skills = st.text_input(_("Skills that are needed, by commas"), key="project skills")
        first, second = st.columns(2)
        prelabelled = first.checkbox(_("Show the model's findings"), key="project prelabelled")
        is_masked = second.checkbox(_("Mask personal data"), value=True, key="project masked")
        if st.form_submit_button(_("Create project"), type="primary"):
            with attempt(ADMIN) as done:
                limits["most"] = max(limits["most"], limits["overlap"])
                project = Project(
                    id=name.strip(), codes=tuple(codes), purpose=purpose, instructions=instructions, **limits,
                    lease_s=int(lease_min) * 60, control_uses=int(control_uses), prelabelled=prelabelled,
                    masked=is_masked, skills=split_commas(skills),
                )  # fmt: skip
                if project.control_share and not store.read(has_gold):
                    raise ConfigError(
                        "E_GOLD", "there is no gold to make control tasks of; import some first"
                    )
                projects.create(store, account.id, project)
                done(_("{name} was created.").format(name=project.id))
