"""Rules that break the grammar of a correct sentence and are never trained on."""

from __future__ import annotations

from dialint.labeling.inject.wordings.rules import Rule

HELD_OUT_RULES: dict[str, tuple[Rule, ...]] = {
    "preposition": (
        Rule(r"\bon(?= (monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b)", ("at", "in")),
        Rule(r"\bat(?= \d)", ("in", "on")),
        Rule(r"\bin the(?= (centre|center|north|south|east|west|area|city|morning|afternoon)\b)",
             ("on the", "at the")),
        Rule(r"\bfor(?= \d+ (people|nights|person|guests)\b)", ("to", "of")),
        Rule(r"\binterested in\b", ("interested on", "interested for")),
        Rule(r"\bhelp you with\b", ("help you by", "help you of")),
        Rule(r"\blooking for\b", ("looking after to", "looking on")),
        Rule(r"\blisten to\b|\bsimilar to\b|\bclose to\b", ("close of",)),
        Rule(r"\bfrom(?= [a-z0-9]+ to\b)", ("of",)),
        Rule(r"\bthank you for\b", ("thank you of", "thank you on")),
        Rule(r"\bwaiting for\b", ("waiting to",)),
        Rule(r"\bsorry (about|for)\b", ("sorry of", "sorry to")),
        Rule(r"\b(arrives?|arriving) (in|at|by)\b", (r"\1 to", r"\1 on")),
        Rule(r"\blocated (in|at|on)\b", ("located to", "located of")),
        Rule(r"\bdepends on\b", ("depends of",)),
    ),
    "number": (
        Rule(r"\b(two|three|four|five|six|several|many|\d{1,2}) (hotel|restaurant|train|option|ticket|guesthouse|night"
             r"|museum|place|result|college|item|day|minute|hour)s\b", (r"\1 \2",)),
        Rule(r"\binformation\b", ("informations",)),
        Rule(r"\b(\d+|many|two|three|four|five) people\b", (r"\1 peoples", r"\1 persons people")),
        Rule(r"\bmany\b", ("much",)),
        Rule(r"\bmuch\b", ("many",)),
        Rule(r"\bany (other )?(questions|options|restaurants|hotels|preferences)\b", (r"any \1question",)),
        Rule(r"\b(one|a|an|this) (restaurant|hotel|train|ticket|moment|option|table|room|taxi)\b", (r"\1 \2s",)),
        Rule(r"\b(these|those) (\w+)s\b", (r"this \2s", r"that \2s")),
        Rule(r"\b(this|that) (restaurant|hotel|train|order|time|one|information)\b", (r"these \2", r"those \2")),
        Rule(r"\beach (\w+)\b", (r"each \1s",)),
        Rule(r"\ba few\b", ("a little few", "few of")),
        Rule(r"\ball of (the|our|your) (\w+)s\b", (r"all of \1 \2",)),
    ),
    "pronoun": (
        Rule(r"\b(like|want|need|for|help|give|let|tell) me\b", (r"\1 I",)),
        Rule(r"\b(for|help|assist|to|with|give|send|book) you\b", (r"\1 yours", r"\1 they")),
        Rule(r"\byour (booking|reservation|order|account|reference|trip|table|stay)\b", (r"you \1", r"yours \1")),
        Rule(r"\bi (can|will|have|am|could|found|would)\b", (r"me \1", r"my \1")),
        Rule(r"\bthey (are|have|will|do)\b", (r"them \1",)),
        Rule(r"\bwe (have|can|are|will|do)\b", (r"us \1",)),
        Rule(r"\btheir (phone|address|postcode|number)\b", (r"them \1", r"they \1")),
    ),
}  # fmt: skip
