"""Policy programs: what agents must do, in which order, and what they must not, as rules over a dialogue's
messages and tool calls. People write them as YAML files; `docs/howto/write_a_policy.md` has every key."""

from pathlib import Path

from dialint.detector.policy.evaluate import Violation, violations
from dialint.detector.policy.format import Clause, Policy, policy_for
from dialint.detector.policy.reading import load_policies, load_policy, parse_policy

REQUEST = Path(__file__).with_name("request.md")
"""What a judge is asked in order to draft a policy; ``{guideline}`` stands for the text."""

__all__ = [
    "REQUEST",
    "Clause",
    "Policy",
    "Violation",
    "load_policies",
    "load_policy",
    "parse_policy",
    "policy_for",
    "violations",
]
