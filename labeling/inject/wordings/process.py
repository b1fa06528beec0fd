"""What agents and customers say around a step of a procedure: asking, waiving, refusing, coming late."""

from __future__ import annotations

from dialint.labeling.synthetic.phrases import Grammar

THINGS: dict[str, str] = {
    "ask_name": "name",
    "account_number": "account number",
    "booking_number": "booking ID",
    "ask_rank": "rank",
    "code_type": "code type",
    "ask_code": "code",
    "destination": "destination",
    "departure_city": "departure city",
    "arrival_city": "destination",
    "departure": "pick-up point",
    "date_from": "arrival date",
    "date_to": "departure date",
    "ask_hotel": "hotel",
    "ask_restaurant": "restaurant",
    "ask_size": "number of guests",
    "number_of_guests": "number of guests",
    "doctor_name": "doctor",
    "symptoms": "symptoms",
    "apartment_name": "apartment",
    "fee_paid": "application fee",
    "guest_name": "guest",
    "end_time": "end time",
    "starting_time": "starting time",
    "start_time": "starting time",
    "arrival_time": "arrival time",
    "ask_time": "time",
    "ask_host": "host's name",
    "ask_venue": "venue",
    "parking": "parking needs",
    "manufacturer": "manufacturer of the lock",
    "top_cable": "colour of the top cable",
    "second_cable": "colour of the second cable",
    "dietary": "dietary restrictions",
    "weather_ask_location": "city",
    "ask_day": "day",
    "ask_date": "date",
}
"""What a step asks for, by a part of the step's name; the first that fits counts."""

CHAT: tuple[tuple[str, str], ...] = (
    ("(How is|How's) your day (going|so far|been)?", "(Pretty good|Not bad|Busy), (thanks|thank you|cheers)."),
    ("(Bear with me|One moment|Just a second|Hang on), (please|my screen is slow|the system is loading).",
     "(Sure|No problem|Take your time|Okay|No rush)."),
    ("(Thanks|Thank you) for (your patience|waiting|holding).", "(You're welcome|No worries|That's fine|Of course)."),
    ("(Lovely|Terrible|Strange) weather (today|these days|this week), isn't it?", "(It really is|Yes, quite|I hardly noticed)."),
    ("(Is this|Would this be) your first time (with us|using our service)?", "(Yes, it is|No, I have been here before|I think so)."),
    ("(Let me|I will|I'll) (open|pull up|bring up) the (form|page|right screen).", "(Okay|Alright|Great|Thank you|Good)."),
    ("(Happy|Glad|Delighted) to (help|take care of that) (today|for you|).", "(Great|Wonderful|Thanks a lot|That's kind)."),
    ("(It is|It's) a (busy|quiet) (day|morning|evening) (here|for us).", "(I can imagine|Oh really|Same here|I see)."),
    ("How did you (hear about|find) us?", "(A friend told me|Through an advert|Online|From my sister)."),
    ("(I am|I'm) (sorry about the short wait|with you in a second|back now).", "(That's okay|Good|No problem at all)."),
    ("(Our new website|Our app) went live (this week|last month), by the way.", "(Nice|I will have a look|Good to know)."),
    ("(You|Sounds like you) have (a nice plan|quite a day) ahead.", "(I hope so|Indeed|Ha, yes|We will see)."),
)  # fmt: skip
"""Small talk that takes the place of a step: what the agent says and what the customer answers."""

