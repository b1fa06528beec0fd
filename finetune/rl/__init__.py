"""Reinforcement learning of a decoder: sampling answers, scoring their tokens, PPO. Works on token ids and
rewards only."""
