"""Discipline by measure: control tasks, what answers to them say of people, and what follows."""
