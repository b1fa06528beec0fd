"""Template lines of the exam (M2), each with one slot, and what stands in the slot when it goes wrong."""

NAME_LINES = (
    "Hi @slot, (thanks|thank you) for getting in touch.",
    "Good (morning|afternoon) @slot, I'm looking into this (now|for you).",
    "Thanks for waiting, @slot.",
    "Right you are, @slot.",
    "Hello @slot and welcome back!",
    "@slot, I have found your details.",
    "Happy to help you with that, @slot!",
    "Thank you @slot, that is everything I need (for now|at this point).",
    "hey @slot, one sec.",
    "Dear @slot, we got your message and are on it.",
    "Nice to hear from you again, @slot.",
    "I appreciate your patience, @slot.",
)
DATE_LINES = (
    "We have you down as a customer since @slot.",
    "This offer is valid until @slot.",
    "We keep a copy of this chat until @slot.",
    "As a reminder, our terms changed on @slot.",
    "You have been a member since @slot, thank you!",
    "A colleague will follow up by @slot at the latest.",
    "The next system maintenance takes place on @slot.",
    "according to my notes you last wrote to us on @slot.",
    "Points collected before @slot stay valid.",
    "You can change this free of charge up to @slot.",
)
NUMBER_LINES = (
    "Your case number is @slot.",
    "I have noted this under ticket @slot.",
    "For your records: this chat has the reference @slot.",
    "Please quote @slot if you contact us again.",
    "ref @slot in case we get cut off.",
    "A copy goes out under file no. @slot.",
    "Your membership number @slot was added to this chat.",
    "We have filed this as @slot.",
)
COUNT_LINES = (
    "You currently have @slot points on your account.",
    "You have collected @slot points so far.",
    "With @slot points you are close to a reward.",
    "This brings you to @slot points in all.",
)
MONEY_LINES = (
    "A service fee of @slot may apply.",
    "Your credit with us stands at @slot.",
    "As a thank-you we added a voucher worth @slot.",
    "The usual deposit is @slot.",
    "Changes by phone cost @slot, online they are free.",
    "The service fee of @slot has been waived.",
    "you get @slot off your next visit.",
    "Your card will show a hold of @slot, which goes away by itself.",
)
TOWN_LINES = (
    "Our office in @slot is open all week.",
    "Our main branch is in @slot.",
    "Your nearest branch is in @slot.",
    "This chat is handled by our team in @slot.",
)
MAIL_LINES = (
    "A copy of this chat goes to @slot.",
    "We have your contact address as @slot.",
    "The summary will be sent to @slot, please check your inbox later.",
    "Our newsletter goes to @slot.",
)
STAFF_LINES = (
    "You are chatting with @slot from the service team.",
    "My colleague @slot will take over if I am away.",
    "Your personal adviser @slot has been informed.",
    "If we get cut off, ask for @slot.",
    "My colleague @slot looks after your file.",
    "@slot from our team is helping me with this.",
    "I have copied in @slot, your adviser.",
    "Your contact person with us is @slot.",
)

LINES = {
    "name": NAME_LINES, "date": DATE_LINES, "number": NUMBER_LINES, "count": COUNT_LINES,
    "money": MONEY_LINES, "town": TOWN_LINES, "mail": MAIL_LINES, "staff": STAFF_LINES,
}  # fmt: skip

RENDERED = {
    "name": ("null", "undefined", "None", "(null)", "NULL NULL", "[object Object]", "N/A", "nil"),
    "date": (
        "Invalid Date",
        "null",
        "NaN/NaN/NaN",
        "undefined",
        "0000-00-00",
        "None",
        "#VALUE!",
    ),
    "number": ("undefined", "NaN", "null", "#REF!", "#N/A", "None", "0x0", "[object Object]"),
    "count": ("undefined", "NaN", "null", "#REF!", "#N/A", "None", "[object Object]"),
    "money": ("$NaN", "null", "$undefined", "£0.00undefined", "#VALUE!", "None USD", "NaN"),
    "town": ("null", "undefined", "None", "N/A", "[object Object]", "#REF!"),
    "mail": ("null", "undefined", "None", "N/A", "[object Object]", "undefined@undefined"),
    "staff": ("null", "undefined", "None", "NULL", "agent_null", "nil", "[object Object]"),
}
"""What a broken merge shows where a value should be."""

