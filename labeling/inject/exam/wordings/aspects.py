"""Side questions of the exam (C1) with their answers: any company, any trade. Aspect -> questions, answers."""

# ruff: noqa: E501

ASPECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hours": (
        (
            "How late is your office open today?",
            "What are your opening hours?",
            "when do you guys close?",
            "Until what time can I reach somebody there?",
        ),
        (
            "We are here from 8 am to 6 pm, on Saturdays until noon.",
            "The office closes at half past seven in the evening.",
            "Every day from nine to five.",
            "We're open round the clock, also on holidays.",
        ),
    ),
    "cancel": (
        (
            "Can I still cancel (this|it) later, and what would that cost?",
            "What happens if I have to cancel?",
            "Is cancelling free of charge?",
            "How many days before may I cancel?",
        ),
        (
            "Cancelling is free up to 48 hours before.",
            "If you cancel, we keep (ten|fifteen) per cent of the price.",
            "You can cancel at any time without a fee.",
            "It can't be cancelled any more once it is confirmed.",
        ),
    ),
    "payment": (
        (
            "Which cards do you accept?",
            "Can I pay in cash?",
            "How can I pay for that, is PayPal okay?",
            "Do you take American Express?",
        ),
        (
            "We take Visa, Mastercard and PayPal.",
            "You can pay by card or in cash, whichever you like.",
            "Payment is by card only, I'm afraid.",
            "All major cards and bank transfer work.",
        ),
    ),
    "invoice": (
        (
            "Will I get an invoice for my company?",
            "How do I get a receipt?",
            "Could you put our VAT number on the bill?",
            "i need a receipt, where do i find it?",
        ),
        (
            "The invoice comes by e-mail the next morning.",
            "You can download the receipt under My Documents.",
            "Yes, the bill can carry your company's name and VAT number.",
            "A paper receipt is handed out on the day.",
        ),
    ),
    "language": (
        (
            "Do you also have somebody who speaks Spanish?",
            "My mother only speaks Italian, can you help her too?",
            "Is there service in other languages?",
            "In which languages can I write to you?",
        ),
        (
            "Yes, two of our colleagues speak Spanish.",
            "We answer in English, German and Italian.",
            "Sorry, we only do English at the moment.",
            "There is an interpreter line in (twelve|twenty) languages.",
        ),
    ),
    "pets": (
        (
            "May I bring my dog?",
            "Are pets allowed?",
            "I have a guide dog, is that a problem?",
            "What about my cat, can she come along?",
        ),
        (
            "Dogs are welcome as long as they are on a lead.",
            "Sorry, no animals except guide dogs.",
            "Small pets travel free in a carrier.",
            "There is a charge of 10 a day for animals.",
        ),
    ),
    "access": (
        (
            "Is it accessible with a wheelchair?",
            "My father uses a wheelchair, can he get in?",
            "Are there steps at the entrance?",
            "Is there a lift?",
        ),
        (
            "There is a ramp at the side entrance and a lift to every floor.",
            "Yes, the entrance is level and doors are wide enough for a wheelchair.",
            "Sadly there are three steps at the door.",
            "The lift is behind the front desk.",
        ),
    ),
    "children": (
        (
            "Do you have a reduced price for children?",
            "Up to what age are kids free?",
            "We have a toddler, does she pay?",
            "Is there a family rate?",
        ),
        (
            "Children under (six|five|four) are free, older ones pay half.",
            "There's a family ticket for two adults and three children.",
            "Kids pay the full price, sorry.",
            "Under-twelves get (thirty|fifty) per cent off.",
        ),
    ),
    "points": (
        (
            "Do I collect points with this?",
            "How many bonus points is that?",
            "Can I use my reward points here?",
            "what are my points worth?",
        ),
        (
            "You collect one point for every pound you spend.",
            "Reward points can be used from 500 upwards.",
            "Yes, this counts for the bonus scheme.",
            "There are no points on reduced items.",
            "A hundred points are worth one pound.",
        ),
    ),
    "privacy": (
        (
            "What do you do with my data?",
            "Who gets to see my address?",
            "How long do you keep this chat?",
            "Will you pass on my details to others?",
        ),
        (
            "Chats are deleted after 30 days, nobody outside sees them.",
            "Your details stay with us and are not sold.",
            "We keep the data for as long as the law says, six years.",
            "Only the team that handles your case can see your address.",
        ),
    ),
    "lost": (
        (
            "I left my scarf with you last time, do you have a lost and found?",
            "Who do I ask about something I lost?",
            "I think I forgot my glasses there, can you check?",
            "Has anybody handed in a blue umbrella?",
        ),
        (
            "Lost things are kept at the front desk for four weeks.",
            "I checked, nothing like that has been handed in.",
            "Yes, a scarf and a pair of glasses were found last week.",
            "The lost property office is on the ground floor.",
        ),
    ),
    "app": (
        (
            "Do you have an app?",
            "Can I do all this on my phone too?",
            "Do you have something that runs on an old Android phone?",
            "Is there an app I can use instead?",
        ),
        (
            "The app is free, for iPhone and Android.",
            "The app runs on any Android from version 9.",
            "We don't have an app yet, the site works well on phones.",
            "You'll find it in the app store under our name.",
        ),
    ),
    "complain": (
        (
            "Where can I send a complaint?",
            "Who is in charge of complaints?",
            "I'd like to write to your boss, what's the address?",
            "How do I make a formal complaint?",
        ),
        (
            "Complaints go to the quality team, the form is on the contact page.",
            "Our head of service reads every complaint herself.",
            "There's an ombudsman for that, the letter needs no special form.",
            "You can complain in writing and you'll hear from us within ten days.",
            "Write to the head office, 5 Mill Lane, that reaches her.",
        ),
    ),
    "jobs": (
        (
            "Are you hiring at the moment?",
            "My son is looking for a summer job, do you have any?",
            "Where do I send an application?",
            "do u have any vacancies",
        ),
        (
            "We are looking for drivers and kitchen staff right now.",
            "All openings are listed under Careers.",
            "No vacancies at present, but try again in spring.",
            "Summer jobs start in June, students are welcome.",
            "Applications go to the office, a short letter will do.",
        ),
    ),
    "luggage": (
        (
            "Where can I leave my suitcase meanwhile?",
            "Is there somewhere to store my bags?",
            "Do you look after luggage?",
            "Can my bags stay with you until the evening?",
        ),
        (
            "There are lockers downstairs, two pounds a day.",
            "We look after bags at no charge.",
            "Suitcases can stay in the room behind the desk until ten.",
            "We've no space for luggage, but the station does.",
        ),
    ),
    "voucher": (
        (
            "I have a gift voucher, can I use that?",
            "Is my voucher from last year still good?",
            "Where do I enter my gift code?",
            "Can I combine two vouchers?",
        ),
        (
            "Vouchers are good for three years.",
            "You enter the gift code on the last page.",
            "Only one voucher at a time, I'm afraid.",
            "Gift vouchers work here, just show it at the end.",
        ),
    ),
}