WAIVED: tuple[tuple[str, str], ...] = (
    ("(We|I) (can|could) (skip|leave out) the (question|check) about (the|your) @thing.", "(Fine by me|Okay|Good)."),
    ("(No need|There's no need) to (tell|give) me (your|the) @thing(, this will be quick|, I trust you|).", "(Oh, okay|Great, thanks|Alright)."),
    ("I (won't|will not) (bother|trouble|bore) you with (your|the) @thing(, let's get on|).", "(Thank you|Even better|Sure)."),
    ("(Normally|Usually) (I would|I'd|I should|we) (ask|check) (your|the) @thing, but (never mind|let's not|let us skip that).",
     "(Okay then|If you say so|Fine)."),
    ("(Forget|Never mind) (about|) the @thing, (we'll|we will) (do|manage) without( it|).", "(Sure|Okay|All right)."),
    ("The form (wants|asks for) (your|a) @thing, I (just|simply) put (something|a dummy|anything) there.", "(Ha, okay|Whatever works|Good)."),
    ("(Don't|Do not) worry about (your|the) @thing (today|this time|now).", "(Oh, good|Right|Thanks)."),
    ("I am in a hurry, so no (question|check) about (your|the) @thing (today|now|).", "(Suits me|Okay|No problem)."),
    ("(They|My managers|The rules) want me to (ask|check) (your|the) @thing, (but who cares|I think we can do without).",
     "(Ha, right|I won't tell|Okay)."),
    ("@cap_thing: (skipped|not needed|left open). (On we go|Moving on|Next).", "(Okay|Fine|Good)."),
)  # fmt: skip
"""An agent waives a step that is required, and the customer agrees."""

NEEDED: tuple[str, ...] = (
    "(Before|Ahead of) (anything else|that|I go on), I (do|still) need (your|the) @thing.",
    "(We|I) (can't|cannot) (skip|leave out) the (question|check) about (the|your) @thing.",
    "I (have to|must|am required to) (ask|check) (your|the) @thing (first|before we go on).",
    "(Please|Could you please) (tell|give) me (your|the) @thing (first|so that I can go on|).",
    "The form (wants|asks for) (your|a) @thing, (so could you tell me|what may I put there)?",
    "(Normally|Usually|As always) I (would|have to) (ask|check) (your|the) @thing(, so please|, if I may|).",
    "(They|The rules) want me to (ask|check) (your|the) @thing, (so here goes|what is it).",
    "@cap_thing, please. (I can't|I cannot) (go on|do it) without( it|).",
)
"""An agent insists on the same step."""

ASKED: tuple[str, ...] = (
    "(What|And what) should I (put|enter|write) (down|) for the @thing?",
    "(May|Could|Can) I (get|have|note) the @thing( from you|, please|)?",
    "(Tell|Give) me the @thing(, please|, if you would| and we are nearly there|).",
    "(Next|Now|First), the @thing( please|, if I may ask|)?",
    "(I'd|I would|I will|I'll) (also |)need the @thing (for this|from you|to go on).",
    "(Which|What) @thing (do I|should I|shall I) (use|enter|note)?",
    "(Then|So) (it's|there is) the @thing (left|still to fill in), (please|what is it).",
    "(Would|Could) you (mind telling|let) me (know |)the @thing?",
    "the @thing?",
    "(I see|There is) an empty field here: @thing.",
)
"""The same step in an agent's own words."""

FRAMES: Grammar = {
    "name": ("My name is @answer.", "I'm @answer.", "This is @answer.", "(The name is|It's for) @answer.",
             "@answer here, by the way."),
    "other": ("(My|The) @thing (is|would be|will be): @answer.", "(In case you need it|For your form), the @thing: @answer.",
              "(As for|About) the @thing: @answer.", "@cap_thing: @answer.", "(You will|You'll) want the @thing: @answer."),
}  # fmt: skip
"""A customer volunteers what a step would ask for."""

LATE: tuple[str, ...] = (
    "(Oh, one|One|Just one) (more thing|thing) I (should have|ought to have) asked (before|first|earlier):",
    "(Sorry|Apologies), I (forgot|missed|left out) (something|a question|one step):",
    "(Now that|Since) (that's|this is) (done|finished|through):",
    "(For|To complete) (the|my) (records|files|form|paperwork):",
    "(I see|I notice) (I have|there is) (an empty field|a blank|a gap) (left|here):",
    "(Before I forget|Ah, wait|Oh), (something|a question|one) I (skipped|jumped over|still owe you):",
    "(The system|My screen|The form) (complains|reminds me|says) (that I missed this|something is missing):",
    "(We did that|That was) (a little|a bit) (fast|quick|back to front):",
)
"""What an agent puts before a step that comes too late."""

