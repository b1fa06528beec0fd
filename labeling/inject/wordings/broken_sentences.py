"""Whole sentences of support agents, broken and right at once: ``[wrong|right]`` stands where they part.

``(a|b)`` are choices. In the error the first words of each bracket are said, in the clean twin the second;
either may be empty. By the mistake's origin: slips of haste, forms that do not agree, and sentences built
after another language. None is of a trade, so that it fits any talk; more stand in `broken_talk`.
"""

from __future__ import annotations

from dialint.labeling.inject.wordings.broken_talk import TALK

HASTE = (
    "I am just opening your file [and and|and] will be right with you.", "There [is is|is] one more thing I need from you.", "That is [what what|what] I see on my screen too.",
    "Sorry about the wait, the system [been|has been] slow today.", "I'll get [this that|this] sorted for you right away.", "Thanks for [you|your] patience while I looked that up.",
)  # fmt: skip

TENSES = (
    "I [am knowing|know] how to fix that.",
    "We will [contacting|contact] you as soon as we know more.", "I am [use|used] to such questions, no worries.",
)  # fmt: skip

ARTICLES = (
    "That is [an|a] good question.", "I work in [customer service team|the customer service team].", "Please wait [a moments|a moment].",
    "May I have [minute|a minute] to look?", "I am [a sorry|sorry] to hear that.", "This needs [a more|more] time than I thought.",
)  # fmt: skip

QUESTIONS = (
    "Do you have a moment to [answering|answer] two questions?",
    "[Would|Would you] mind [to wait|waiting] a minute?",
)  # fmt: skip

FOREIGN = (
    "Kindly [to reply|reply] when you [are having|have] the time.", "I [am here since|have been here for] five minutes, checking it.",
    "Please explain [me|] the problem [with more details|in more detail].", "I will explain [you|] how it works.",
    "We are used to [get|getting] this question.", "Thank you for [to wait|waiting].", "Thanks for [contact|contacting] us today.",
    "I am responsible [of|for] your case.", "We are sorry [of|for] the trouble.", "My manager [he|] will call you.",
    "I have [few|a few] questions for you, [if is|if it is] okay.", "You [was right have|were right].", "To me [is|it is] clear now.",
    "Sorry, [is my|it is my] first week here.", "Please [you wait|wait] a little.", "I [very|really] like your idea.", "[Me also|I also] see what you mean.",
    "[Let me to check|Let me check] it for you.", "[All is|Everything is] working [good|well] on our side.", "If you [are have|have] a question, ask me.",
    "I [want say|want to say] sorry for that.", "We hope [see|to see] you soon.", "I try [help|to help] you now.",
)  # fmt: skip

NUMBERS = (
    "I have several [information|pieces of information] for you.", "Please give me more [informations|information].", "Thank you for the [feedbacks|feedback].",
    "Do you have any other [question|questions]?", "There is not [many|much] time left.", "Five [minute|minutes], please.", "Your [datas|data] is safe.", "My [advices|advice] is to wait.",
)  # fmt: skip

BROKEN = {
    name: (*lines, *TALK[name])
    for name, lines in (
        ("haste", HASTE), ("forms", ()), ("times", TENSES), ("bare", ARTICLES), ("asked", QUESTIONS),
        ("foreign", FOREIGN), ("plural", NUMBERS),
    )
}  # fmt: skip
"""The ideas by name; each is a family of L2."""

CHATTY = (
    "Done!", "All set.", "On it.", "Happy to help.", "No problem at all.", "Will do.", "Back in a sec.", "One moment please.",
    "Got it, thanks.", "Sounds good.", "Looking into it now.", "Anything else?", "Any luck?", "Same here.",
    "Sorry for the wait!", "Just a second.", "Noted.", "Much appreciated.", "Checking now.", "Found it.", "Almost there.",
    "Good call.", "Fair enough.", "Not to worry.", "Thanks for waiting.", "Makes sense.",
    "Fingers crossed.", "No need to do anything.", "Up to you.", "Your choice.", "Still here?",
    "Still with you.", "Bear with me.", "Be right back.", "Couldn't agree more.", "Hope that helps.", "Hope this finds you well.",
    "Speak soon.", "Take your time.", "Sure thing.",
    "Ready when you are.", "Subject to availability.", "First come, first served.",
    "Terms apply.", "Right away.", "As soon as possible.",
    "Which is why I asked.", "If not, just tell me.", "More on that below.", "Two options here.",
    "The team are on it.", "The team is on it.", "None of this is urgent.", "Not that it matters.", "Had I known, I would have said so.", "Were I in your place, I would ask too.", "So be it.", "Be that as it may, I will check.", "Not only did I read it, I also noted it.", "Rarely do I need long.", "The sooner we start, the better.", "Whom should I address?", "Whatever suits you.", "As is my habit, I check twice.", "That that helps is good to know.", "What you said is right.", "It is you who decide.", "I ask that you bear with me.", "Long story short, I am on it.", "Might take a minute or two.", "Should be quick.", "Could be a while.", "Must have missed that, sorry.", "Will let you know.", "Glad to hear it.", "Hang on.", "Nothing else needed.", "Enough said.", "My bad.", "Same to you.", "You too!", "Likewise.",
    "The staff are happy to help.",
    "It is I who should apologise.",

    "I do do that at times.",
    "Ten minutes is enough.",
    "An FAQ is on our site.",
    "Do be careful with it.",
)  # fmt: skip
"""Short forms and rare but right constructions, none of them an error."""

QUOTES = (
    'You wrote "@words".', 'About "@words":', 'I read "@words" and will look into that.', '"@words": noted.',
    'You said "@words", is that right?', 'Thank you for telling me "@words".', 'You typed "@words", I take it as read.',
    'Your message says: "@words".', "Quoting you: '@words'.", 'When you say "@words", do you mean today?',
    'Your note to me reads "@words".', 'On "@words", let me see.', "I understand '@words', thanks.",
)  # fmt: skip
"""How an agent quotes the customer."""
