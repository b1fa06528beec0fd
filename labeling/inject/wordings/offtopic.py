"""Small talk and messages meant for somebody else, and how a customer would have called for them.

A rule ``topic...`` of one grammar fits the rule of the same name in its partner.
"""

from __future__ import annotations

PERSON = ("Mike", "Laura", "Jon", "Yuki", "Petra", "Omar", "Sandra", "Kevin", "Aisha", "Leo")

CHAT = {
    "topic_match": ("(Did you (see|catch|watch)|Have you seen) the (game|match|final) (last night|yesterday|on Sunday)?"
                    "( What a (goal|finish)!| My team lost.|)", "(What a|That was some) (game|match) (yesterday|last night)"
                    "(! My team finally won.|, right?| - I lost my voice.)"),
    "topic_weather": ("(It's|It is) (pouring|boiling|freezing|so sunny) (here|at the office) (today|right now)(.|, I hate it.|!)",
                      "(I hope|Hopefully) the (rain|snow|heat) stops (soon|before my barbecue)(.|!)"),
    "topic_lunch": ("(I|We) (just |)had (the best|a terrible|a huge) (curry|pizza|salad|burger) for lunch(.|, so sleepy now.|!)",
                    "(I'm|I am) (so |really |)(hungry|full)(, my lunch was tiny.|, should not have had dessert.|.)"),
    "topic_pet": ("My (cat|dog|parrot) (kept me awake|ate my homework notes|learned to open the fridge) (last night|again|today)(.|!)",
                  "(Do you have|Any) pets? (Mine|My cat|My dog) (is so funny|sleeps all day)(.|!)"),
    "topic_series": ("(I'm|I am) (watching|hooked on) (this|a) (new |)(series|show) (about|with) (pirates|chefs|a detective)"
                     "(, no spoilers please.|, it's amazing.|.)", "(Which|What) (series|films) (do you watch|are you into)(?| these days?)"),
    "topic_trip": ("(I|We) (fly|go) to (Greece|Iceland|Bali) (next week|in June)(, I can't wait!|, finally a break.|.)",
                   "(My|Our) (holiday|vacation) (was|is) (too short|amazing|over already)(.|!)"),
}  # fmt: skip
CHAT_ASKED = {
    "topic_match": ("(Are you|Were you) (watching|following) the (football|match) too?", "(Any|Do you have) plans about the big game?"),
    "topic_weather": ("(How is|What's) the weather (at your place|where you are)?", "(Is it|Isn't it) (raining|hot) over there too?"),
    "topic_lunch": ("(Did you have|Have you had) (lunch|a good lunch|something to eat)( already|)?", "What did you eat today?"),
    "topic_pet": ("(Sorry, my dog is barking|My cat is on the keyboard). (Do you have pets|Any animals at your home)?",
                  "(Do you|Does anyone there) have (a pet|pets) too?"),
    "topic_series": ("(Seen|Watching) anything good (lately|on TV)?", "(While we wait|Meanwhile), what do you watch these days?"),
    "topic_trip": ("(Do you have|Any) (holiday|vacation) plans (yourself|this year)?", "(And|By the way), where do you go on vacation?"),
}  # fmt: skip
MISDIRECTED = {
    "topic_shift": ("@person, (can you|could you) (take|cover) my (shift|break|3 pm call|queue) (today|on Friday)?",
                    "(Hey|Psst) @person, (I'm off at|I leave at) (four|5), (cover for me|take my chats)(, please|)?"),
    "topic_other": ("(Hi|Hello) @person, your (washing machine|invoice for March|new passport|gym contract) (is ready|has arrived|expires)"
                    "( soon| today|).", "@person, (the plumber|our engineer|the piano tuner) (will ring|comes) (at noon|on Thursday)."),
    "topic_boss": ("(Boss|@person), (this one|the guy in chat two) (is slow|keeps asking things), (what do I do|any advice)?",
                   "@person, is the (quarterly report done|staff meeting at nine|printer order approved)?"),
    "topic_private": ("(Honey|Mum|@person), (I'll be|I am) (late|home at seven)(, start without me.|, get some milk.|.)",
                      "(Pick up|Don't forget) the (kids|dry cleaning|birthday cake)( at five|)(, @person|)(.|!)"),
}  # fmt: skip
MISDIRECTED_ASKED = {
    "topic_shift": ("(@person here from the next desk|It's @person, your colleague) - (did you need me for something|what did you want)?",),
    "topic_other": ("(This is|It's) @person, (also|by the way): (any news on my other case|is my other thing ready|what about my other matter)?",),
    "topic_boss": ("(@person from management here|It's @person, your team lead), (do you need anything|any questions for me)?",),
    "topic_private": ("(It's me, @person|@person here, your family), (when are you home|do you need anything|what should I do)?",),
}  # fmt: skip
