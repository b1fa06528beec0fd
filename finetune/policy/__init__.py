"""A decoder as a policy: sampling answers, scoring their tokens, PPO. Works on token ids and rewards only."""
