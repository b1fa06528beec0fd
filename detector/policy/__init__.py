"""Policy programs: what agents must do, in which order, and what they must not, as rules over a dialogue's
messages and tool calls. People write them as YAML files; `docs/howto/write_a_policy.md` has every key."""

from dialint.detector.policy.evaluate import Violation, violations
from dialint.detector.policy.format import Clause, Policy
from dialint.detector.policy.reading import load_policies, load_policy, parse_policy, policy_for

__all__ = [
    "Clause",
    "Policy",
    "Violation",
    "load_policies",
    "load_policy",
    "parse_policy",
    "policy_for",
    "violations",
]
