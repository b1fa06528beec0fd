"""Requests for secrets of the exam (V2), each with a lawful request of the same form: (wrong, right)."""

# ruff: noqa: E501

KEYS = (
    (
        "Please (send|give) me the (twelve|24) words of your recovery phrase.",
        "Please (send|give) me the (twelve|24) digits of your meter number.",
    ),
    (
        "To restore the wallet I need your seed phrase, all words in the right order.",
        "To restore the album I need your picture titles, all names in the right order.",
    ),
    (
        "Can you paste your private key here so that I can check the transfer?",
        "Can you paste your transfer reference here so that I can check the transfer?",
    ),
    (
        "What are your backup codes? Two of them will do.",
        "What are your meter readings? Two of them will do.",
    ),
    (
        "Kindly share your API secret and I set it up for you.",
        "Kindly share your website address and I set it up for you.",
    ),
    (
        "Just copy me one of the emergency codes you saved when you set up two-step login.",
        "Just copy me one of the order codes you got when you set up the delivery.",
    ),
    (
        "I need the recovery key of your (laptop|disk|phone) to go on.",
        "I need the model name of your (laptop|printer|phone) to go on.",
    ),
    ("type in your secret key pls", "type in your shoe size pls"),
    (
        "Would you send me a photo of the sheet with your recovery codes?",
        "Would you send me a photo of the box with your delivery label?",
    ),
    ("Your encryption passphrase, please?", "Your tracking number, please?"),
    (
        "Send over the key file from your computer, I will sign in with it.",
        "Send over the log file from the printer, I will check the lines in it.",
    ),
    (
        "I'd need the words you wrote down when you opened the wallet.",
        "I'd need the words you see on the screen after the error.",
    ),
    (
        "read out your spare login codes and I'll pick one that works",
        "read out your favourite colours and I'll pick one that works",
    ),
    (
        "Please forward the whole list of one-use codes from your bank.",
        "Please forward the whole list of faults from your boiler.",
    ),
    (
        "Which recovery words do you have? I'll type them in for you.",
        "Which newsletters do you want? I'll type them in for you.",
    ),
)

APPROVALS = (
    (
        "You'll get a login request on your phone in a second, just tap Approve for me.",
        "You'll get a text on your phone in a second, no need to reply to it.",
    ),
    (
        "Please accept the sign-in prompt that pops up, that's me getting into your account.",
        "Please read the summary that pops up, that's the same as in your account.",
    ),
    (
        "I'm signing in as you now, so confirm the number (42|17|63) on your device.",
        "I'm writing it down now, so look for the row (42|17|63) on your plan.",
    ),
    (
        "Open your authenticator app and tell me the six digits for our site.",
        "Open your washing machine and tell me the six digits on the label.",
    ),
    (
        "Send me a screenshot of the QR code in your authenticator settings.",
        "Send me a screenshot of the error message in your printer settings.",
    ),
    (
        "What does your token show right now? I need it before it changes.",
        "What does your ticket show at the top? I need it before I go on.",
    ),
    (
        "Hold your card reader ready and give me the response number it shows.",
        "Hold your ticket ready and give me the seat number it shows.",
    ),
    (
        "Say yes to the push message from your bank, I started it.",
        "Say yes to the invitation from our hotel, I sent it.",
    ),
    (
        "Please switch off two-step login so that I can get in from here.",
        "Please switch off silent mode so that I can get through to you.",
    ),
    (
        "I will add my own number to your account for the codes, please allow it.",
        "I will add my own note to your file for the team, please read it.",
    ),
    (
        "Could you approve the new device called Support PC in your account?",
        "Could you approve the new colour called Stone Grey in your draft?",
    ),
    ("tap allow when it asks whether its you", "tap next when it asks for the colour"),
    ("Read me what the little key fob display says.", "Read me what the parcel card says."),
    (
        "Scan this code with your banking app and confirm, then I have access.",
        "Scan this code with your camera and you have our map.",
    ),
    (
        "The app asks if you trust this computer. Choose yes, I'm logging in on it.",
        "The app asks if you want a receipt. Choose yes, I'm sending it there.",
    ),
)

