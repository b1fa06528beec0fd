"""Sentences of support agents with a misspelling, ``[wrong|right]``, and right ones that look misspelt."""

from __future__ import annotations

from dialint.labeling.inject.wordings import misspelt_talk

_PLAIN = (
    "I apologise for the [inconvinience|inconvenience].", "I have [forwared|forwarded] your message to the [manger|manager].", "A [collegue|colleague] of mine will call.",
    "Is that [convienient|convenient] for you?", "We [apreciate|appreciate] your [patiance|patience].", "Which [languge|language] do you prefer?", "May I put you on [hld|hold]?",
    "[Sory|Sorry] about that!", "[Thnaks|Thanks] for letting us know.", "[Wellcome|Welcome] back!", "[Certanly|Certainly], I can do that.", "[Absolutly|Absolutely] no problem.",
    "No [problm|problem], take your time.", "Have a [graet|great] weekend.", "Kind [regrads|regards] from the team.", "See you [agian|again] soon.", "I [wil|will] be in touch.",
    "It [shoud|should] work now.", "We [realy|really] want to help.", "I have [writen|written] it down.",
    "I can [advice|advise] you on that.", "It is more [then|than] I can say.", "Let me know [weather|whether] it works.", "I can [here|hear] you well.", "It is [quiet|quite] easy to do.",
    "I [dont|don't] see it here.", "[Im|I'm] looking into it.", "[Thats|That's] all I need.", "[Youre|You're] all set.",
    "It is [upto|up to] you.", "Please wait a [mo ment|moment].", "[Can nott|Cannot] do that, sorry.", "My [mis take|mistake], sorry.",
)  # fmt: skip

MISSPELT = (*_PLAIN, *misspelt_talk.MISSPELT)

UNUSUAL = (
    *misspelt_talk.UNUSUAL,
    "Ok, brb.", "Np, happy to help.", "Pls see the FAQ.", "Lmk if it works.", "Aha, got it!", "Hmm, let me see.", "Yep, all good.", "Nope, not yet.",
    "The effect will not affect you.",
)  # fmt: skip
"""Spellings of either shore, names, codes, common short forms and pairs of sound-alikes in their right place."""

RUN_TOGETHER = (
    "a lot", "as well", "thank you", "in case", "at least", "each other", "in fact", "up to", "no one", "of course",
    "right now", "so far", "at all", "each one", "next to", "for you", "you can", "is there", "to the", "in the", "would you",
    "and the", "do you", "i will", "have a", "let me", "can i", "to book", "of the", "you are", "it is", "will be",
)  # fmt: skip
"""Words that haste runs together."""
