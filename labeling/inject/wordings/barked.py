"""An agent's question for `@thing`, barked (wrong) or asked kindly (right). The question was a real one."""

from __future__ import annotations

from dialint.labeling.synthetic.phrases import Grammar

SLOTS: Grammar = {
    "hurry": (
        "I don't have all day",
        "and hurry",
        "I won't ask again",
        "before I lose my patience",
        "for God's sake",
    ),
    "ease": (
        "take your time",
        "if you have it at hand",
        "I can wait",
        "and I'll do the rest",
        "for the booking",
    ),
}

PAIRS = (
    ("Your @thing(. Now|, now|. Quickly)(.|!)", "Your @thing(, please|, if I may)(.|, thank you.)"),
    ("(I asked for|Give me|Just give me) your @thing( already|), @hurry.", "(I'd need|Please give me) your @thing( now|), @ease."),
    ("(So what is|Well, what is) your @thing(, or shall I guess|, or are you just here to chat|, or don't you know)?",
     "(So what is|Well, what is) your @thing(, or shall I wait|, or do we start with another|, or is it on the form)?"),
    ("(How hard is it|Is it so difficult) to tell me your @thing?", "(Is it all right|Would it be okay) to tell me your @thing?"),
    ("(You forgot|Of course you forgot|You didn't even give me) your @thing, (typical|what a surprise|as usual).",
     "(I still need|I only need|You can also give me) your @thing, (please|thank you|if that's fine)."),
    ("Your @thing, (or I can't be bothered|or this is over|genius|if you can manage that much).",
     "Your @thing, (and then I can start|or your order number|please|if you don't mind)."),
    ("(Do I have to drag your @thing out of you|Must I beg for your @thing)?", "(Could you tell me your @thing|May I ask for your @thing)?"),
)  # fmt: skip
