"""How customers give a thing, how agents ask for it, and how either speaks of changing it.

``@noun`` names the kind of thing ("order number"), ``@question`` is a question of its own for it.
"""

from __future__ import annotations

STATE = (
    "My @noun is @value.", "My @noun: @value.", "@noun @value.", "The @noun would be @value.", "You'll need my @noun, that's @value.",
    "@value is my @noun.", "@value is the @noun.", "(Just so you know|For your notes|FYI), the @noun is @value.",
    "(@noun|My @noun) = @value", "Here's my @noun: @value.", "I can give you the @noun right away, it's @value.",
    "As for the @noun, that's @value.", "The @noun is @value, if that helps.", "I wrote down @value as my @noun.",
    "With @value as @noun.", "I have the @noun here: @value.", "About the @noun: @value.", "@noun? That's @value.",
)  # fmt: skip

ASK = {
    "say": ("@whole",) * 3 + ("@question",) * 2 + ("@front @question", "@front @whole", "@whole @rear", "@question @rear"),
    "front": (
        "Okay.", "Sure.", "Of course.", "Alright then.", "Thanks.", "Very good.", "Right.", "Gladly.", "Hm.", "So,", "One thing:",
        "Before I go on:", "I see.", "Happy to help.", "Good.", "Let me look into that.", "To get this done:", "One question:",
        "Fine.", "A detail is missing:", "I can do that for you.", "Let me note that.", "Got it.", "For the form:",
    ),
    "rear": (
        "Then I can go on.", "I need it for the file.", "The system wants it.", "Thanks in advance.", "That's all I need.",
        "After that we're nearly there.", "It's a required field.", "Take your time.", "I can't continue without it.",
        "Thank you!", "It will only take a second.", "That would help me.", "I'll add it right away.",
    ),
    "whole": (
        # direct
        "What's your @noun?", "What is your @noun?", "And your @noun?", "Your @noun?", "Your @noun, please.", "@noun?", "@noun please.",
        "And the @noun?", "And what would your @noun be?", "What's the @noun?", "What @noun do you have?", "Which @noun should I use?",
        "Which @noun is it?", "What @noun shall I enter?", "What do I put under @noun?", "So what's the @noun?",
        "What have you got as your @noun?", "What was your @noun?", "What @noun are we talking about?", "Now the @noun, please.",
        # requests
        "Can I have your @noun?", "Could I get your @noun?", "May I have your @noun?", "May I ask for your @noun?", "Can you give me your @noun?",
        "Could you tell me your @noun?", "Would you tell me the @noun?", "Could you send me your @noun?", "Can you type your @noun for me?",
        "Please give me your @noun.", "Please tell me your @noun.", "Please enter your @noun.", "Please provide your @noun.",
        "Please share your @noun with me.", "Please let me know your @noun.", "Please send over your @noun.", "Kindly provide your @noun.",
        "Kindly share the @noun.", "Give me your @noun, please.", "Tell me your @noun, please.", "Send me your @noun and I'll go on.",
        "Would you mind giving me your @noun?", "Do you mind telling me your @noun?", "Would you be so kind as to give me your @noun?",
        "Could I trouble you for your @noun?", "Might I ask your @noun?", "Could I just grab your @noun?", "Can I grab your @noun real quick?",
        "Let me have your @noun.", "Let me get your @noun.", "Let me take down your @noun.", "Let me just ask for your @noun.",
        "Just pop your @noun in here.", "Drop me your @noun here.", "If you could give me your @noun, that'd be great.",
        "If I could have your @noun, please.", "If you tell me your @noun I can start.", "Be so good and tell me the @noun.",
        # needs
        "I need your @noun.", "I need your @noun to go on.", "I'll need your @noun.", "I will need the @noun for that.", "I just need your @noun.",
        "I still need your @noun.", "I'd need your @noun.", "We need your @noun.", "We'd need the @noun first.", "All I need is your @noun.",
        "For that I need your @noun.", "For this I'd have to know your @noun.", "To proceed I require your @noun.",
        "In order to continue, we require your @noun.", "Your @noun is required.", "Your @noun is needed for this request.",
        "I need from you the @noun.", "Needed: your @noun.", "What I need now is your @noun.", "First thing I need is the @noun.",
        "I should have your @noun for this.", "This needs your @noun.",
        # embedded
        "I'd like to know your @noun.", "I would like to ask what your @noun is.", "I was wondering what your @noun is.",
        "I wonder if I could have your @noun.", "I'd be curious about your @noun.", "I have to ask for your @noun.",
        "I need to know what your @noun is.", "May I know what your @noun is?", "Can you tell me what your @noun is?",
        "Do you know your @noun?", "Do you happen to have your @noun?", "Do you have your @noun at hand?", "Do you have a @noun for me?",
        "Have you got your @noun there?", "Have you got your @noun handy?", "Is there a @noun?", "You have a @noun for me?",
        "Could you look up your @noun?", "Could you read me your @noun?", "I'm not sure of your @noun, what is it?",
        "I don't see your @noun here, can you give it to me?", "I don't have your @noun, what is it?", "There's no @noun in my notes, could you add it?",
        "Your @noun isn't here yet, could I have it?", "I can't go further without your @noun.", "Nothing happens without the @noun, so please send it.",
        # purposes
        "To find you in the system, may I have your @noun?", "To look this up I need your @noun.", "So that I can check, what's your @noun?",
        "So I can help: your @noun?", "For my notes, what is your @noun?", "For the record, your @noun please.", "For the paperwork I need your @noun.",
        "To speed things up, please send your @noun.", "In order to assist you, kindly tell us your @noun.",
        "To get started, please tell me your @noun.", "Once I have your @noun I can go on.", "As soon as you tell me your @noun, I'll continue.",
        "After you give me your @noun we can proceed.", "Then we only need your @noun.", "Next I need your @noun.", "Next question: your @noun?",
        "Next up, your @noun.", "Now what about your @noun?", "What about the @noun?", "How about your @noun?", "And regarding your @noun?",
        # form-like, terse
        "@noun:", "Field 2: @noun", "Please fill in: @noun.", "Please complete: @noun = ?", "Missing entry: @noun.", "Open point: @noun.",
        "Enter @noun to continue.", "Reply with your @noun to continue.", "Step 1 is your @noun.", "pls send @noun", "ur @noun pls",
        "@noun pls", "just the @noun pls", "need @noun", "could u give me your @noun", "type in your @noun please",
        "Data needed to proceed: @noun.", "The form asks for your @noun.", "My screen asks for your @noun.", "The tool wants a @noun.",
        # non-native, chatty
        "Kindly do tell your @noun.",
        "Mind sharing your @noun?", "Fancy telling me your @noun?", "Got a @noun for me?", "Hit me with your @noun!", "What've you got for a @noun?",
        "Right, @noun time, what is it?", "Can we do your @noun next?", "Shall we start with your @noun?", "Let's start with your @noun.",
        "Let's do the @noun now.", "Let's begin: what is your @noun?", "I'd start with your @noun, if I may.", "First of all, your @noun?",
        # confirm-as-if-new, choices
        "You haven't got a @noun, have you?", "I take it you have a @noun, what is it?", "Is your @noun something you can tell me now?",
        "Shall I leave the @noun empty or do you have one?", "Do you want to give me the @noun now or later?", "By the way, what's your @noun?",
        "Oh, and your @noun?", "Also, I need your @noun.", "One more thing, your @noun?", "Last thing: your @noun?", "Lastly, what is your @noun?",
        "Finally, I need your @noun.", "Only your @noun is left.", "What remains is your @noun.", "The one thing I lack is your @noun.",
        "The only thing missing is the @noun.", "I'm only missing your @noun.", "I forgot to ask, what's your @noun?",
    ),
}  # fmt: skip

