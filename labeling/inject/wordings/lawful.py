"""What is easily taken for an ask for secrets and is none: talk of cards, codes and secrets, lawful checks."""

from __future__ import annotations

CARD_TALK = (
    "Which error code do you see?", "Is there a code on your screen?", "What does the screen show?", "No code is needed for this.", "You need no password here.",
    "That works without a code.", "A code is only asked for once.", "Codes like that expire after ten minutes.", "The code is only for you.",
    "Passwords need at least eight characters.", "A good password is long.", "Small and capital letters matter in a password.",
    "The lock on the page means it is secure.", "This chat is secure.", "A secure page is nothing to worry about.", "The security team is a different one.",
    "Your data is kept safe with us.", "We keep no passwords.", "Nothing of this is secret.", "It's no secret that we are slow today.", "The secret of it all is patience.",
    "I need a code from my own system first.", "My password has run out, one second.", "I have to sign in again, sorry.", "My session timed out, give me a moment.",
    "I typed my own code wrong, one second.", "My card reader beeped, never mind.", "Key point: take your time.", "That is the key question.",
    "I don't need any numbers.", "I don't need any card for this.", "You can put your card away.", "No card is needed.", "Cards are not needed here.",
    "Your new card (is on its way|arrives on Friday|was sent out yesterday)(.|, please sign it when it comes.)",
    "Your card and your PIN come in two separate letters(.|, a few days apart.)",
    "Did the (card|letter with the PIN|new SIM) arrive by post?",
    "We take (all major cards|cards and cash|debit cards only)(.|, there is no fee.)",
    "The payment went to the card ending in 4410.",
    "I see a card ending in 0923 on file, (shall I use it|is that the right one)?",
    "Your card has been (blocked|unblocked|replaced)(.|, nothing else to do.)",
    "You can pick up your boarding (card|pass) at the counter.",
    "The gift card (has twenty dollars on it|expires in May|can be used twice).",
    "The key card opens (the gate|your room and the gym).",
    "A birthday card comes free with the flowers.",
    "Let me pin this message for you.",
    "I'll pin it to the top of our chat.",
    "I can't pinpoint it yet, one second.",
    "It is pinned to my board here.",
    "The promo code (is SUNNY5|gives you ten percent|has expired).",
    "What's the discount code you tried?",
    "Which error code do you see?",
    "The zip code decides the tax.",
    "The QR code is in your e-mail, (show it at the gate|print it or show it).",
    "The door code comes by text an hour before you arrive.",
    "Two cards are on your account, a silver one and a gold one.",
    "The card reader is back in order.",
    "Your passport must be valid for six months.",
    "You will need your ID at check-in.",
    "A secure page opens next, that is normal.",
    "The security check takes about ten minutes.",
    "Passengers must be at security an hour before.",
    "That number is on the back of your receipt.",
    "Contactless works up to fifty dollars, above that the terminal wants the PIN.",
    "Three wrong PINs lock the card until the next day.",
)  # fmt: skip

