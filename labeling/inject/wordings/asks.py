"""How agents ask for what a customer may have said already, by kind of thing."""

from __future__ import annotations

NOUNS: dict[str, tuple[str, ...]] = {
    "day": ("the day", "the date", "your preferred day", "the day of your booking", "a date from you"),
    "time": ("the time", "your preferred time", "the time you have in mind", "a time from you"),
    "people": ("the number of people", "the size of your party", "the headcount", "the number of guests"),
    "nights": ("the length of your stay", "the number of nights", "the number of days", "the duration of the stay"),
    "price": ("your price range", "your budget", "the price range", "an idea of your budget"),
    "area": ("the area", "the part of town", "your preferred area", "a part of town"),
    "food": ("the type of food", "the cuisine", "the kind of cuisine", "your preferred cuisine"),
    "destination": ("your destination", "the place you are travelling to", "the name of your destination"),
    "departure": ("your departure point", "the place you start from", "your starting point"),
    "name": ("your name", "the name for this", "a name for this", "a name from you"),
    "email": ("your email address", "your e-mail", "the email on the account", "an email address"),
    "zip": ("your zip code", "the zip code", "your postal code", "the zip code on the account"),
    "order": ("your order number", "the order id", "the number of the order", "the order number for this"),
    "user": ("your user id", "the user id of your account", "your account id"),
    "milk": ("the kind of milk", "your choice of milk", "your preferred milk"),
    "size": ("the size", "the size you want", "your preferred size"),
}  # fmt: skip
"""Noun phrases for each kind of thing."""

QUESTIONS: dict[str, tuple[str, ...]] = {
    "day": ("(What|Which) day (would you like|do you need|is it for|works best|are you thinking of|should it be)?",
            "(When|On which day) (would you like it|do you need it|would that be|is it for)?", "For (what|which) (day|date)?"),
    "time": ("(What|At what) time (would you like|do you need|suits you|works best|should it be|are you thinking of)?",
             "(What|Which) time is (good|best|right) for you?", "For what time?"),
    "people": ("How many (people|guests|persons) (will there be|is it for|are you|will be there|should I plan for)?",
               "For how many (people|guests)?", "How (big|large) is your (party|group)?"),
    "nights": ("How (long|many nights|many days) (will you stay|will you be staying|do you need it|would you like)?",
               "For how (many nights|long)?"),
    "price": ("(What|Which) price range (do you prefer|are you looking for|would you like|did you have in mind)?",
              "(Do you have|Is there) a (budget|price range)( in mind|)?", "What is your budget?"),
    "area": ("(What|Which) (area|part of town|side of town) (do you prefer|would you like|are you looking in)?",
             "(Do you have|Is there) (an area|a part of town) you prefer?", "Where in town should it be?"),
    "food": ("(What|Which) (type|kind|sort) of (food|cuisine) (would you like|are you looking for|do you prefer)?",
             "(Do you have|Is there) a (cuisine|type of food) you prefer?", "What would you like to eat?"),
    "destination": ("Where (are you going|would you like to go|are you headed|do you need to go|are you travelling)( to|)?",
                    "What is your destination?", "(Which|What) (place|station|city) are you travelling to?"),
    "departure": ("Where (are you leaving|will you be departing|do you start|are you departing|are you coming) from?",
                  "(Which|What) (place|station|city) (are|will) you (be leaving|leaving) from?"),
    "name": ("(What|And what)('s| is) your name?", "(Whom|Who) am I (speaking|talking|chatting) (to|with)?",
             "(What|Which) name should I (use|put|write down)?"),
    "email": ("(What|Which) (e-mail|email)( address|) (do you use|is on the account|should I use)?", "What is your email?"),
    "zip": ("(What|Which) (zip|postal) code (do you live in|is on the account|should I use)?", "What is your zip code?"),
    "order": ("(What|Which) (is the order number|order is it about|order number do you have)?",
              "(Which|What) order (are we talking about|do you mean)?"),
    "user": ("(What|Which) (is your user id|user id do you have)?", "Under (which|what) user id are you registered?"),
    "milk": ("(What|Which) (kind|type) of milk (would you like|do you want|do you prefer|should I use)?",
             "(Any|What) milk preference?"),
    "size": ("(What|Which) size (would you like|do you want|should it be|can I get you)?", "How big should it be?"),
}  # fmt: skip
"""Questions of their own for each kind of thing."""

ASK = {
    "say": ("@question", "@lead @question", "@request", "@lead @request", "@request @why", "@question @why"),
    "lead": ("(Okay|Sure|Alright|Great|Certainly|Of course|No problem|Thanks|Thank you|Perfect|Right|I can help with that)"
             "(.|!)", "(I can help you with that|I'd be happy to help|Let me arrange that)(.|!)", "(Just|Only) one question."),
    "request": (
        "(Can|Could|May) I (have|get|ask for|ask you for) @noun(, please|)?",
        "(Could|Can|Would) you (please |)(tell me|give me|let me know|share|confirm for me) @noun(, please|)?",
        "(Please|Kindly) (tell me|give me|send me|let me know|provide) @noun.",
        "(I need|I'll need|I will need|I just need) @noun(, please| first| to go on| for that)(.|)",
        "(Would you mind|Do you mind) (telling|giving|sending) me @noun?", "(And|So|Now) @noun(, please|)?",
        "(To continue|To proceed|For the booking|Before I go on), (please tell me|may I have|I need) @noun.",
    ),
    "why": ("(I need it|That is|It's) (for the system|to go on|for the request|to continue)(.|)", "(Thanks|Thank you)(.|!)"),
}  # fmt: skip
MISSING = {
    "say": (
        "(I don't seem to have|I do not see|I can't see) @noun (here |)(yet|in our chat|anywhere).",
        "(There is|It looks like there is) one (gap|field|box) left (on my form|in my notes): @noun.",
        "(You haven't mentioned|You didn't mention|You never gave me|You have not told me) @noun( yet| so far|).",
        "(We are|I am|We're) only missing @noun( now| here|).", "(Still|What is still) (missing|open|outstanding): @noun.",
        "(My form|The system|The screen) (won't let me on|stays red|is stuck) without @noun.",
        "(As soon as|Once) (I know|you tell me) @noun, (we can|I can) (go on|continue|finish this).",
    ),
}  # fmt: skip
LISTED = {
    "say": (
        "(To get started|For this|Here is what I require|Fill in the following|Details wanted): @noun(, | and also |; )@other(.|)",
        "@other and @noun(, if you can|, both of them|)(.|?)", "(Two|A couple of) (details|points) are (open|required): "
        "(1|a)) @other (2|b)) @noun", "(Tell|Write) me both @other and @noun(.| in one go.| when you can.)",
    ),
    "other": ("a contact phone number", "any special wishes", "how you would like to pay", "the reason for your request",
              "how you heard of us", "a second contact person"),
}  # fmt: skip
REPLIES = (
    "@value", "@value(.| please| please.|, please.|, thanks.)", "(It's|It is|That's|That would be|That is) @value(.|)",
    "(Okay|Sure|Well|Yes), @value(.|)", "@value(, if possible| is fine| works)(.|)",
)  # fmt: skip
UNSAID = (
    "(One moment|One second|Hold on|Just a second), (let me look|I have to look that up|I'm looking it up).",
    "(Let me see|Let me check|Wait a moment)(.|...)", "(Why do you need that|What do you need it for)?",
    "(I'll tell you in a moment|I have to find it first|I have it somewhere|I will have to look)(.|)",
)  # fmt: skip
