"""Side matters of the exam (U2): what a customer volunteers, and questions for exactly that."""

from typing import NamedTuple


class Detail(NamedTuple):
    """A thing that customers volunteer: how they say it, how agents ask for it, how it is handed over,
    and a pattern of talk about it. `@v` is the value."""

    said: tuple[str, ...]
    asked: tuple[str, ...]
    values: tuple[str, ...]
    talk: str


DETAILS: dict[str, Detail] = {
    "phone": Detail(
        (
            "You can reach me on @v, by the way.",
            "My number is @v in case we get cut off.",
            "my mobile: @v",
            "If anything comes up, ring @v.",
        ),
        (
            "On what number can we reach you?",
            "Could I have a phone number for you, please?",
            "Which number should we call if something comes up?",
            "may i have ur contact number",
            "And your telephone number is?",
            "Kindly provide a mobile number so that I can proceed.",
        ),
        ("0161 496 0122", "555-0143", "(212) 555-0178", "07700 900381", "020 7946 0655"),
        r"\b(phone|number|mobile|reach|ring)\b",
    ),
    "mail": Detail(
        ("My e-mail is @v.", "You can write to @v if needed.", "I use @v for this account.", "mail me at @v"),
        (
            "What's the best e-mail address for you?",
            "Which e-mail shall I send it to?",
            "Could you give me an e-mail address, please?",
            "I need an e-mail for the file.",
            "email pls?",
            "To which address may I mail the summary?",
        ),
        (
            "mira dot stone at post dot example",
            "j.huber(at)mail.example",
            "tom_w at inbox dot example",
            "ana.ruiz at letters dot example",
        ),
        r"\be-?mail|\bmail\b|\.com\b",
    ),
    "account": Detail(
        (
            "My account number is @v.",
            "It should be under account @v.",
            "customer no. @v",
            "I'm customer @v with you.",
        ),
        (
            "What is your customer number?",
            "Could you tell me your account number?",
            "Do you have an account number for me?",
            "Your customer number, please.",
            "I'll just need your account number to open the file.",
            "Under which account is that?",
        ),
        ("40021783", "7719-204", "883 410 26", "C-55092", "6120447"),
        r"\b(account|customer n|user|number|id)\b",
    ),
    "birthday": Detail(
        ("I was born on @v, if you need that.", "My date of birth is @v.", "born @v", "DOB @v."),
        (
            "When were you born?",
            "May I have your date of birth, please?",
            "And the date of birth?",
            "I'd just need your birthday for the file.",
            "dob?",
            "Would you tell me your date of birth so I can find the record?",
        ),
        ("4 May 1979", "12/09/1988", "the 23rd of January 1965", "30.11.1991", "July 2nd, 1983"),
        r"\b(born|birth|birthday|dob)\b",
    ),
    "address": Detail(
        ("I live at @v.", "My address is @v.", "Post goes to @v, please.", "home: @v"),
        (
            "What is your postal address?",
            "Where do you live, please?",
            "Could you give me your home address?",
            "To what address should we post it?",
            "I need your street and house number.",
            "And your address would be?",
        ),
        (
            "9 Rowan Close",
            "Flat 3, 27 Harbour Road",
            "418 Juniper Avenue",
            "16 Tanner's Row",
            "2 Chapel Hill",
        ),
        r"\b(address|street|road|avenue|live|postcode|located)\b",
    ),
    "payer": Detail(
        ("I'll pay by @v.", "I'd like to pay with @v, please.", "Payment will be by @v.", "paying by @v btw"),
        (
            "How would you like to pay?",
            "Which method of payment do you prefer?",
            "Will that be cash, card or transfer?",
            "What are you going to pay with?",
            "Please tell me how you wish to pay.",
            "payment method?",
        ),
        ("credit card", "bank transfer", "cash", "PayPal", "cheque"),
        r"\b(pay|payment|paid|card|cash)\b",
    ),
    "channel": Detail(
        (
            "Please write to me by @v, that suits me best.",
            "I'd like to hear from you by @v only.",
            "Send me everything by @v, please.",
            "anything you send me: by @v please",
        ),
        (
            "How should we send you things?",
            "Do you want what we send by post, text or e-mail?",
            "Which way should we keep you informed?",
            "In what form would you like to hear from us?",
            "By which channel shall we write to you?",
            "Shall we use letters, texts or e-mail for you?",
        ),
        ("text message", "post", "letter", "SMS"),
        r"\b(text|post|letter|sms|whatsapp|confirmation)\b",
    ),
    "hours": Detail(
        ("I'm only free @v.", "You can call me @v.", "Best to call @v.", "@v is when I can talk"),
        (
            "When is a good time to call you?",
            "At what time of day can we reach you?",
            "When would a call suit you?",
            "What time is best for a call?",
            "good time to ring?",
            "Could you let me know when you are free for a call?",
        ),
        ("before nine", "after 5 pm", "between noon and one", "in the late evening", "on weekday mornings"),
        r"\b(call|reach|ring|free)\b",
    ),
    "device": Detail(
        ("I'm on @v, in case that matters.", "I use @v.", "I'm doing this on @v.", "on @v here"),
        (
            "Which device are you using?",
            "What are you on, a phone or a computer?",
            "Can you tell me what device you have?",
            "May I ask what you use to open the page?",
            "what device pls",
            "Are you on a phone, a tablet or a computer?",
        ),
        ("an old iPad", "a Windows laptop", "a Pixel phone", "my Samsung tablet", "a MacBook"),
        r"\b(phone|tablet|laptop|computer|ipad|macbook|device)\b",
    ),
    "since": Detail(
        (
            "I've been a customer since @v.",
            "I joined in @v.",
            "I'm with you since @v, by the way.",
            "signed up in @v",
        ),
        (
            "Since when have you been with us?",
            "How long have you been a customer?",
            "In which year did you join?",
            "When did you sign up with us?",
            "customer since?",
            "Can you recall when you became a customer?",
        ),
        ("2014", "1998", "2007", "2021", "1989"),
        r"\b(since|join|joined|member|signed)\b",
    ),
    "heard": Detail(
        (
            "I found you through @v.",
            "@v told me about you.",
            "I came across you via @v.",
            "got your name from @v",
        ),
        (
            "How did you hear about us?",
            "May I ask how you found us?",
            "Who told you about us?",
            "Where did you come across our service?",
            "How come you chose us?",
            "Just for our statistics, how did you find us?",
        ),
        ("my sister", "a colleague", "a leaflet", "the local paper", "a friend from choir"),
        r"\b(found|told|hear|heard)\b",
    ),
}

