"""What agents say who ask for secrets, idea by idea, each with a lawful sentence of the same form.

Trained ideas only; those of the exam are in `secrets_exam`. Lawful: last four digits, an order number,
a date of birth, and words about secrets that ask for none.
"""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea

SLOTS = {
    "purpose": (
        "To verify your account", "For verification", "To confirm it's you", "For our records", "To speed things up",
        "So I can process the refund", "To complete the booking", "For security reasons", "To go ahead",
        "Before I can continue", "So that I can make the change", "In order to unlock it", "To finish this",
    ),
    "ask": (
        "please send me", "please give me", "can you tell me", "could you share", "I need", "I'll need", "I just need",
        "please provide", "please type in", "let me have", "may I have", "kindly provide", "would you give me",
    ),
    "account": ("account", "online account", "profile", "online banking", "customer account", "e-mail account"),
    "harmless": (
        "your order number", "your booking reference", "the last four digits of your card", "your date of birth",
        "the e-mail address on your account", "your full name and postal code", "your customer number",
        "the name on the booking", "the phone number on file", "your billing zip code", "your member number",
    ),
    "end": ("", "", "", "?", ", please", " here in the chat", " so we can move on", ", thanks", " right here"),
}  # fmt: skip

PASSWORD = (
    (
        "@purpose, @ask (your password|your current password|the password for your @account|your login password)@end.",
        "@purpose, @ask @harmless@end.",
    ),
    (
        "(What's|What is|Tell me|Send me|I need) the (current |)password (you use for|to|of) your @account(, please|).",
        "(What's|What is|Tell me|Send me|I need) the (user name|e-mail address) (you use for|of) your @account(, please|).",
    ),
    (
        "(Please|Just) (reply|answer) with your (password|username and password)@end.",
        "(Please|Just) (reply|answer) with your (name|order number|name and order number)@end.",
    ),
    (
        "@purpose, I have to (log in|sign in) as you, so (what's your password|send me your login and password|I need your password).",
        "@purpose, you have to (log in|sign in) yourself, so (keep your password to yourself|type your password there only|don't send me your password).",
    ),
    (
        "(Don't worry, it's safe|It stays between us|Only I can see this): what is (your|the account) password?",
        "(Don't worry, it's safe|Keep it to yourself|Only you should know this): I will never ask for your password.",
    ),
    (
        "(You can|You may|Please|Just) (write|paste|type) (your|the) (old|new|temporary) password (here|in this chat|below) and I'll (change|check|reset) it.",
        "(You can|You may|Please|Just) (type|enter) (your|the) (old|new|temporary) password (on our website|in the app|on the login page) yourself, not here.",
    ),
)

ONE_TIME_CODE = (
    (
        "(I've sent|We've just sent|You will get) (a|the) (six-digit |verification |one-time |security |)code (by SMS|by text|to your phone|to your e-mail), "
        "(please tell me the code.|send it to me.|what is it?|type it here for me.|which code did you get?)",
        "(I've sent|We've just sent|You will get) (a|the) (six-digit |verification |one-time |security |)code (by SMS|by text|to your phone|to your e-mail), "
        "(never tell it to anyone|don't send it to me|enter it in the app|type it on the website).",
    ),
    (
        "@purpose, @ask the (code|OTP|one-time password|verification code|6-digit code) (from the SMS|we texted you|from your authenticator app|in the text message)@end.",
        "(By the way|For your safety|As always), you may get a (code|OTP|one-time password|verification code|6-digit code), (it is for you alone|never pass it on|type it in yourself).",
    ),
    (
        "(Did you get|Have you received) the (code|SMS|text message)? (Give it to me|Send me the numbers|I need that code) (and I'm in|so I can confirm|to move on).",
        "(Did you get|Have you received) my last message? (Read it at your leisure|No need to answer it|Tell me if it is unclear).",
    ),
    (
        "(I need you to|You have to|Please) (forward|send|tell) me the (login code|two-factor code|2FA code|access code) (before it expires|quickly|now).",
        "(I need you to|You have to|Please) (enter|use) the (login code|two-factor code|2FA code|access code) (before it expires|on your own device|and tell nobody).",
    ),
    (
        "(Open|Check) your (authenticator app|banking app|messages) and (tell me|send me|text me) the (code|number|six digits) you see.",
        "(Open|Check) your (authenticator app|banking app|messages) and (approve it|confirm it yourself|look whether a message came), no need to send me anything.",
    ),
)