REPLY = (
    "@value", "@value.", "It's @value.", "That's @value.", "Sure, @value.", "@value, please.", "Okay: @value", "My answer is @value.",
    "@value, thanks.", "Of course, @value.", "That would be @value.", "Yes, @value.", "Well, @value.", "Here you go: @value",
)  # fmt: skip

CHANGE = (
    "I have to change the @noun.", "Could I change the @noun?", "Can we change the @noun after all?", "I want to correct the @noun.", "I've changed my mind about the @noun.",
    "Please forget about the @noun I gave you.", "Let me revise the @noun.", "We need to update the @noun.", "I'd like to change the @noun, if I may.", "I got it wrong with the @noun before.",
    "Hold on, I must change the @noun.", "Is it too late to change the @noun?", "Sorry, scrap the @noun from before.", "Actually, I need to alter the @noun.",
    "May I give you something else for the @noun?", "I made a mistake with the @noun.", "Can you still change the @noun?", "Delete the @noun, please, I want to change that.",
)  # fmt: skip

TAKEN_UP = (
    "Sure, what should the @noun be?", "Of course. What's the new @noun?", "No problem, which @noun shall I put instead?", "Fine, what do I put for the @noun?",
    "Okay, your new @noun?", "Gladly. Which @noun is right?", "Alright, the @noun first. What should it be?", "Certainly, what would the @noun be now?", "Let's begin with the @noun, what is it now?",
    "Sure thing, tell me the new @noun.", "Yes, please give me the new @noun.", "Understood. The @noun now is?",
)  # fmt: skip
"""An agent who takes up a wish to change something."""