SAMPLE = {
    "name": (
        "Firstname Lastname",
        "Mr/Mrs Sample",
        "Jane Sample",
        "Test Customer",
        "Your Name",
        "John Doe TEST",
        "Xxxxx",
    ),
    "date": ("DD/MM/YYYY", "XX/XX/XXXX", "dd.mm.", "00/00/0000", "MM-DD", "xx of xxxx", "Monday the XXth"),
    "number": ("XXXXXX", "ABC-000-TEST", "123456-TEST", "XYZ-XXXX", "ABC123 (sample)", "xxxx", "NUMBER HERE"),
    "count": ("XXX", "xx", "999999 (test)", "NNN", "00 (sample)"),
    "money": ("$XX.XX", "£0.00 (sample)", "XX EUR", "$___", "XXX dollars", "$YY.YY"),
    "town": ("Sample City", "Anytown", "Musterstadt", "City, Country", "Town XY", "Sampletown"),
    "mail": (
        "your.name at your-domain dot com",
        "name@example.test",
        "test@test.test",
        "user at domain dot tld",
        "xxx@xxx.xx",
        "123 Sample Street, Anytown",
    ),
    "staff": ("Agent Name", "Test Agent", "Your Name Here", "Firstname", "XXXX", "Sample Agent"),
}
"""Sample data that was never replaced."""

NOTED = {
    "name": ("(customer name)", "*name*", "<- name here", "NAME??", "(Mr/Ms + surname)", "...name..."),
    "date": ("(date + 14 days)", "*date*", "DATE??", "(today's date)", "(check date in CRM)", "- date -"),
    "number": ("(ticket no.)", "*ref*", "REF??", "(copy from CRM)", "- number -", "(add case id)"),
    "count": ("(points)", "*points*", "POINTS??", "(see CRM)", "- number -"),
    "money": (
        "(amount, see invoice)",
        "*amount*",
        "AMOUNT??",
        "(fee acc. to list)",
        "- sum -",
        "(check price!)",
    ),
    "town": ("(town of branch)", "*town*", "TOWN??", "(branch of customer)", "(check town)"),
    "mail": ("(address, see file)", "*address*", "ADDRESS??", "(mail of customer)", "- e-mail -"),
    "staff": ("(own name)", "*agent*", "WHO??", "(name of colleague)", "- your name -", "(sign here)"),
}
"""A note to the author of the text where the value should be."""

VALUES = {
    "name": ("Maria", "Mr Okafor", "Helen", "Ms Lindqvist", "Tomasz", "Aisha", "Mrs Bennett", "Jorge", "Wei"),
    "date": (
        "12 March",
        "June 3rd",
        "the 28th of May",
        "04/11/2026",
        "Monday, 9 August",
        "1 December",
        "19.02.",
    ),
    "number": ("40718", "5529104", "AK-2207", "77-0316", "604511", "C-22817"),
    "count": ("318", "1290", "240", "75", "1,460", "2281"),
    "money": ("$15.00", "£4.50", "20 EUR", "$35", "12 dollars", "£9"),
    "town": ("Leeds", "Dayton", "Norwich", "Halifax", "Tucson", "York"),
    "mail": (
        "the address on file",
        "mira at post dot example",
        "j.huber@mail.example",
        "14 Alder Street, Norwich",
        "your mailbox",
        "2 Mill Lane, York",
    ),
    "staff": ("Priya", "Marek", "Joanna", "Samuel", "Ines", "Kofi", "Beth", "Andrei"),
}

FIRST_NAMES = (
    "Priscilla",
    "Gordon",
    "Yasmin",
    "Dmitri",
    "Rosalind",
    "Kenji",
    "Fatima",
    "Bertrand",
    "Olga",
    "Winston",
    "Leticia",
    "Hamish",
)

FILLED = (
    "Dates on our page are written DD/MM/YYYY, just so you know.",
    "I see a card ending in **** 2291 on file.",
    "Press [Enter] after each message, please.",
    "Dear customer, thank you for your patience.",
    "Fields marked {optional} on our page can stay empty.",
    "If our page shows N/A anywhere, that is normal.",
    "For feedback, press (A) for good and (B) for bad after the chat.",
    "A copy of this chat comes as chat_2026.pdf.",
    "To keep this chat, click on <Save> at the bottom.",
    "You have 0 open items.",
    "After the chat you may sign the guest book where it says 'Your name here'.",
    "A null at the top of the screen only means that no voucher was entered.",
    "Our vouchers have the form XXXX-XXXX, in case you ever get one.",
)
"""Looks like a slot and is none."""
