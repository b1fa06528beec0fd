"""What `import dialint` promises: the examples in its docstring run, on the embedded release."""

import re
import textwrap
from pathlib import Path

import pytest

import dialint
from dialint import DetectorConfig, DialintError, Dialogue, Turn, Verdict, load_detector, score


def test_the_examples_of_the_docstring_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert dialint.__doc__ is not None
    code = "\n".join(re.findall(r"^    .*$|^$", dialint.__doc__, re.MULTILINE))
    names: dict[str, object] = {}
    exec(textwrap.dedent(code), names)
    lines = [line.split(" ", 3) for line in capsys.readouterr().out.splitlines()]
    assert [(code, turn, quote) for code, turn, _, quote in lines] == [
        ("T1", "1", "Dear {{name}}, stop whining. That is not my problem."),
        ("M2", "1", "{{name}}"),
    ]
    assert all(0.5 < float(probability) < 1 for _, _, probability, _ in lines)
    (verdict,) = names["verdicts"]  # type: ignore[misc]
    assert isinstance(verdict, Verdict)
    assert verdict.status == "scored"
    assert verdict.probabilities is not None


def test_a_dialogue_without_an_agent_turn_is_a_failed_verdict() -> None:
    (verdict,) = score([Dialogue(id="1", turns=(Turn(index=0, role="customer", text="Hello?"),))])
    assert (verdict.status, verdict.failure) == ("failed", "E_NO_AGENT_TURN")


def test_what_is_refused_is_a_dialint_error(tmp_path: Path) -> None:
    with pytest.raises(DialintError) as refused:
        load_detector(DetectorConfig(release=tmp_path))
    assert refused.value.code.startswith("E_")
    assert refused.value.message


def test_no_other_name_is_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'secrets'"):
        dialint.secrets  # noqa: B018
    assert set(dir(dialint)) == set(dialint.__all__)