EARLY: tuple[str, ...] = (
    "(One thing|Just one thing|A question) I (should|have to|need to) ask (before|first):",
    "(Sorry|Apologies|Right), (I need|we need) (something|one detail|one step) (first|before that):",
    "(Before|Until) (that's|this is|we are|it is) (done|through|finished):",
    "(For|To start) (the|my) (records|files|form|paperwork):",
    "(I see|I notice) (I have|there is) (an empty field|a blank|a gap) (left|here):",
    "(Before I go on|Wait|Right), (something|a question|one) I (can't skip|must ask|still need):",
    "(The system|My screen|The form) (wants|asks me|says) (this first|something is missing):",
    "(Not so fast|One by one|In good order):",
)
"""The same before a step in its place."""

VERIFIED: tuple[tuple[str, str], ...] = (
    ("For security, (could|can|may) I (just |)(verify|confirm|check) who I am speaking (to|with)?", "(Yes, it's|It is|This is) @answer."),
    ("(Whose|Under whose) (name|booking) (is|was) this(, please|, by the way|)?", "@answer."),
    ("I (need|have) to (verify|confirm) your identity, (your full name|what is your name), please.", "@answer."),
    ("(Please|Kindly) (identify yourself|confirm your name) (for me|for our records|).", "(I am|I'm) @answer."),
    ("(Are you|Is this) the account holder? (Your name|Name), please.", "(Yes|I am), @answer."),
    ("(Who|And who) am I (talking|speaking|chatting) (to|with)?", "(You are speaking with|It's) @answer."),
    ("(Let me|I'll) (just |)run the identity check: (your name|who are you), please?", "@answer."),
)  # fmt: skip
"""A check of identity in other words, and its answer; `@answer` is the customer's own name."""

GO_AHEAD: tuple[tuple[str, str], ...] = (
    ("(Shall|Should) I (go ahead|proceed|finalise it|put it through)?", "(Yes, please|Please do|Go ahead|Sure)."),
    ("(Are you happy|Is it okay for you) (with that|for me to go ahead)?", "(Yes|I am|Absolutely|It is)."),
    ("(Ready|Good) (to go|for me to submit this)?", "(Yes|Ready|All good|Do it)."),
    ("(I have|I've got) everything. (May I submit it|Do you agree|Is that all right)?", "(Yes, thanks|You may|Agreed|Right)."),
    ("(Do you want|Would you like) me to (go through with it|complete it|make it final)?", "(Yes I do|That would be great|Please)."),
)  # fmt: skip
"""A question for consent in other words, and the consent."""

REFUSED: tuple[str, ...] = (
    "I (don't|do not) have (that|it) (at hand|with me|right now).", "(I'd|I would) rather not say.",
    "(No idea|I can't remember|I don't know), sorry.", "(Why do you need that|Is that necessary)? (I'll pass|No).",
    "(Let me|I'll) (look that up|find out) (later|and call back).", "(Can we|Could we) do it without that?",
    "(Hmm|Um), (not sure|I would have to look).", "(That's|That is) private.", "(Not decided|Still open), (to be honest|sorry).",
)  # fmt: skip
"""A customer does not give what a step asks for."""