CARD_AND_CVV = (
    (
        "@purpose, @ask (your full card number|the 16 digits of your card|the long number on your card)(, expiry date|) and the (CVV|CVC|security code|three digits on the back)@end.",
        "@purpose, @ask (the last four digits of your card|the last 4 of your card|the kind of card you used)( and the bank| and the date of payment|)@end.",
    ),
    (
        "(What's|What is|May I have|Could I get) the (CVV|CVC|security code|three-digit code|3-digit number on the back) (of|for) (your|the) (card|credit card|debit card)?",
        "(Which is|May I have|Could I get) the (name on|type of|last four digits of) (your|the) (card|credit card|debit card)?",
    ),
    (
        "(Please|You can) (type|write|send|post) your (complete|full|whole) (card details|credit card details|card number) (here|in the chat|to me) (with the CVV|including the code on the back|and the expiry date).",
        "(Please|You can) (type|enter) your (complete|full|whole) (card details|credit card details|card number) (on the payment page|in the secure form|at the terminal) (and not here|, never in this chat|yourself).",
    ),
    (
        "(Card number, expiry and CVV|Full card number and CVC|All digits of the card plus security code)@end.",
        "(Only the last four digits|Just the last four digits|The last four digits and no more)@end.",
    ),
    (
        "(Read me|Dictate|Spell out) (all the numbers|everything printed|the whole number) on your card(, front and back|, also the back|, including the signature strip).",
        "(Check|Look at) the last four numbers on your card(, not the rest|, nothing else|, that's enough).",
    ),
    (
        "(Your card was declined|The payment failed|I can't see the payment), so @ask the card number (again |)with the (CVV|security code)@end.",
        "(If your card is declined|If the payment fails|If you can't see the payment), (try|use) the payment link again with (another card|the same card).",
    ),
)

PIN = (
    (
        "@purpose, @ask (your PIN|your card PIN|the PIN of your card|your 4-digit PIN|your banking PIN)@end.",
        "(By the way|For your safety|As always), (nobody needs|I don't need|we never need) (your PIN|your card PIN|the PIN of your card|your 4-digit PIN|your banking PIN)(.|, so keep it.)",
    ),
    (
        "(What|And what)('s| is) (your|the) (PIN|PIN code|PIN number|ATM PIN)( again|, please| for the account|)?",
        "(What|And what)('s| is) (your|the) (zip code|house number|booking number)( again|, please| for the account|)?",
    ),
    (
        "(Give|Tell|Send) me (your|the) PIN (and I'll|so I can) (check the balance|unblock the card|make the transfer|take care of it).",
        "Never (give|tell|send) me (your|the) PIN, (and I'll|as I can) (check the balance|unblock the card|make the transfer) without it.",
    ),
    (
        "(The PIN you use|Your PIN) (at the machine|for payments|at the ATM) (is needed|will do|is all I need), (just write it here|what is it|go ahead).",
        "(The PIN you use|Your PIN) (at the machine|for payments|at the ATM) (is yours alone|is secret), (never write it here|no one here needs it|keep it safe).",
    ),
)

SECURITY_ANSWER = (
    (
        "@purpose, @ask (the answer to your security question|your secret answer|your secret word|your security answers|your memorable word)@end.",
        "@purpose, (I only need|all I need is) (a yes or no|your consent|a short okay|the answer to my last question)(.|, please.|, nothing secret.)",
    ),
    (
        "What (was|is) (the name of your first pet|your mother's maiden name|the street you grew up on|your first teacher's name)? "
        "(It's your security question|I need it to get into your account|That's your secret answer).",
        "What is (your preferred language|the best way to reach you|the best hour to write to you)? (It's for my note|That's all I need|I'd like to note it).",
    ),
    (
        "(Your account|The profile) has (two|three) secret questions, (tell me the answers|what did you put there|send me the answers), (please|thanks|and I'll reset it).",
        "(Your account|The profile) has (two|three) secret questions, (answer them on the website|don't tell me the answers|only you see them), (please|thanks|and you're in).",
    ),
    (
        "(Which|What) (secret word|code word|security phrase) did you (choose|set up|give the bank)?",
        "(Which|What) (secret word|code word|security phrase) you (choose|set up), (nobody else should know|only you should know).",
    ),
)

