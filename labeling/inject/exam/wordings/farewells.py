"""Endings of the exam (R1): what the customer says last, open or settled, and how the agent takes leave."""

# ruff: noqa: E501

OPEN_CASES = (
    (
        "I was also charged twice (last week|yesterday), can you look into that?",
        "I was also charged twice (last week|yesterday), but that has been paid back by now.",
    ),
    (
        "And there is still the wrong name on my account, could you fix it?",
        "And there was the wrong name on my account, but that has been fixed.",
    ),
    (
        "Before you go, where is my refund from (March|last month)?",
        "Before you go, my refund from (March|last month) has come in, all good.",
    ),
    ("What do I do if it doesn't arrive in time?", "If it doesn't arrive in time I know what to do."),
    (
        "Wait, my sister's ticket is missing, can you send it?",
        "Ah, my sister's ticket is here as well, it came through.",
    ),
    (
        "I still need the receipt for my employer, how do I get that?",
        "I've found the receipt for my employer, so that's done.",
    ),
    (
        "hang on, the total seems too high, why is that?",
        "ah, the total was too high but now I see why, it's fine",
    ),
    (
        "One question is left: who do I call if I'm late?",
        "No question is left: I have the number if I'm late.",
    ),
    (
        "Please also take my old address off the file. Will you?",
        "You have also taken my old address off the file. Good.",
    ),
    (
        "Could you also cancel my parking permit? I don't need it.",
        "You have also cancelled my parking permit, I see. I don't need it.",
    ),
    ("And the voucher from your letter, how do I use it?", "And the voucher from your letter, I've used it."),
    (
        "My (mother|neighbour) never got her letter. What now?",
        "My (mother|neighbour) got her letter. All well.",
    ),
    ("Hmm, and will the fee be taken off again?", "Ah, and the fee has been taken off again."),
    ("But when does somebody call me back?", "And somebody called me back a minute ago."),
    (
        "i cant find the mail from monday, can you resend it?",
        "i found the mail from monday, it is all in there",
    ),
)

NOT_SOLVED = (
    (
        "I did what you said and it still shows the error.",
        "I did what you said and it no longer shows the error.",
    ),
    ("No, I still can't get in.", "Yes, I can get in again."),
    ("Just checked, nothing has changed on my side.", "Just checked, it has changed on my side too."),
    ("That didn't solve it, the page is still empty.", "That solved it, the page is there again."),
    ("Nope, it's still not there.", "Yep, it's there now."),
    ("I am still waiting for the message you sent.", "I have just got the message you sent."),
    (
        "It worked for a second and now it's broken again.",
        "It was broken for a second and now it works again.",
    ),
    ("The amount is still wrong on my screen.", "The amount is right on my screen now."),
    (
        "Sorry, but that's no help, I have the same problem as before.",
        "Thanks, that's a help, I don't have the problem any more.",
    ),
    ("still the old name in the booking", "the new name is in the booking"),
    ("My phone still says not confirmed.", "My phone says confirmed now."),
    ("The link you sent leads nowhere.", "The link you sent leads to the right page."),
    ("Then I don't have what I need yet.", "Then I have all that I need."),
    ("I tried it again and got the same refusal.", "I tried it again and got the confirmation."),
    ("It's still spinning and spinning, nothing opens.", "It stopped spinning, the page opens."),
)

TROUBLES = (
    (
        "By the way, your app gives me an error when I open my bookings.",
        "Please close the app once and open it again.",
        (0, 2, 6, 8, 13),
    ),
    (
        "Also, I can't get into my account on your site.",
        "I have unlocked your account, please try again.",
        (0, 1, 6, 8, 13),
    ),
    ("There is still no confirmation in my inbox.", "I have just sent the confirmation again.", (4, 5, 12)),
    (
        "The page with my details is empty, by the way.",
        "I have refreshed your page, please have a look.",
        (2, 3, 8, 14),
    ),
    (
        "There is an old name in my booking, can you fix it?",
        "I have changed the name, please look at it now.",
        (2, 9),
    ),
    (
        "The amount on my screen is too high.",
        "I have corrected the amount, please reload the page.",
        (2, 7, 8),
    ),
    ("It says not confirmed on my phone.", "I have confirmed it once more, please look again.", (2, 6, 10)),
    (
        "Can you send me the link to my documents?",
        "I have sent you the link, you should have it now.",
        (5, 11, 12),
    ),
)
"""A side problem, what the agent does about it, and which reports (of NOT_SOLVED) may follow."""

LEADS = ("", "", "Thanks. ", "Okay. ", "Thank you. ", "Good. ", "All right. ")

FAREWELLS = (
    "Glad I could help! Have a (lovely|great|nice) day.",
    "Wonderful, then we're all done here. Bye!",
    "It was a pleasure to assist you. (Goodbye|Take care)!",
    "Thanks for choosing us. (See you soon|Until next time)!",
    "I'm happy that everything is sorted. Take care!",
    "Great, I'll close the chat now. All the best!",
    "cheers, bye for now",
    "You're all set then. Enjoy the rest of your (day|week)!",
    "Thank you for your time and have a pleasant (evening|weekend).",
    "Well, that's that. Goodbye and stay safe!",
    "Then I wish you a good day.",
    "Thanks for chatting with me today. Bye bye!",
    "Good, I consider this resolved. Goodbye.",
    "Many thanks for your call and goodbye!",
    "Perfect! I'm ending the chat here, have a good one.",
    "We look forward to seeing you again. So long!",
    "thank you & have a nice day",
    "Always a pleasure. Bye!",
    "I'm signing off now, all the best to you.",
    "Thank you for being our customer. Good night!",
    "Then nothing else remains. Thanks and goodbye.",
    "That's it from my side, have a great (trip|day|afternoon)!",
    "Alright, bye now and thanks for stopping by.",
    "This concludes our chat. Thank you very much.",
    "My work here is done! Cheers.",
    "Have a super day and thanks again!",
    "Brilliant. Ticket closed. Bye!",
    "Kind regards and thank you for contacting the service desk.",
    "See you! Don't forget to tell your friends about us.",
    "I will mark this as completed. Goodbye!",
)

FOLLOW_UPS = (
    (
        "Could you let me know what the branch says about my (claim|refund)?",
        "I've passed it to Joanna in claims, she calls you by (noon tomorrow|Friday 5 pm). Is that all right with you?",
        "Yes, that's fine.",
    ),
    (
        "And the wrong charge?",
        "It is with our accounts team as case 5174; you will hear from them by Thursday. Is that okay?",
        "Okay, good.",
    ),
    (
        "When will I know about the seat?",
        "I will write to you myself today before six. Does that suit you?",
        "Sure, that suits me.",
    ),
    (
        "What about the broken handle?",
        "A technician comes on Monday at ten, I've booked him. Shall we leave it at that?",
        "Yes please.",
    ),
)
"""An ask, a plan with an owner and a time, the customer's yes: may be closed."""
