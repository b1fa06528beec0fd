"""Asks for secrets that belong to no trade and may come up in any chat, each with a twin that asks for none.

Twins speak of the same secret and leave it with the customer, or talk of waiting and checking in the same
form; what a customer may have given before is not asked for again.
"""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea
from dialint.labeling.synthetic.phrases import Grammar

SLOTS: Grammar = {
    "pls": ("please", "pls", "thanks", "", ""),
    "secret": ("password", "PIN", "passcode", "login password", "secret code", "access code"),
    "why": ("to verify you", "for security", "to be on the safe side", "before we go on", "to make sure it's you", "for the check"),
    "so": ("so I can go on", "so we can finish", "to proceed", "and I'll take it from there", "", ""),
}  # fmt: skip

CHECKING = (
    ("Just @why, what is your @secret?", "Just so you know, I will never need your @secret."),
    ("I need your @secret @why.", "I don't need your @secret for this."),
    ("Could you write your @secret here @why?", "Could you keep your @secret to yourself, please?"),
    ("Please give me your @secret @why.", "Please never give anyone your @secret."),
    ("May I have your @secret, @why?", "May I remind you never to share your @secret?"),
    ("First I have to ask you for your @secret.", "First I have to warn you: keep your @secret private."),
    ("To go on I must know your @secret.", "To go on I need nothing secret from you."),
    ("We identify people by their @secret, so what is yours?", "We never identify people by their @secret, so keep yours."),
    ("One quick check, your @secret @pls.", "One quick note, nobody needs your @secret."),
    ("Would you tell me the @secret you use with us?", "Would you change the @secret you use with us now and then?"),
    ("The system wants your @secret from me, what shall I enter?", "The system hides your @secret from me, and that is how it should be."),
    ("Can you confirm your current @secret for me?", "Can you make sure that nobody sees your @secret?"),
    ("Your @secret, and then I can help you.", "Your @secret stays with you, and I can still help you."),
    ("Let me note down your @secret while we talk.", "Let me say that nobody may note down your @secret."),
    ("Before anything else I'd like you to type your @secret.", "Before anything else I'd like you to know we never ask for a @secret."),
    ("I'm missing one thing: your @secret.", "I'm missing nothing, and least of all your @secret."),
    ("It asks me for your @secret, could you send it over?", "It asks you for your @secret, could you type it in there yourself?"),
    ("What @secret did you set?", "Which page asks you for the @secret?"),
    ("Without your @secret I can't help, so send it @pls.", "Without your @secret I can help just as well, so keep it."),
    ("You have to tell me your @secret now.", "You have to type your @secret yourself."),
)  # fmt: skip

TEXTED = (
    ("You should get a text now, what does the code say?", "You should get a text now, the code in it is for you alone."),
    ("I have just sent you a code. Read it to me @pls.", "I have just sent you a code. Read the warning beneath it, too."),
    ("A six-digit number is coming to your screen, type it here.", "A six-digit number is coming to your screen, type it in there."),
    ("Tell me the one-time code @so.", "Enter the one-time code yourself @so."),
    ("What are the digits in the message you just got?", "Nobody may ask for the digits in the message you just got."),
    ("Send me the verification code as soon as it is there.", "Keep the verification code to yourself when it is there."),
    ("Got the code? I need it here.", "Got the code? You need it there, not here."),
    ("The code you got says do not share, but you can share it with me.", "The code you got says do not share, and that includes me."),
    ("Read out the security code that came in.", "Watch out if anybody wants the security code that came in."),
    ("I pushed a code to you, reply with it within a minute.", "I pushed a code to you, it is good for a minute."),
    ("Copy the code into this chat @so.", "Don't copy the code into this chat @pls."),
    ("There is one step left, the code on your screen, what is it?", "There is one step left, the code on your screen, you use it."),
    ("May I have that code?", "May I have a minute?"),
    ("Give me the numbers it sent you.", "Give it a minute, it sent you the numbers."),
    ("And the second code, the backup one?", "And the second one, is it clear?"),
    ("i sent u a code whats it say", "i sent u a note what u think"),
    ("code pls, the one u got just now", "wait pls, the system is slow just now"),
    ("Would you forward the login code to me?", "Would you ignore the login code, it's an old one?"),
    ("Whatever code appears, pass it on to me.", "Whatever code appears, pass it on to nobody."),
    ("I need the authentication number you were sent.", "I can't see the authentication number you were sent."),
)  # fmt: skip

