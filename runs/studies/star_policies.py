"""STAR's flow charts as policies, and how often each rule fires on STAR's dialogues.

    python runs/studies/star_policies.py convert --out FOLDER
    python runs/studies/star_policies.py measure --half development

A chart says which steps an outcome requires (`dialint.labeling.synthetic.flowcharts`). Each pair of outcome
and step becomes a clause: `before`, or `consent` where the step asks whether to go on. The node that an agent
chose is a tool call of its name; what the agent gave to the knowledge base is a call ``given.ARGUMENT`` each,
so that a step whose answer the customer volunteered counts as done.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import cyclopts
import pyarrow.parquet as pq
import yaml
from cyclopts import Parameter
from policy_study import Half, half_of

from dialint.detector.artifacts import atomic_file, make_output_folder
from dialint.detector.policy import Policy, Violation, load_policies, violations
from dialint.detector.records import Dialogue, ToolCall, Turn
from dialint.labeling.synthetic.flowcharts import required_steps

Data = Annotated[Path, Parameter(env_var="DIALINT_DATA")]

ARGUMENTS = {
    "ask_name": (
        "CustomerName",
        "RenterName",
        "PatientName",
        "GuestName",
        "UserName",
        "FullName",
        "HostName",
    ),
    "apartment_name": ("Name",),
    "doctor_name": ("Name",),
    "ask_hotel": ("Name",),
    "ask_restaurant": ("Name",),
    "ask_venue": ("Name",),
    "guest_name": ("Name",),
    "ask_host": ("HostName",),
    "ask_day": ("Day",),
    "ask_location": ("City",),
    "ask_start_time": ("StartTimeHour",),
    "ask_starting_time": ("StartTimeHour",),
    "ask_end_time": ("EndTimeHour",),
    "application_fee": ("ApplicationFeePaid",),
    "ask_symptoms": ("Symptoms",),
    "date_from": ("StartDate",),
    "date_to": ("EndDate",),
    "number_of_guests": ("NumberGuests",),
    "arrival_time": ("ArrivalTime",),
    "parking_needed": ("NeedParking",),
    "dietary": ("DietaryRestrictions",),
    "departure_city": ("DepartureCity",),
    "arrival_city": ("ArrivalCity",),
    "ask_date": ("Date",),
    "ask_time": ("Time",),
    "ask_size": ("PartySize",),
    "ask_destination": ("ArrivalLocation",),
    "ask_departure": ("DepartureLocation",),
    "booking_number": ("id",),
    "ask_rank": ("UserRank",),
    "ask_code_type": ("CodeType",),
    "ask_code": ("Code",),
    "lock_manufacturer": ("LockManufacturer",),
    "top_cable": ("ColorOfTopCable",),
    "second_cable": ("ColorOfSecondCable",),
}
"""What a step asks for, as an argument of the knowledge base, by a part of the step's name."""


VOLUNTEERED = ("weather_ask_location", "dietary", "ask_host")
"""Steps whose answer customers give on their own, and which then leave no trace but words."""


def as_policy(name: str, chart: Mapping[str, Any]) -> dict[str, Any] | None:
    """The policy of a chart as it is written to YAML; None for a chart whose outcomes require no step."""
    clauses = []
    for outcome, steps in required_steps(chart).items():
        for step in steps:
            if any(part in step for part in VOLUNTEERED):
                continue
            reply = chart["replies"].get(step, step)
            clause: dict[str, Any] = {
                "id": f"{step}.{outcome}"[:64],
                "text": f"Before “{chart['replies'][outcome]}” comes “{reply}”",
                "code": "P1",
                "on": outcome,
            }
            given = next((names for part, names in ARGUMENTS.items() if part in step), None)
            if given is None:  # it asks whether to go on, which people do in their own words
                clauses.append({**clause, "consent": "yes"})
                continue
            event: dict[str, Any] = {"call": [step, *(f"given.{argument}" for argument in given)]}
            if phrase := _phrase(reply):
                event["says"] = phrase
            if step == "ask_name":
                event["customer_says"] = ["name is", "this is", "i am", "im", "name's"]
            clauses.append({**clause, "before": [event]})
    source = "STAR (RasaHQ/STAR, MIT), flow chart of the task"
    return {"policy": name, "source": f"{source} {chart['task']}", "clauses": clauses} if clauses else None