REMOTE_ACCESS = (
    (
        "(Please |)(install|download|start) (AnyDesk|TeamViewer|the remote tool|this remote app) and (give me|send me|tell me) the (access code|ID and password|nine-digit number|session password).",
        "(Please |)(install|download|start) (the app|the booking app|our app from the store) and (choose|tap|look at) the (settings|bookings page|help section|opening hours).",
    ),
    (
        "@purpose, I (need|want) to (connect to|take over|get into) your (computer|phone|PC), (what's the remote code|send me the access code|read me the ID and password).",
        "@purpose, I (need|want) to (know about|ask about|hear about) your (computer|phone|PC), (what's the model|which system does it run|which browser do you use).",
    ),
    (
        "(Allow|Give me|Grant me) (remote access|full control of your screen|access to your device) and (type in|tell me) (your system password|the code it shows|the admin password).",
        "Never (allow|give anyone) (remote access|full control of your screen|access to your device), and (keep|guard) (your system password|the code it shows|the admin password).",
    ),
    (
        "(Share|Please share) the (remote session|desktop sharing|TeamViewer) (code|password|ID) (with me|here) and (I'll fix it from here|lean back|I do the rest).",
        "(Share|Please share) the (error message|last line you see) (with me|here) and (I'll check it from here|I'll look it up).",
    ),
)

CARD_PHOTO = (
    (
        "@purpose, (please |)(send|upload|attach|text) (me |)(a photo|a picture|a scan|a screenshot) of (both sides of your card|your credit card|the front and back of your card|your bank card and your signature).",
        "@purpose, (please |)(send|upload|attach|text) (me |)(a photo|a picture|a scan|a screenshot) of (the damaged box|your receipt|the error message|the label on the parcel).",
    ),
    (
        "(Can you|Could you) (photograph|take a picture of|snap) your (card|credit card|debit card) (with all the numbers visible|front and back) and (send it here|mail it to me|post it in the chat)?",
        "(Can you|Could you) (photograph|take a picture of|snap) your (receipt|parcel|ticket) (with the order number visible|front and back) and (send it here|mail it to me|post it in the chat)?",
    ),
    (
        "(A selfie with|A clear picture of) your (open passport and card|bank card|card showing the CVV) (is enough|would do|is what I need)@end.",
        "(A short note|A few words) (is enough|would do|is what I need)@end.",
    ),
    (
        "(Hold your card up to the camera|Scan your card) and (send me the image|share the picture with me), (both sides|with the code on the back|uncovered).",
        "(Hold your ticket up to the camera|Scan your ticket) and (go through the gate|wait for the green light), (both days|with the code on top|at the entrance).",
    ),
)

LOGIN_BUNDLE = (
    (
        "@purpose, @ask (your username and password|your login details|your login and PIN|your account credentials|your e-mail and its password)@end.",
        "(By the way|For your safety|As always), (keep|guard|never share) (your username and password|your login details|your login and PIN|your account credentials)(.|, please.)",
    ),
    (
        "(Give me|Send me|Just send|Let me have) your (credentials|login|login data|access data) and I'll (do it for you|log in for you|book it in your name|sort it out).",
        "(Keep|Guard|Never share) your (credentials|login|login data|access data) and I'll (do it without|look it up on my side|help you from here).",
    ),
    (
        "(E-mail|Text|Message) me your (bank login|online banking password|wallet login) (and|so) I (can transfer it|move the money|pay it out).",
        "(E-mail|Text|Message) me (any time|whenever you like) (and|so) I (can help|can look it up|will answer).",
    ),
    (
        "(User ID, password and PIN|Login plus password|Username, password, date of birth)@end.",
        "(Only the year of birth|Date of birth|The first two letters of the street)@end.",
    ),
    (
        "I'll (just |)(use your|log in with your|sign in through your) @account, (what are the login details|what's the user name and password|send both).",
        "You can (just |)(use your|log in with your|sign in through your) @account(, all the details are there|, that's the quickest way|).",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("password", PASSWORD),
        ("one-time-code", ONE_TIME_CODE),
        ("card-and-cvv", CARD_AND_CVV),
        ("pin", PIN),
        ("security-answer", SECURITY_ANSWER),
        ("remote-access", REMOTE_ACCESS),
        ("card-photo", CARD_PHOTO),
        ("login-bundle", LOGIN_BUNDLE),
    )
)