ACKNOWLEDGE = (
    "Sure.", "No problem.", "Okay, let's see.", "Of course.", "Alright.", "That can be done.", "Understood.", "Fine.", "Very well.", "Got it.",
)  # fmt: skip

SECURITY = (
    "For security, please repeat your @noun.", "To verify it's you, could you state your @noun once more?", "Before I open the account I have to check your @noun again, please type it.",
    "As a safety check, what was the @noun again?", "I see the @noun above, but the security step wants you to enter it once more.",
    "Our data protection rules ask me to have you confirm the @noun a second time.", "To protect your account, please give the @noun once again.",
    "Thanks for the @noun. For verification I must ask you to type it again.", "To be sure I'm not talking to a stranger, please repeat your @noun.",
    "Identity check: please enter your @noun again.",
)  # fmt: skip

READ_BACK = (
    "So your @noun is @value, right?", "Your @noun was @value, correct?", "I have @value as your @noun, is that right?", "@value for the @noun, yes?",
    "Let me repeat the @noun: @value. Correct?", "Did I get the @noun right, @value?", "You gave me @value as @noun, is that still right?",
    "I noted @value under @noun. Is this correct?", "May I confirm the @noun, @value?", "To be sure: the @noun is @value?", "@noun @value, is that it?",
)  # fmt: skip

UNREADABLE = (
    "Your message with the @noun was cut off, could you send it again?", "The @noun you gave me isn't found, can you check it and type it again?",
    "The system rejects @value, is there a digit missing in the @noun?", "I tried @value as @noun but nothing comes up. Could you look at it once more?",
    "Thanks for the @noun, but I lost it when the chat froze. Sorry, could you repeat it?", "@value doesn't match our records, which @noun is right?",
)  # fmt: skip

SECOND = (
    ("I have a second one for my colleague too.", "And for your colleague, what @noun should I put?"),
    ("My sister wants the same.", "Gladly. What is your sister's @noun?"),
    ("There is one more matter, for my father.", "And what's your father's @noun?"),
    ("I'd like to add another person.", "Sure, what is the other person's @noun?"),
    ("Could you do the same for my neighbour?", "Of course. Your neighbour's @noun, please?"),
    ("And then there's the second request.", "For the second request, which @noun applies?"),
)  # fmt: skip

BOTH = (
    "You gave me @value and @other, which of the two is the @noun to use?", "Is the @noun @value or @other?", "I see two entries for @noun, @value and @other. Which one holds?",
    "Should I take @value or @other as @noun?", "@value or @other, which @noun do you prefer?",
)  # fmt: skip

PUT_OFF = (
    "Just a second.", "One moment please.", "Hm, okay.", "Sure.", "Hang on.", "Okay.", "Why do you ask?", "Wait, I'll type it.",
    "Right.", "Coming.", "Is that needed?", "Moment.", "Yes, hold on.", "Alright.", "Of course.", "Okay, here it comes.",
)  # fmt: skip
"""Answers of a customer that hold no value."""
