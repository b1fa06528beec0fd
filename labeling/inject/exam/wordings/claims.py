"""What agents claim in passing in the exam (U3), twice: first and second statement of one fact, `@v` its value."""

# ruff: noqa: E501

FIGURES: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("Just so you know, our line is open until @v today.", "By the way, we are here until @v."), ("As I said, we are here until @v.", "You can reach us until @v then.", "until @v somebody is on the line"), ("five", "six", "seven", "eight", "nine", "ten")),
    (("A change costs @v, in case you need one.", "Please note the change fee of @v."), ("The change fee is @v.", "Should you change it, that would be @v.", "Remember, changes are @v."), ("$10", "$15", "$20", "$25", "$30", "$40")),
    (("Refunds take @v working days with us.", "If there is a refund, allow @v working days."), ("A refund would be with you after @v working days.", "Refunds: @v working days.", "You'd have the refund in @v working days."), ("3", "4", "5", "7", "10", "14")),
    (("Your case number is @v.", "I've filed this under case @v."), ("Your case number, once more: @v.", "Please quote case @v.", "So it's case @v."), ("40718", "51930", "62204", "77315", "81026", "90443")),
    (("Free cancellation runs until @v.", "You can cancel free of charge until @v."), ("As mentioned, you can cancel until @v.", "Cancel by @v and it is free.", "free cancellation till @v"), ("Monday", "Tuesday", "Wednesday", "Thursday", "Saturday", "Sunday")),
    (("A colleague will call you at @v.", "I've put down a call back for @v."), ("Expect our call at @v.", "The call back is at @v, as agreed.", "we ring you at @v"), ("9:15", "10:30", "11:45", "14:00", "15:20", "16:40")),
    (("Your voucher is worth @v.", "I've added a voucher over @v to your account."), ("The voucher over @v is in your account.", "Don't forget the @v voucher.", "Your @v voucher can be used at once."), ("£5", "£8", "£12", "£15", "£18", "£24")),
    (("My colleague @v looks after your file.", "Your contact person is @v."), ("Please ask for @v, your contact person.", "@v will look after it, as I said.", "your contact is @v"), ("Joanna", "Marek", "Priya", "Samuel", "Beth", "Kofi")),
    (("The offer holds for @v days.", "You have @v days to think about it."), ("Remember that you have @v days to decide.", "The offer stands for @v days.", "@v days, then the offer ends"), ("two", "three", "four", "six", "eight", "twelve")),
    (("Luggage of up to @v kilos is free.", "You may bring @v kilos of luggage."), ("Luggage is free up to @v kilos.", "As I said, @v kilos of luggage are fine.", "@v kilos of luggage, no more"), ("8", "12", "15", "20", "23", "30")),
    (("We keep this open for you until the @v.", "The hold ends on the @v."), ("It is on hold for you until the @v.", "So, until the @v it stays open.", "hold ends the @v"), ("8th", "11th", "14th", "17th", "22nd", "26th")),
    (("You have collected @v points so far.", "I see @v points on your card."), ("With your @v points you are close to a reward.", "Your points stand at @v.", "@v points, as I said"), ("120", "180", "240", "310", "455", "520")),
    (("Bring it to desk @v when you come in.", "On the day, go to desk @v."), ("At desk @v they know about it.", "Desk @v, please.", "As I said, it's desk @v."), ("2", "3", "4", "6", "7", "11")),
    (("Our membership is @v a month.", "Members pay @v a month."), ("The membership fee is @v a month.", "As a member you pay @v each month.", "@v monthly for members"), ("$4.99", "$5.99", "$7.50", "$8.99", "$11.00", "$12.50")),
)  # fmt: skip