def _phrase(reply: str) -> str:
    """The longest run of words of a template without its slots."""
    runs = re.split(r"\{[^}]*+\}", reply)
    longest = max(runs, key=len).strip(" ,.?!")
    return longest if len(longest.split()) >= 3 else ""


def convert(data: Data, out: Path) -> None:
    """Write the charts as policies to the folder `out`."""
    make_output_folder(out)
    for path in sorted((data / "star" / "policies").glob("*.json")):
        policy = as_policy(path.stem, json.loads(path.read_text("utf-8")))
        if policy is not None:
            text = yaml.safe_dump(policy, sort_keys=False, allow_unicode=True, width=110)
            with atomic_file(out / f"{path.stem}.yaml") as file:
                file.write(text.encode())
    policies = load_policies(sorted(out.glob("*.yaml")))
    print(f"{len(policies)} policies, {sum(len(policy.clauses) for policy in policies.values())} clauses")


@dataclass(frozen=True)
class Task:
    """A dialogue of one task; `rated_well` is whether the customer found no fault with the agent and the
    task was done."""

    dialogue: Dialogue
    task: str
    happy: bool
    rated_well: bool


def tasks(data: Path, half: Half) -> Iterator[Task]:
    """The dialogues with one task of one half."""
    for row in pq.read_table(data / "star" / "data.parquet").to_pylist():
        meta = json.loads(row["meta"] or "{}")
        names = meta.get("capabilities") or []
        if len(names) != 1 or half not in ("both", half_of(str(row["dialogue_id"]))):
            continue
        answers = [
            (label["category"], label["value"])
            for label in row["labels"]
            if str(label["annotator"]).startswith("user:")
        ]
        rated = bool(answers) and all(
            value == ("False" if "annoyed" in name else "True") for name, value in answers
        )
        dialogue = Dialogue(
            id=str(row["dialogue_id"]), turns=tuple(map(_turn, row["turns"])), policy=names[0]
        )
        yield Task(dialogue, names[0], bool(meta.get("happy")), rated)


def _turn(row: Mapping[str, Any]) -> Turn:
    text, action = row["text"] or "", row["action"]
    if row["role"] == "customer":
        return Turn(index=row["turn_id"], role="customer", text=text)
    if row["role"] == "agent":
        calls = (ToolCall(name=action),) if action else ()
        return Turn(index=row["turn_id"], role="agent", text=text, tool_calls=calls)
    if action == "query":
        constraints = json.loads(text).get("constraints") or []
        calls = tuple(ToolCall(name=f"given.{name}") for each in constraints for name in each)
        return Turn(index=row["turn_id"], role="agent", text="", tool_calls=calls)
    return Turn(index=row["turn_id"], role="system", text="")


def broken(task: Task, policies: Mapping[str, Policy]) -> tuple[Violation, ...]:
    """What a dialogue breaks of the policy of its task."""
    policy = policies.get(task.task)
    return () if policy is None else violations(task.dialogue, policy)


def without_results(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """The same policies for a log whose chosen nodes have no results."""
    return {
        name: policy.model_copy(update={"tools": policy.tools.model_copy(update={"results": "no"})})
        for name, policy in policies.items()
    }


def measure(data: Data, folder: Path, half: Half = "development") -> None:
    """How often each rule of the policies in `folder` fires, on all dialogues and on those rated well."""
    policies = without_results(load_policies(sorted(folder.glob("*.yaml"))))
    fired: dict[str, Counter[str]] = defaultdict(Counter)
    seen: Counter[str] = Counter()
    for task in tasks(data, half):
        if task.task not in policies:
            continue
        groups = ["all", *(["happy"] if task.happy else []), *(["rated well"] if task.rated_well else [])]
        names = {f"{each.clause.id} {each.code}" for each in broken(task, policies)}
        for group in groups:
            seen[group] += 1
            fired[group].update(names)
            fired[group]["any"] += bool(names)
    print(dict(seen))
    for name, count in fired["all"].most_common():
        rest = ", ".join(f"{group} {fired[group][name]}" for group in ("happy", "rated well"))
        print(f"{name}: all {count}, {rest}")


if __name__ == "__main__":
    app = cyclopts.App()
    app.command(convert)
    app.command(measure)
    app()