UNMATCHED: tuple[tuple[str, str, str], ...] = (
    ("That (doesn't|does not) (match|agree with) (what I have|our records|the file).", "(Odd|Strange|Hm, it should).",
     "That (matches|agrees with) (what I have|our records|the file)."),
    ("(I can't|I cannot|I'm unable to) find (that|it) (here|in the system|on my list).", "(Really|Oh|That is strange).",
     "(I can|I could) find (that|it) (here|in the system|on my list)."),
    ("(There's|I see) a different entry (here|on my screen|in the file).", "(No clue why|Hm|Weird).",
     "(There's|I see) the same entry (here|on my screen|in the file)."),
    ("The (check|verification|look-up) (failed|came back negative|shows no match).", "(Oh dear|Too bad|I see).",
     "The (check|verification|look-up) (worked|came back positive|shows a match)."),
    ("The system (rejects|refuses|does not take) (that|this entry).", "(Hm|It used to work|Oh).",
     "The system (accepts|takes|has taken) (that|this entry)."),
)  # fmt: skip
"""The value is given and does not hold; and the same where it holds."""

AGAIN: tuple[tuple[str, str], ...] = (
    ("(Great|Thanks|Perfect). (Could|Can) you (make|do|arrange) (a second one|another one) just like (it|that)(, please|)?",
     "(Done|Sure, done|There you go), (the second one is set as well|I have made another one|that makes two)."),
    ("(Good|Nice). (Please|And) (do|arrange) the same (once more|again) (for my brother|for my wife|for a colleague|for a friend).",
     "(Certainly|Of course|No problem), (that one is done too|all set for both of you|the other one is through as well)."),
    ("(I need|We need|I'd like) the very same thing (for next week as well|one more time|twice, actually).",
     "(Alright|Okay), (I have done it a second time|both are in the system now|that is arranged too)."),
    ("(Wonderful|Super). (Same again|One more of those|Another of these), please, with all the same details.",
     "(And|Right,) (that's the second one|there goes number two|the second is confirmed as well)."),
)  # fmt: skip
"""A second task of the same kind, for which the steps of the first still hold."""

SECOND: tuple[tuple[str, str, str], ...] = (
    ("(I also|Now I) need (one|the same) for (my mother|my boss|a friend|my neighbour)(, please| but with other details|).",
     "(Sure|Happy to)! (What|And what) is the @thing (for that one|in that case|this time)?", "(Good question, let me ask|I will find out and call back)."),
    ("(Can|Could) we (do|set up) (another|a second) one (after that|as well), with a different @thing?",
     "(Of course|Certainly). (Which|What) @thing (should|shall) I (use|take) for the second?", "(I will tell you tomorrow|Still undecided, I'll be back)."),
    ("(Great|Perfect). (There's|I have) a second one to (do|arrange), a (new|separate) request.",
     "(No problem|Okay). (May I have|Please tell me) the @thing for the (new|second) one(, please|)?", "(Let me check first|Actually, I'll do it another day)."),
    ("(Something|One thing) (changed|has changed): (could you|please) redo it with (a new|another) @thing.",
     "(Okay|Sure), (what|which) (new |)@thing (is it|shall I enter|do you want) (now|instead|)?", "(On second thoughts, leave it|Never mind, keep it as it is)."),
)  # fmt: skip
"""A second task, for which a step is rightly asked after the first one's outcome."""

FOLLOW_UP: tuple[tuple[str, str], ...] = (
    ("(Shall|Should) I (send|mail|text) you (a confirmation|the details|a summary)?", "(Yes, please|No, thanks|That would be nice)."),
    ("(Would|Do) you (like|want) (a reminder|to be reminded) (beforehand|the day before|)?", "(No need|Sure|Yes, why not)."),
    ("(How|Where) (should|shall) I send (the confirmation|your copy), (mail or text|by e-mail)?", "(By text|E-mail is fine|Mail, please)."),
    ("(May|Can) I (ask|note) how you (found us|liked our service)?", "(Very good|A friend told me|Five stars)."),
    ("(Have you got|Do you have) everything (written down|you need|)?", "(Yes|Yes, thanks|All here)."),
)  # fmt: skip
"""Questions that rightly come after the outcome."""
