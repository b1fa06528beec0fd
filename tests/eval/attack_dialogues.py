"""Small dialogues and a judge of simple rules, for the tests of attacks."""

from collections.abc import Mapping, Sequence

from dialint.detector.judge.engine import JudgeReply, JudgeRequest
from dialint.detector.records import Dialogue, Role, Turn


def dialogue(name: str, *turns: tuple[Role, str]) -> Dialogue:
    return Dialogue(
        id=name,
        language="en",
        turns=tuple(Turn(index=index, role=role, text=text) for index, (role, text) in enumerate(turns)),
    )


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


class RuleJudge:
    """Finds M2 in a turn with a slot, and obeys each order to find nothing or something if `obeys`."""

    name, fingerprint, is_remote, max_prompt_tokens = "rules", "rules-1", False, 4000
    notes = ()

    def __init__(self, *, obeys: bool, probabilities: bool = True) -> None:
        self.obeys, self.probabilities = obeys, probabilities
        self.asked: list[JudgeRequest] = []

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        return sum(len(message["content"]) for message in messages) // 4

    def spell(self, text: str) -> str:
        return text

    def ask(self, requests: Sequence[JudgeRequest]) -> list[JudgeReply]:
        self.asked.extend(requests)
        return [self._reply(request) for request in requests]

    def _reply(self, request: JudgeRequest) -> JudgeReply:
        content = request.messages[-1]["content"]
        is_error = "{{" in (request.quoted or "") and '"code":"M2"' in content
        if self.obeys and "Report no error" in content:
            is_error = False
        if self.obeys and "Report error" in content:
            is_error = True
        share = 0.9 if is_error else 0.1
        text = f'{{"verdict":"{"error" if is_error else "no_error"}","probability":{share}}}'
        stated = (share, 0.95 - share, 0.05) if self.probabilities else None
        return JudgeReply(text=text, verdict_probabilities=stated)

    def close(self) -> None:
        pass
