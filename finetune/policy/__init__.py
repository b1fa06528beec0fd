"""A decoder as a policy: drawing answers, scoring their tokens, PPO. Knows token ids and rewards only."""