WARNING = (
    "For your safety: never share a (password|PIN|code) in a chat.", "A tip: use a different password everywhere.", "Beware of (calls|messages) that ask for a code.",
    "If a message asks for your password, it isn't from us.", "Whoever asks for your PIN is up to no good.", "Don't write your PIN down anywhere.",
    "Please keep secrets out of this chat.", "No passwords here, please.", "You never have to tell us a code.", "Even we may not know your password.",
    "If you have sent a password, change it.", "Don't let anybody rush you into sharing a code.", "(Codes|Passwords|PINs) are for your eyes only.",
    "(Never|Please never|Do not|Please don't) (share|tell anyone|give anyone) your (PIN|password|one-time code)(.|, not even us.|, whoever asks.)",
    "We will never ask (you |)for your (PIN|password|CVV|card PIN or password)(.|, so hang up if somebody does.)",
    "(Please don't|You don't need to|No need to) (post|send|type) your (card number|password|code) here(.|, the last four digits are enough.)",
    "I (can't|am not allowed to|don't want to) (see|know|take) your (password|PIN|full card number)(.|, nobody here is.)",
    "If anybody calls and asks for the code, (hang up|it's a scam|report it).",
    "Keep your (recovery phrase|backup codes|PIN letter) somewhere safe(.|, offline if you can.)",
    "(Cover|Hide) the keypad when you type your PIN.",
    "I have removed the card number you wrote, please don't send it in the chat.",
    "That text about your password is not from us, don't click it.",
    "Change your password (if you used it elsewhere|to be safe|every now and then).",
    "Your password is stored encrypted, none of us can read it.",
    "Nobody at our company will ask for a TAN.",
    "It's better not to save the PIN in your phone.",
    "Use a password that you don't use anywhere else.",
    "If you wrote your PIN on the card, change it at once.",
    "No, please keep that to yourself, I only need your name.",
    "I don't need the CVV for this, just the date.",
)  # fmt: skip

SELF_ENTRY = (
    "Type the code in there, not here.", "If it asks for your password, type it in there yourself.", "You enter the code, I don't see it.",
    "Please sign in on your side, (I'll wait|take your time).", "If a code comes, enter it on your own screen.", "You can choose a new password yourself.",
    "If it asks for a PIN, only you type it.", "Enter it there and press confirm, I'll wait.", "The page may ask you for a code, that's for you to type.",
    "Did it let you in?", "Were you able to sign in?", "Did you get in all right?", "Does the code work on your side?", "Please try the password again on your side.",
    "(Please |)(enter|type) the code (in the app|on the website|on the login page|on your own phone)(.|, then press confirm.)",
    "I've sent a reset link, (choose a new password there|it works for an hour|open it and follow the steps).",
    "You'll get a code by text, (enter it on the page you have open|the app fills it in by itself).",
    "(Click|Tap) \"forgot password\" (and follow the link|on the login page).",
    "Set a new PIN (at any ATM|in the app under cards|in the branch).",
    "Log in with your usual password and open the orders page.",
    "The terminal will ask for your PIN, (just type it there|then take the receipt).",
    "Put your card details into the secure form (I just sent|on the next page), I can't see them.",
    "When the bank asks you to confirm, use your own app.",
    "You can pay with the link, it asks for the card number and the CVV there.",
    "Two-step login is on, so the app will ask you for a number each time.",
    "The keypad on the phone line will take your PIN, I don't hear it.",
    "Upload your ID in the app, under verification, it goes straight to the checking team.",
    "Scan the QR code with your banking app and approve the payment there.",
    "Sign in with your fingerprint, that saves you the password.",
    "Call the number on the back of your card, the bank can reset it.",
    "Did the code work when you typed it in?",
    "Were you able to set your new password?",
    "Do you remember your password or shall I send a reset link?",
    "Have you changed your PIN lately? Yes or no is enough.",
)  # fmt: skip

CHECKING = (
    "I only need the last four digits of the card, if you have it there.", "The last four digits are enough.", "Which two letters does the case number start with?",
    "Is it all right if I ask a security question about the last visit?", "A short check first: in which year were you born?",
    "For the check, only the year of birth, please.", "The postcode is enough for the check.", "Just the first line of the address, for the check.",
    "Just the initials, please.", "Is the card a credit card or a debit card?", "Do you want to do the check by mail or here?",
    "I'd like to check that it's you, is that okay?", "May I do a quick check first?", "I'll do a quick check on my side, nothing secret.",
    "The check needs no secrets, just your consent.", "Are you the owner, or do you write for somebody else?", "Am I speaking with the owner?",
    "Did you write from the same address before?", "Do you prefer to be called or written to?",
    "(Can I have|May I have|What are) the last four digits of (your|the) card(, please|)?",
    "(What is|May I ask) your date of birth(, please|, for the check|)?",
    "(Could you|Can you) confirm your (full name|postcode|billing address|phone number)?",
    "To verify your account I need your name and (order number|zip code|date of birth).",
    "What's your account number? It's on your statement.",
    "For security, the first line of your address and your postcode?",
    "Which e-mail is the account under?",
    "What is your policy number? You find it on the first page.",
    "Please give me the booking code, six letters and digits.",
    "Your member number, please, it's on the front of the card.",
    "Is the card a credit or a debit card?",
    "When does the contract end, roughly?",
    "Which bank issued the card?",
    "What name is printed on the card?",
    "Can you tell me the amount of the last payment, so I know it's you?",
    "I'll ask two questions to identify you: your birthday and your street?",
    "The tracking number, please, it starts with two letters.",
    "What's the serial number on the bottom of the device?",
    "Last four of the social is enough.",
    "What's your username? Only the name, nothing else.",
    "Which hotel is it and what is your confirmation number?",
)  # fmt: skip