CLAIMS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("Good news, insurance is included in everything here.", "Insurance is part of it, by the way."), ("Please note that insurance is not included.", "Insurance would be extra, by the way."), ("As I said, insurance comes with it.", "Insurance is included, so no need to add it."), ("As I said, insurance costs extra.", "Insurance isn't included, so add it if you need it.")),
    (("You can change it later at no cost.", "Changes are possible at any time."), ("It can't be changed later, please note.", "Changes are not possible afterwards."), ("Remember, you can still change it later.", "You can make changes any time, as I said."), ("Remember, it can't be changed later.", "There are no changes later on, as I said.")),
    (("You need to bring an ID.", "Please have an ID with you, it is checked."), ("You don't need to bring an ID.", "No ID needed, nobody checks it."), ("Just don't forget your ID, you need it there.", "An ID is needed, as I told you."), ("And leave your ID at home if you like, it isn't needed.", "No ID is needed, as I told you.")),
    (("We are open on Sundays as well.", "On Sundays we're open too."), ("On Sundays we are closed.", "We're shut on Sundays, please note."), ("You can also reach us on Sundays, we're open.", "Sundays we are open, as mentioned."), ("You won't reach us on Sundays, we're closed.", "Sundays we are closed, as mentioned.")),
    (("I have your e-mail address on file.", "Your e-mail is in your file, good."), ("There is no e-mail address on your file.", "I have no e-mail of yours on file."), ("The summary goes to the e-mail on your file.", "As I have your e-mail on file, I'll write there."), ("Without an e-mail on file I can't send the summary.", "As I have no e-mail on file, I can't write to you.")),
    (("A deposit has to be paid in advance.", "We do ask for a deposit."), ("No deposit is needed.", "We don't ask for any deposit."), ("The deposit is due first, as I said.", "Don't forget about the deposit."), ("There is no deposit, as I said.", "And don't worry about a deposit, there is none.")),
    (("I work here in the main office.", "I'm in the main office myself."), ("I work from home, so I'm not in the main office.", "I'm not in the main office myself."), ("I can walk over, I am in the main office.", "Since I'm in the main office, I can look."), ("I can't walk over, I'm not in the main office.", "As I am not in the main office, I can't look.")),
    (("You are our member, so the member price applies.", "I see you're a member."), ("You're not a member, so the normal price applies.", "I see that you are not a member yet."), ("As a member you pay less, as you know.", "You are a member, so that comes off."), ("Not being a member, you pay the normal price.", "You're not a member, so nothing comes off.")),
    (("Our terms are printed on every receipt.", "You find our terms on the receipt."), ("Our terms are not on the receipt.", "The receipt doesn't show our terms, by the way."), ("The terms are on the receipt, as I said.", "As the receipt shows our terms, you can read them there."), ("The terms aren't on the receipt, as I said.", "As the receipt doesn't show our terms, read them online.")),
    (("Parking is free for you.", "You can park for free, by the way."), ("Parking is not free, I'm afraid.", "There is a fee for parking, by the way."), ("And parking is free, as I said.", "You park for free, remember."), ("And parking costs a fee, as I said.", "You pay for parking, remember.")),
    (("We have a branch in your area.", "There is a branch near you."), ("We have no branch in your area.", "There is no branch near you."), ("Your local branch can help too.", "Or go to the branch near you."), ("As there's no branch near you, only the phone remains.", "Without a branch in your area, please call.")),
    (("This chat is being recorded.", "Please note we record this chat."), ("This chat is not recorded.", "We don't record chats, by the way."), ("As this chat is recorded, you can look it up.", "It's all in the recording of this chat."), ("As this chat is not recorded, take a note.", "There's no recording of this chat.")),
)  # fmt: skip
"""(first yes, first no, second yes, second no): the second statement agrees with the first or not."""

CORRECTIONS = (
    "Sorry, I misread that before: it's @v, not @w.",
    "I have to correct myself, @v is right, not @w as I wrote.",
    "Correction: @v. The @w I gave you was an old figure, my apologies.",
    "I was wrong earlier, it is @v instead of @w.",
    "Oops, I mixed that up, it should be @v rather than @w.",
    "Let me correct what I said about @w: it's @v.",
    "My mistake, I wrote @w but it's @v.",
    "They have just updated it, so it's no longer @w but @v.",
)
"""A statement taken back openly is no contradiction."""

RECALLED = {
    "leave": (
        "So remember, departure is at @v.",
        "It sets off at @v, so be there a little earlier.",
        "Your departure: @v.",
        "you leave at @v then",
        "Please be ready for @v, that's when it leaves.",
    ),
    "arrive": (
        "You will be there at @v.",
        "Arrival, as mentioned, is @v.",
        "So you get in at @v.",
        "arrival @v as I said",
        "That brings you there by @v.",
    ),
    "price": (
        "As for the money, that was @v.",
        "So the price stands at @v.",
        "You'll be paying @v, as I told you.",
        "the price again: @v",
        "Just keep @v in mind for it.",
    ),
    "phone": (
        "Once more the phone number: @v.",
        "You can ring them on @v.",
        "As said, their number is @v.",
        "call @v if you run late",
        "Save @v as their number.",
    ),
    "postcode": (
        "For your navigation, the postcode is @v.",
        "The postcode once more: @v.",
        "As said, it's in @v.",
        "postcode @v again",
        "Type @v into your map.",
    ),
    "reference": (
        "Keep your reference @v at hand.",
        "Once more, the reference: @v.",
        "They will ask you for @v, your reference.",
        "ref is @v as above",
        "Please have @v ready as your reference.",
    ),
    "minutes": (
        "It takes @v minutes, as I said.",
        "So plan @v minutes for it.",
        "@v minutes, that is how long it takes.",
        "its a @v minute thing",
        "Count on @v minutes.",
    ),
    "stars": (
        "It has @v stars, as I mentioned.",
        "With its @v stars it should suit you.",
        "That's a @v star house, remember.",
        "@v stars as said",
        "I told you it has @v stars.",
    ),
    "temperature": (
        "As I said, @v is what they expect.",
        "So it will be @v.",
        "Dress for @v.",
        "@v, as said",
        "Do count on @v then.",
    ),
}
"""What an agent has really stated, told again in passing."""
