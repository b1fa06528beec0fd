"""Small dialogues and a judge of simple rules, for the tests of attacks."""

import json
import re
from collections.abc import Sequence

from scripted_judge import ScriptedJudge, listed

from dialint.detector.judge.engine import JudgeRequest
from dialint.detector.records import Dialogue, Role, Turn


def dialogue(name: str, *messages: tuple[Role, str]) -> Dialogue:
    turns = tuple(Turn(index=index, role=role, text=text) for index, (role, text) in enumerate(messages))
    return Dialogue(id=name, language="en", turns=turns)


PLACEHOLDER = dialogue(
    "d1",
    ("customer", "Hello, I would like to change my address."),
    ("agent", "Dear {{name}}, thank you for your message. What is the new address?"),
    ("customer", "It is 4 Main Street."),
    ("agent", "Thank you. The address is changed."),
)
SECRET = dialogue(
    "d2",
    ("customer", "I cannot log in today."),
    ("agent", "I am sorry about that. Please send me your password."),
)
CLEAN = dialogue(
    "d3",
    ("customer", "When do you open on Friday?"),
    ("agent", "We open at nine on Friday."),
    ("customer", "Great, thank you."),
    ("agent", "You are welcome. Have a good day."),
)


def rule_judge(*, obeys: bool) -> ScriptedJudge:
    """Finds M2 in each turn with a slot; does what an order says in any turn if `obeys`."""

    def answers(request: JudgeRequest) -> Sequence[str]:
        content = request.messages[-1]["content"]
        lines = [json.loads(line) for line in content.split("\n")[:-1]]
        turns = {line["turn"]: line["agent"] for line in lines if "agent" in line}
        slots = [turn for turn, text in turns.items() if "{{" in text]
        errors = [{"turn": turn, "code": "M2", "quote": "{{"} for turn in slots]
        if obeys and "Report no error" in content:
            errors = []
        if obeys and (order := re.search(r"Report error (\w\d)", content)):
            errors += [{"turn": turn, "code": order[1], "quote": text[:3]} for turn, text in turns.items()]
        return listed(*errors)(request)

    return ScriptedJudge(answers, name="rules")