BY_MESSAGE = (
    "(Please|Kindly|Would you please|You can|Could you) (send|message|drop|pass|write) (me|us) your @harmless (in a private message|by direct message|by private chat|by e-mail|in your next message)(, please|).",
    "(Please|Kindly|Would you) (provide|share|leave|tell us|let me know) your @harmless (in a DM|by private message|in private|here), (so that|and) (we can look into it|I can check it|somebody can call you|it can be followed up).",
    "(To protect your privacy|For your privacy|So that nobody else reads it), (please send|send|message us) your @harmless (in private|by private message|by direct message) (rather than|and not) (in the comments|in public|on the wall).",
    "(Can|Could) you (send|share|post|upload) a (screenshot|photo|picture) of (the message|the error|the parcel|the bill|what you see|the damage|the order page)(, please|)?",
    "(I need|We need|We'd need|May I have) your @harmless and your @harmless, (please send them|you can send them|just message them) (here|by private message|by e-mail).",
    "(Leave|Send|Give) us your @harmless and (a colleague|our team|the branch) will (call|contact|write to) you (today|within a day|soon).",
    "(Write|Type|Send) (your|the) @harmless to this account, (we|I) will (register|record|file) it(, thank you|).",
    "(Which|What) @harmless may we (note|register|write down) for the callback?",
)  # fmt: skip
"""Asks for what is no secret, in the very words that secrets are asked for with."""

HARMLESS = {
    "harmless": (
        "phone number", "mobile number", "contact number", "order number", "booking number", "account name", "business number", "city and district", "e-mail address", "case number", "name and phone number",
        "full name", "ticket number", "invoice number", "reference number", "postcode", "delivery address", "customer number", "nickname", "user name", "branch", "flight number", "tracking number",
        "contact details", "home town", "shop's name", "device model", "problem in detail", "questions", "location", "meter reading", "plate number", "room number", "landline number", "hotel order number",
    ),
}  # fmt: skip
"""Things that anybody may be asked for."""

OFFERS = (
    "(Shall I|Should I|Do you want me to) (give you|send you|tell you) my (password|PIN|card number with the CVV|code from the SMS)?",
    "(I can|I could) just (type|send|tell you) my (password|PIN|full card number) (here|if that's quicker).",
    "(Do you need|Would it help to have) (the code I just got|my login and password|the number on the back)?",
    "I'll (give|send) you my (PIN|password), then you can do it.",
)  # fmt: skip
"""What customers offer."""

DECLINED = (
    "(No|No, thanks|No, please don't|Oh no), (keep that to yourself|I must not have that|that's for you only)(.|, I can do it without.)",
    "(Please don't|Better not|Please never do that), (your password is yours|nobody here may see it|we never need that).",
    "Thanks, but (don't send it|keep it secret), (the last four digits will do|your name is enough|I'll find it another way).",
    "(No need|That won't be needed), and please (don't share your PIN with anybody|never give a code to anyone).",
)  # fmt: skip
"""How a careful agent turns that down."""
