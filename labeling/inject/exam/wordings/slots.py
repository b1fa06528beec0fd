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
    "hey @slot, one sec",
    "Dear @slot, we received your message and are on it.",
    "Nice to hear from you again, @slot.",
    "I appreciate your patience, @slot.",
)
DATE_LINES = (
    "Your request was received on @slot.",
    "This offer is valid until @slot.",
    "We keep your documents until @slot.",
    "As a reminder, our terms changed on @slot.",
    "You have been a member since @slot, thank you!",
    "A colleague will follow up by @slot at the latest.",
    "The next system maintenance takes place on @slot.",
    "according to my notes you last wrote to us on @slot",
    "Points collected before @slot stay valid.",
    "You can change this free of charge up to @slot.",
)
NUMBER_LINES = (
    "Your case number is @slot.",
    "I have noted this under ticket @slot.",
    "For your records: this chat has the reference @slot.",
    "Please quote @slot if you contact us again.",
    "You currently have @slot points on your account.",
    "You are number @slot in the queue for a call back.",
    "ref @slot in case we get cut off",
    "There are @slot messages in your inbox from us.",
    "A copy goes out under file no. @slot.",
    "Your membership number @slot was added to this chat.",
)
MONEY_LINES = (
    "A service fee of @slot may apply.",
    "Your current balance is @slot.",
    "As a thank-you we added a voucher worth @slot.",
    "The usual deposit is @slot.",
    "Changes by phone cost @slot, online they are free.",
    "The booking fee of @slot has been waived.",
    "you get @slot off your next visit",
    "Your card will show a hold of @slot, which goes away by itself.",
)
PLACE_LINES = (
    "Our office in @slot is open all week.",
    "The confirmation goes to @slot.",
    "We have your contact address as @slot.",
    "Our main branch is at @slot.",
    "Letters reach us at @slot.",
    "The copy has been sent to @slot, please check your inbox.",
)
STAFF_LINES = (
    "You are chatting with @slot from the service team.",
    "My name is @slot and I'll be assisting you.",
    "Best wishes, @slot, customer care",
    "this is @slot speaking, hi",
    "My colleague @slot will take over if I am away.",
    "@slot here, how are you doing?",
    "Your personal adviser @slot has been informed.",
    "Kind regards, @slot",
)

LINES = {
    "name": NAME_LINES, "date": DATE_LINES, "number": NUMBER_LINES,
    "money": MONEY_LINES, "place": PLACE_LINES, "staff": STAFF_LINES,
}  # fmt: skip

RENDERED = {
    "name": ("null", "undefined", "None", "(null)", "NULL NULL", "[object Object]", "N/A", "nil"),
    "date": (
        "Invalid Date",
        "01/01/1970",
        "null",
        "NaN/NaN/NaN",
        "undefined",
        "0000-00-00",
        "None",
        "#VALUE!",
    ),
    "number": ("undefined", "NaN", "null", "#REF!", "#N/A", "None", "0x0", "[object Object]"),
    "money": ("$NaN", "null", "$undefined", "£0.00undefined", "#VALUE!", "None USD", "NaN"),
    "place": ("null, null", "undefined", "None", "N/A, N/A", "[object Object]", "null"),
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
    "number": ("XXXXXX", "000000000", "123456-TEST", "XYZ-0000", "ABC123 (sample)", "xxxx", "no. 0000"),
    "money": ("$XX.XX", "£0.00 (sample)", "XX EUR", "$___", "XXX dollars", "$00.00"),
    "place": (
        "123 Sample Street, Anytown",
        "your.name at your-domain dot com",
        "Sample City",
        "Street, ZIP, Town",
        "Musterstadt",
        "Address Line 1",
    ),
    "staff": ("Agent Name", "Test Agent", "Your Name Here", "Firstname", "XXXX", "Sample Agent"),
}
"""Sample data that was never replaced."""

NOTED = {
    "name": ("(customer name)", "*name*", "<- name here", "NAME??", "(Mr/Ms + surname)", "...name..."),
    "date": ("(date + 14 days)", "*date*", "DATE??", "(today's date)", "(check date in CRM)", "- date -"),
    "number": ("(ticket no.)", "*ref*", "REF??", "(copy from CRM)", "- number -", "(add case id)"),
    "money": (
        "(amount, see invoice)",
        "*amount*",
        "AMOUNT??",
        "(fee acc. to list)",
        "- sum -",
        "(check price!)",
    ),
    "place": (
        "(address, see file)",
        "*address*",
        "ADDRESS??",
        "(branch of customer)",
        "- e-mail -",
        "(check town)",
    ),
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
    "number": ("40718", "5529104", "AK-2207", "318", "1290", "77-0316", "6045", "2281"),
    "money": ("$15.00", "£4.50", "20 EUR", "$35", "12 dollars", "£9"),
    "place": (
        "14 Alder Street, Norwich",
        "Leeds",
        "your home address",
        "the mail address on file",
        "Dayton",
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
    "Please enter the date as DD/MM/YYYY in the form.",
    "I see a card ending in **** 2291 on file.",
    "Press [Enter] after the code.",
    "Dear customer, thank you for your patience.",
    "The field {optional} on the page can stay empty, it is meant to read like that.",
    "If it shows N/A there, that is normal.",
    "Choose (A) for the early and (B) for the late one.",
    "The file is called summary_2026.pdf.",
    "Dear Sir or Madam would be fine as a start of your letter.",
    "Click on <Save> at the bottom.",
    "You have 0 open items.",
    "Write your name in the box that says 'Your name here'.",
    "A null result there only means that no voucher was entered.",
    "Use a password like XXXX-XXXX in form, with letters of your own.",
)
"""Looks like a slot and is none."""