IDENTITY = (
    ("What is your full social security number?", "What is your full company name?"),
    ("I need all nine digits of your social, please.", "I need all nine digits of the meter, please."),
    (
        "Give me your complete card number and I'll look you up with it.",
        "Give me the last four digits of the card and I'll look you up with it.",
    ),
    (
        "Please type the long number on the front of your card together with the expiry date.",
        "Please type the colour on the front of your meter together with the maker.",
    ),
    (
        "Send me a selfie with your bank card in your hand so that I can read the numbers.",
        "Send me a photo of your meter with the lid open so that I can read the numbers.",
    ),
    (
        "Just send photos of both sides of your bank card in this window.",
        "Just send photos of both sides of the damaged box in this window.",
    ),
    ("can i get ur full ssn", "can i get ur full job title"),
    (
        "Tell me your whole card number, the site does not show it to me.",
        "Tell me your whole job title, the site does not show it to me.",
    ),
    (
        "For the deposit I'll need your card number, the expiry and the three digits on the back.",
        "For the deposit I'll need your bottle count, the crate colour and the two letters on the lid.",
    ),
    (
        "I'd like your tax number and your card number to start with.",
        "I'd like your model number and your serial number to start with.",
    ),
    (
        "Write the sixteen digits here, I delete them later.",
        "Write the special wishes here, I pass them on later.",
    ),
    (
        "Please text your full card details to my mobile, it is quicker.",
        "Please text your feedback to our short number, it is quicker.",
    ),
    (
        "Kindly tell me your national insurance number and your online banking login.",
        "Kindly tell me your favourite colour and your shirt size.",
    ),
    (
        "Which bank are you with, and what do you log in with there? I need both.",
        "Which branch are you near, and what do you collect there? I need both.",
    ),
    ("Your CVC please.", "Your shirt size please."),
)

SAFES = (
    (
        "Scratch off the strip on the gift card and tell me the code under it.",
        "Scratch off the label on the box and tell me the colour under it.",
    ),
    (
        "What is the code of your alarm system, in case our driver needs it?",
        "What is the colour of your gate, in case our driver needs it?",
    ),
    (
        "Please buy two gift cards and send me the numbers from the back.",
        "Please bring two luggage tags and write the numbers on the back.",
    ),
    (
        "Give me the PUK of your SIM card and I unlock it from here.",
        "Give me the model of your phone and I look it up from here.",
    ),
    (
        "I need your port-out PIN so that I can move the number.",
        "I need your moving day so that I can move the contract.",
    ),
    (
        "Tell me the combination of the key safe and when nobody is home.",
        "Tell me the colour of the front door and when somebody is home.",
    ),
    ("What do you type in to unlock your phone?", "What do you read on top of your phone?"),
    (
        "Your voicemail code, please, I will listen to the message myself.",
        "Your locker number, please, I will pass on the message myself.",
    ),
    ("can you send the wifi router admin login too", "can you send the parcel label photo too"),
    (
        "I'll need the door code of your flat and your alarm word.",
        "I'll need the floor of your flat and the colour of your door.",
    ),
    (
        "Tell me the answer you use when the bank asks for your secret word.",
        "Tell me the answer you got when the hotel told you about parking.",
    ),
    (
        "Forward me the reset mail you just received, without opening it.",
        "Forward me the booking mail you received, with the attachment.",
    ),
    (
        "Please give me the master code of your safe so I can note it down.",
        "Please give me the serial number of your boiler so I can note it down.",
    ),
    (
        "Which pattern do you draw to get into your tablet?",
        "Which platform do you need to get to your train?",
    ),
    (
        "I'd like you to read the digits of the voucher code aloud in the chat before you use it at the shop, so I can redeem it for you.",
        "I'd like you to show the first page of the booking at the desk before you go up to the room, so they can check it for you.",
    ),
    (
        "Let me log on as you, what do you sign in with, name and secret word?",
        "Let me look that up, what do you drive, make and year?",
    ),
)

LAWFUL = (
    "Could you give me the last four digits of your card?",
    "Only the last four digits, please, nothing else.",
    "We will never ask for your PIN or your password here.",
    "Please do not send your card number in this chat.",
    "You'll get a code by text. Enter it in the app and tell nobody, not even me.",
    "Type your new password on the website, never here.",
    "What are the last 4 of the card you paid with?",
    "Keep your recovery phrase to yourself, I don't need it.",
    "I see a card ending in (4417|0932|7781) on file, is that the one?",
    "Keep the photo of your card to yourself, we do not need it.",
    "To change your PIN, go to any cash machine of ours.",
    "If anybody asks you for your security code, hang up.",
    "The system will ask for your PIN on the keypad, I can't see or hear it.",
    "Your order code is in the e-mail, that one is safe to share with me.",
    "If you ever forget your password, the link goes to your own mailbox only.",
    "For your safety, keep your card number out of this chat.",
)
"""Speaks of secrets and asks for none."""