FITS: dict[str, tuple[tuple[int, ...], ...]] = {
    "hours": ((0, 1, 2, 3), (0, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3)),
    "cancel": ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), (0, 2, 3)),
    "payment": ((0, 3), (1, 2), (0, 2), (0, 3)),
    "invoice": ((0, 2), (0, 1, 3), (2,), (0, 1)),
    "language": ((0, 2, 3), (1, 2, 3), (0, 1, 2, 3), (1, 2)),
    "pets": ((0, 1, 3), (0, 1, 2, 3), (0, 1), (1, 2, 3)),
    "access": ((0, 1, 2), (0, 1, 2), (0, 2), (0, 3)),
    "children": ((0, 1, 2, 3), (0, 2), (0, 2, 3), (1, 2)),
    "points": ((0, 2, 3), (0,), (1,), (4,)),
    "privacy": ((1, 2), (3,), (0, 2), (1,)),
    "lost": ((0, 2, 3), (0, 3), (1, 2), (1,)),
    "app": ((0, 2, 3), (0, 2, 3), (1,), (0, 2, 3)),
    "complain": ((0, 2), (0, 1, 2), (4,), (0, 2, 3)),
    "jobs": ((0, 1, 2), (2, 3), (4,), (0, 1, 2)),
    "luggage": ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3), (2, 3)),
    "voucher": ((1, 3), (0,), (1,), (2,)),
}
"""Aspect -> for each question the places of the answers that do answer it."""

NEAR: tuple[frozenset[str], ...] = (
    frozenset({"payment", "voucher"}),
    frozenset({"payment", "points"}),
    frozenset({"points", "voucher"}),
    frozenset({"lost", "luggage"}),
    frozenset({"jobs", "app"}),
    frozenset({"jobs", "complain"}),
    frozenset({"access", "pets"}),
    frozenset({"privacy", "complain"}),
)
"""Aspects so close that an answer about one may pass for an answer about the other."""

DEFERRALS = (
    "I need to check that with my (colleague|supervisor) first, I'll tell you in five minutes.",
    "That is on another system; I'll look it up and answer before we finish.",
    "Good question. I don't know, but I'll ask the branch and write to you today.",
    "Let me find that out, it takes a minute or two.",
    "Which of our branches do you mean? It differs from one to the next.",
    "I can't see that from here, the front desk can tell you, shall I put you through?",
    "I'll come to that in a second, the list is still loading.",
    "That I'll have to look up, you get it by e-mail by (noon|tonight|tomorrow).",
)
"""Not answered and not ignored: put off with a reason, or asked about."""