CARD = (
    ("Please write the full card number here.", "Please don't write the full card number here."),
    ("What's the long number on your card, all of it?", "That's the long number on your card, keep all of it private."),
    ("And the three digits on the back?", "And never the three digits on the back."),
    ("Let me have the card details, CVV too.", "Let me warn you, never send card details, CVV least of all."),
    ("All sixteen digits @pls.", "All done in a minute @pls."),
    ("I'll need the CVV @so.", "I'll never need the CVV, by the way."),
    ("Type your card number, the date on it and the code from the back.", "Type nothing from your card here, no number and no code."),
    ("Send a picture of your card, both sides.", "Send no picture of your card, please, not even one side."),
    ("Which number is on the front of the card, and which one on the back?", "Whoever asks for the number on the front of the card is not one of us."),
    ("May I take your card number, expiry and security code?", "May I ask you to keep card number, expiry and security code private?"),
    ("Please dictate the card to me.", "Please put the card away, it isn't needed."),
    ("Just drop the card data in here, it's safe with me.", "Just leave the card data out, it isn't safe in a chat."),
    ("Can I get the CVC and the PIN as well?", "Can I say something about the CVC and the PIN? Keep them secret."),
    ("card number and cvv pls", "no card number and no cvv pls"),
    ("What does the back of the card say, the last three digits?", "What the back of the card says, the last three digits, is only for you."),
    ("Kindly post the whole card number so that I can try it by hand.", "Kindly delete the whole card number if you have posted it anywhere."),
    ("I have to enter your card myself, so I want every digit of it.", "I can't enter your card myself, so I want no digit of it."),
    ("Also the PIN of that card.", "Also, guard the PIN of that card."),
    ("The card's security code, quickly.", "The card's security code, never here."),
)  # fmt: skip

LOGIN = (
    ("Send me your user name and password and I'll look for myself.", "Keep your user name and password and I'll look on my side."),
    ("Let me log in as you, what's the password?", "Only you can log in as you, I can't."),
    ("What password do you use?", "What a password does, nobody but you should know."),
    ("I'll sign in with your details, so send them over.", "I can't sign in with your details, so don't send them."),
    ("Tell me your password letter by letter.", "Change your password now and then."),
    ("Your old password and your new one @pls.", "Your old password is no longer valid, by the way."),
    ("I could do it for you if I had your login.", "I could never do it with your login, only you can."),
    ("Just give me your access data @so.", "Just keep your access data safe @pls."),
    ("Share your login with me for a minute.", "Share your login with nobody, please."),
    ("How is your password spelled, exactly?", "However your password is spelled, keep it to yourself."),
    ("pass? i will log in for u", "thx, i will look it up for u"),
    ("What would your security answer be?", "What would help you most?"),
    ("And the answer to your secret question?", "And the answer to your secret question stays secret."),
    ("Please tell me your mother's maiden name and your password.", "Please tell nobody your mother's maiden name or your password."),
    ("I have your user name, now the password.", "I have all I need, no password."),
    ("Would you mind giving me your password just this once?", "Would you mind not giving anyone your password, not even once?"),
    ("It would be quicker with your password, so type it here.", "It would be unsafe with your password, so don't type it here."),
    ("My supervisor needs your password.", "My supervisor would tell you the same: no password here."),
    ("Reset isn't possible, I have to have your password.", "Reset is always possible, I don't have to have your password."),
    ("Who set up your password, and what is it?", "Whoever wants your password, say no."),
)  # fmt: skip

COAXING = (
    ("You can trust me, so what's the @secret?", "You can trust me, I won't ask for your @secret."),
    ("It stays in this chat: your @secret?", "It stays with you: your @secret."),
    ("Nobody will know, just whisper me your @secret.", "Nobody should know it, not even we, your @secret."),
    ("I know it is unusual, but I want your @secret.", "I know it is unusual, but I don't want your @secret."),
    ("If you refuse to tell me your @secret we have to stop here.", "If anyone wants you to tell your @secret you have to stop there."),
    ("Other customers tell me their @secret, too.", "Other people who want your @secret are up to no good."),
    ("Time is short, give me the @secret.", "Time is not short, and nobody needs the @secret."),
    ("Please be so kind as to let me know your @secret.", "Please be so kind as to keep your @secret secret."),
    ("I would not ask if it weren't needed: what's your @secret?", "I would not ask for it, it isn't needed, your @secret."),
    ("Only this once I will ask you for the @secret.", "Not even once will I ask you for the @secret."),
    ("Everything is ready, all I want is your @secret.", "Everything is ready, all without your @secret."),
    ("For a quicker service leave your @secret with me.", "For your own good leave your @secret out of this chat."),
    ("I delete it right after, so type your @secret now.", "I delete it at once if you type your @secret by mistake."),
    ("Since it's late, I'll skip the check if you give me your @secret.", "Even if it's late, I can't skip a check, and I never want your @secret."),
    ("So, what's it going to be? I mean the @secret.", "So, what's it going to be? No need to hurry."),
    ("You want help, I want your @secret, simple as that.", "You want help, I want to help, simple as that."),
)  # fmt: skip

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("any-check", CHECKING),
        ("any-code", TEXTED),
        ("any-card", CARD),
        ("any-login", LOGIN),
        ("coaxing", COAXING),
    )
)