APP_TROUBLE = (
    "One more thing: your app won't let me (in|see my messages).",
    "By the way, your app stays blank (today|since this morning).",
    "There's another problem, the (map|calendar) in your app doesn't load.",
    "oh and the app keeps freezing",
    "Also, the app shows an error when I open it.",
    "Before I forget, your app can't find my messages any more.",
)
SITE_TROUBLE = (
    "By the way, your page stays blank on my laptop.",
    "Also, the page with my messages never shows up.",
    "Before I forget, your website gives me an error.",
    "And I can't open my documents on your site.",
    "Besides, the map on your page doesn't load.",
    "One more thing: your website won't let me in.",
)

TRIED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "restart": (
        (
            "I've already restarted it all.",
            "Turning the thing off and on didn't help.",
            "restarted it twice",
        ),
        (
            "Have you tried turning it off and on again?",
            "Could you restart your device, please?",
            "Please restart the device first.",
            "Did you reboot it?",
            "pls restart ur device",
            "The first step is to switch the device off and on, would you do that?",
        ),
    ),
    "reinstall": (
        (
            "I deleted the app and installed it again, same thing.",
            "A fresh install changed nothing.",
            "reinstalled it already",
        ),
        (
            "Please uninstall the app and install it again.",
            "Have you tried to reinstall it?",
            "Could you remove the app and get it anew from the store?",
            "Kindly reinstall the app.",
            "did u reinstall the app?",
            "Would you take the app off and put it on again?",
        ),
    ),
    "browser": (
        (
            "It's the same in three different browsers.",
            "I tried it in Firefox and in Chrome.",
            "other browsers dont work either",
        ),
        (
            "Could you try another browser?",
            "What happens if you open it in a different browser?",
            "Please try a different browser, for example Firefox.",
            "Have you tried it in another browser?",
            "pls use other browser",
            "I'd ask you to switch to another browser and see.",
        ),
    ),
    "cache": (
        (
            "I've cleared the cache and the cookies.",
            "Clearing the cookies made no difference.",
            "cache is emptied, did that",
        ),
        (
            "Please clear your cache and cookies.",
            "Have you emptied the cache?",
            "Could you delete the cookies and load it again?",
            "Kindly clear the browser data once.",
            "did you clear cookies?",
            "It often helps to empty the cache, would you do that please?",
        ),
    ),
    "network": (
        (
            "On wifi and on mobile data it's the same.",
            "I switched from wifi to mobile data already.",
            "tried the neighbours wifi too",
        ),
        (
            "Can you try it on another network?",
            "Would you switch from wifi to mobile data and look again?",
            "Please change to mobile data for a moment.",
            "Have you tested it on another connection?",
            "try mobile data pls",
            "Does it work if you leave the wifi?",
        ),
    ),
    "update": (
        (
            "The app is up to date, I checked.",
            "I installed the latest update this morning.",
            "newest version, looked it up",
        ),
        (
            "Is your app up to date?",
            "Please install the latest update.",
            "Could you check for a newer version?",
            "Have you updated it lately?",
            "update the app first pls",
            "You may need the latest version, could you look?",
        ),
    ),
    "relog": (
        (
            "I signed out and in again, nothing.",
            "Logging out and back in doesn't change it.",
            "logged off + on already",
        ),
        (
            "Please sign out and in again.",
            "Have you tried to log out and back in?",
            "Could you log off once and come back?",
            "Kindly sign out, wait a bit and sign in.",
            "logout and login pls",
            "Would you log out and in once more so that it refreshes?",
        ),
    ),
}

STEPS = (
    (APP_TROUBLE, ("restart", "reinstall", "network", "update", "relog")),
    (SITE_TROUBLE, ("restart", "browser", "cache", "network", "relog")),
)
"""Troubles, and the steps that may help against each of them."""

SETTLED = (frozenset({"reinstall", "update"}), frozenset({"cache", "relog"}), frozenset({"browser", "cache"}))
"""Steps so close that whoever has taken one may well have taken the other."""

DONE_THAT = (
    "Yes, no change.",
    "Done, still the same.",
    "yes, same as before",
    "That doesn't change anything.",
    "Done, no luck.",
    "Yes, still nothing.",
    "No difference.",
)
GO_ON = (
    "Thank you, that's noted.",
    "Thanks, I have passed that on.",
    "Alright, I've made a note of it.",
    "Okay, I will have our technicians look at it.",
    "Good, I have added it.",
    "thanks, noted",
)

ECHOES = (
    "So that's @v, is that right?",
    "Let me read that back: @v. Correct?",
    "Just to be sure I got it: @v?",
    "@v, yes?",
    "You said @v, right?",
    "To confirm, you gave me @v.",
    "I have @v here, does that look right?",
    "got it, @v, correct?",
)
"""Reading back, which is no second asking."""
