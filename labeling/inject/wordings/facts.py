"""What agents state as fact: attributes with values, and yes-or-no matters in both senses.

``@value`` is the value, ``@noun`` the attribute; ``#`` a digit and ``&`` a capital letter, as in
`dialint.labeling.inject.wordings.slots`.
"""

from __future__ import annotations

ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "money": (
        "delivery fee", "monthly fee", "late fee", "deposit", "refund", "cancellation fee", "price per night", "ticket price", "entrance fee",
        "service charge", "repair cost", "insurance excess", "upgrade price", "baggage fee", "parking fee", "outstanding balance", "setup fee",
        "handling charge", "credit limit", "minimum spend", "voucher", "room rate", "cleaning fee", "application fee", "transfer fee",
    ),
    "days": (
        "delivery time", "notice period", "return window", "processing time", "trial period", "repair time",
        "refund period", "lead time", "cooling-off period",
    ),
    "minutes": ("waiting time", "travel time", "walk to the station", "delay", "tour length", "transfer time", "wait for the call", "journey"),
    "clock": (
        "opening time", "closing time", "check-in time", "check-out time", "departure", "arrival", "appointment", "pickup time", "boarding time",
        "show time", "courier's arrival", "cut-off time", "technician's visit",
    ),
    "weekday": ("delivery day", "collection day", "appointment day", "visiting day", "release day", "payment day", "closing day", "repair day"),
    "date": ("expiry date", "due date", "renewal date", "start date", "billing date", "contract's last day", "dispatch date", "arrival date"),
    "count": (
        "number of rooms left", "number of seats left", "number of free bags", "number of devices allowed", "number of users included",
        "number of instalments", "number of results", "number of stops", "number of parcels",
    ),
    "code": ("booking reference", "confirmation code", "ticket number", "case number", "tracking code", "voucher code", "gate code", "return code", "train number"),
    "name": ("technician's name", "driver's name", "contact person", "branch manager", "account manager", "doctor on duty", "host's name", "tour guide"),
    "place": ("pickup place", "waiting area", "branch", "meeting point", "gate", "platform", "collection point", "car park", "entrance", "nearest stop"),
    "car": ("car type", "replacement car", "rental car", "car on file"),
    "plan": ("plan in use", "recommended plan", "insurance cover", "current tariff"),
    "bed": ("room type", "bed type", "fallback room"),
    "carrier": ("carrier", "shipping service", "courier", "carrier for the return"),
    "model": ("replacement model", "device on file", "router model", "loan device"),
    "percent": ("discount", "interest rate", "tax rate", "service charge", "cashback", "booking fee"),
    "phone": ("hotline", "direct number", "reception's number", "driver's phone", "branch's number"),
    "weight": ("weight limit", "baggage allowance", "load limit"),
    "storage": ("data allowance", "storage", "cloud space"),
    "distance": ("distance to the beach", "distance to the station", "range of the car", "service radius"),
}  # fmt: skip

VALUES: dict[str, tuple[str, ...]] = {
    "money": ("$##", "$#.50", "## pounds", "£##", "1## dollars", "## euros", "$1##", "#.99 euros", "£#.##", "2#0 pounds"),
    "days": ("@small days", "1# days", "2# days", "@small weeks", "@small business days", "@small working days", "@small months"),
    "minutes": ("1# minutes", "2# minutes", "@small minutes", "3# minutes", "45 minutes", "half an hour", "an hour", "two hours", "50 minutes"),
    "clock": ("1#:15", "1#:45", "1#:30", "(6|7|8|9):(00|10|20|30|40) am", "(1|2|3|4|5|6|7|8):(00|15|30|45) pm", "(8|9|10|11) am", "(2|3|4|5|6) pm", "noon"),
    "weekday": ("@day", "@day morning", "@day afternoon", "next @day", "@day"),
    "date": ("@month @nth", "the @nth of @month", "@nth @month", "@month @nth"),
    "count": ("@small", "1#", "2#", "@small", "eleven", "twelve", "3"),
    "code": ("&&&#&&", "#####", "&&####", "&#&#&#", "&&-####", "########", "&&&&##"),
    "name": ("@first", "@first @last", "Mr @last", "Ms @last", "Dr @last", "@last"),
    "place": ("the north gate", "@street", "the one on @street", "the main hall", "## @street", "the east side", "the one in @city", "the blue door"),
    "car": ("a (grey|white|black|red|blue) (Volvo|Ford|Skoda|Audi|Toyota)", "a (Volvo|Ford|Skoda|Audi|Toyota|Kia)"),
    "plan": ("(Basic|Family|Standard|Premium|Business|Student)", "the (basic|family|standard|premium|business) one"),
    "bed": ("a (double|single|twin|suite|studio)", "a (queen|king|family room|loft)"),
    "carrier": ("(FastPost|BlueVan|ParcelJet|NorthCargo|Swiftway|RoadRunner)",),
    "model": ("the (X|K|T|M)#00", "the (Nova|Orbit|Pearl|Vega|Lumen) #"),
    "percent": ("# percent", "1# percent", "1#%", "2#%", "#.5%"),
    "phone": ("0#### ######", "555-####", "###-###-####", "0800 ######"),
    "weight": ("1# kilos", "2# kilos", "3# kilos", "5# pounds", "4# pounds"),
    "storage": ("# GB", "## GB", "#00 MB"),
    "distance": ("(2|3|4|5|6|7|8|9) miles", "1# km", "#.5 km", "#00 metres"),
}  # fmt: skip

FIRST = (
    "The @noun is @value.", "The @noun: @value.", "It's @value for the @noun.", "@value is the @noun.", "Your @noun is @value.", "Here the @noun is @value.",
    "I see @value as the @noun.", "I've looked it up, the @noun is @value.", "According to my screen the @noun is @value.", "There's a @noun of @value.",
    "As @noun I have @value.", "For the @noun, it's @value.", "I can tell you that the @noun is @value.", "You'll find that the @noun is @value.",
    "By the way, the @noun is @value.", "Please note that the @noun is @value.", "With us the @noun is @value.", "Just so you know, the @noun is @value.",
    "The system shows @value for the @noun.", "On the @noun: @value.", "FYI the @noun is @value.", "I have the @noun down as @value.",
)  # fmt: skip

LATER = (
    # plain
    "The @noun is @value.", "The @noun is then @value.", "So the @noun is @value.", "Then the @noun is @value.", "The @noun would be @value.",
    "Your @noun is @value.", "It's @value, the @noun.", "@value for the @noun.", "@noun: @value.", "@value it is for the @noun.",
    "That makes the @noun @value.", "And the @noun is @value.", "It's a @noun of @value.",
    "You have a @noun of @value.", "We have @value as the @noun.", "There is a @noun of @value.", "The @noun stands at @value.", "@value, that is the @noun.",
    # reminding
    "As I said, the @noun is @value.", "As mentioned, the @noun is @value.", "Like I said, @value for the @noun.", "As I told you, the @noun is @value.",
    "As stated above, the @noun is @value.", "I already told you that the @noun is @value.", "Again, the @noun is @value.", "Once more, the @noun: @value.",
    "As explained, @value is the @noun.", "Remember, the @noun is @value.", "Don't forget, the @noun is @value.", "Please remember that the @noun is @value.",
    "Keep in mind that the @noun is @value.", "Just remember: @value for the @noun.", "To repeat, the @noun is @value.", "Bear in mind the @noun, @value.",
    "You'll recall that the @noun is @value.", "As you know, the @noun is @value.", "As discussed, the @noun is @value.", "Like before, the @noun is @value.",
    "As promised, the @noun is @value.", "It stays the same, the @noun is @value.", "The @noun remains @value.", "The @noun is still @value.",
    # summing up
    "So to sum up, the @noun is @value.", "In short: the @noun is @value.", "To be clear, the @noun is @value.", "All in all the @noun is @value.",
    "So we're at @value for the @noun.", "So that's @value for the @noun.", "That leaves the @noun at @value.",
    "To be on the safe side: the @noun is @value.", "Everything as agreed, the @noun is @value.", "So everything is settled, with @value as the @noun.",
    "For your notes: the @noun is @value.", "Please write down @value, the @noun.", "You may want to note the @noun, @value.", "Let me note: @noun @value.",
    # in service of something
    "Given that the @noun is @value, you should be fine.", "Since the @noun is @value, there's nothing else to do.", "Because the @noun is @value, we can leave it there.",
    "With the @noun at @value, you have a good choice.", "Considering the @noun is @value, I'd go ahead.", "If the @noun of @value suits you, all is set.",
    "You only have to know that the @noun is @value.", "Just plan for the @noun, @value.", "Please plan with @value as the @noun.", "Do count on @value as the @noun.",
    "You can rely on the @noun, which is @value.", "I hope a @noun of @value is fine.", "Is @value all right for the @noun?", "The @noun of @value is all right?",
    "Would you be okay with the @noun, @value?", "I'll put the @noun, @value, in your file.", "You will get it in writing, the @noun too, which is @value.",
    "I'm sending you the @noun by mail: @value.", "In the mail you'll see the @noun, @value.", "The receipt will show @value as the @noun.", "The letter says it too: @noun @value.",
    # checking
    "I've checked again, the @noun is @value.", "I just looked, it's @value for the @noun.", "My screen says @value for the @noun.", "The system says the @noun is @value.",
    "Looking at it, the @noun is @value.", "From what I see the @noun is @value.", "I can confirm the @noun, @value.", "I confirm: the @noun is @value.",
    "It's confirmed: the @noun is @value.", "Yes, the @noun is @value.", "Right, the @noun is @value.", "Correct, @value is the @noun.", "That's right, the @noun is @value.",
    "Sure, the @noun is @value.", "Of course, it's @value for the @noun.", "Happy to tell you, the @noun is @value.", "Good news on the @noun, it is @value.",
    # sloppy, terse, non-native
    "@noun = @value", "btw the @noun is @value", "The @noun, it is @value.",     "@noun @value, cheers.", "Oh and the @noun is @value.", "Also, the @noun is @value.",
    "One more thing, the @noun is @value.", "Not to forget the @noun: @value.", "Last but not least, the @noun, @value.", "Before you go, the @noun is @value.",
    "P.S. The @noun is @value.", "Apart from that the @noun is @value.", "Otherwise, the @noun is @value.", "Besides, the @noun is @value.",
    "For completeness, @value is the @noun.", "Anyway, the @noun is @value.", "In any case, @value is the @noun.", "Either way the @noun is @value.",
    "Well, the @noun is @value.", "You see, the @noun is @value.", "Note the @noun: @value.", "Kindly note that the @noun is @value.", "Please be advised that the @noun is @value.",
    "We would like to inform you that the @noun is @value.", "The applicable @noun is @value.", "The @noun in your case is @value.", "The @noun in question is @value.",
)  # fmt: skip

CHANGES = (
    "Actually, could we change the @noun?", "I'd like a different @noun, if that's possible.", "The @noun doesn't suit me, can you do something about it?",
    "Can you change the @noun for me?", "Hm, is there another option for the @noun?", "I need another @noun than that.", "Please alter the @noun.",
    "Could you do better on the @noun?", "I'd rather have another @noun.", "That @noun won't work for me.",
)  # fmt: skip
WISHED = (
    "Sure, then the @noun is @value.", "Okay, the @noun is @value then.", "Of course, that makes it @value for the @noun.", "Alright, @value for the @noun.", "No problem, the @noun is @value.",
    "Yes, so the @noun is @value.", "Fine, so that's @value for the @noun.", "Sure thing, the @noun: @value.", "Done, the @noun is @value.", "Okay, so we have @value as the @noun.",
    "That's fine, so the @noun is @value.", "Gladly, I'm putting down @value as the @noun.", "Certainly, the file says @value for the @noun.", "Very well, the @noun is @value.", "Right, it's @value for the @noun.",
    "I've done that, the @noun is @value.", "Good, then @value is the @noun.", "So the @noun is @value, no problem.", "@value for the @noun, then.", "Then the @noun is @value.", "The @noun is then @value.",
    "Understood. The @noun is @value.", "Okay. You get it in writing that the @noun is @value.", "Happy to, the @noun is @value.", "All right, let's say @value for the @noun.",
)  # fmt: skip
"""What an agent says who has done what he was asked to do."""
CHANGEABLE = ("money", "clock", "weekday", "date", "place", "car", "plan", "bed", "carrier", "name")

ASKED_AGAIN = (
    "Sorry, what was the @noun again?", "Could you tell me the @noun again?", "And the @noun?", "Remind me of the @noun, please.", "What about the @noun?",
    "What did you say the @noun is?", "I've lost track, which @noun was it?", "Let me write down the @noun, please say it once more.", "How was that with the @noun?",
    "Just the @noun once more, please.",
)  # fmt: skip

CORRECTED = (
    "Sorry, I misread that, the @noun is @value and not @old.", "Correction: the @noun is @value, my mistake.", "I have to correct myself, it's @value for the @noun.",
    "Apologies, I said @old but the @noun is @value.", "I was wrong before, the @noun is actually @value.", "Please ignore what I said about the @noun, it is @value.",
    "My mistake, the @noun isn't @old but @value.", "I looked at the wrong line, the right @noun is @value.", "Oops, wrong @noun, I meant @value.",
    "I must apologise, the @noun I gave you was wrong. It is @value.", "Sorry for the mix-up, the correct @noun is @value.", "The @noun has just been updated from @old to @value.",
    "A moment ago the @noun changed, it is @value now.", "I need to take back @old, the @noun is @value.",
)  # fmt: skip

OTHER_ITEM = (
    "For the other one the @noun is @value.", "At our second branch the @noun is @value.", "With the other option the @noun would be @value.", "For new customers the @noun is @value.",
    "At weekends the @noun is @value.", "In winter the @noun is @value instead.", "For your colleague the @noun is @value.", "If you pick the bigger one, the @noun is @value.",
    "Last year the @noun was @value.", "With the members' card the @noun goes to @value.", "The alternative has a @noun of @value.", "On the second booking the @noun is @value.",
)  # fmt: skip

MATTERS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("you can return sale items", "sale items can be returned"), ("you can't return sale items", "sale items are excluded from returns")),
    (("breakfast is included", "the rate comes with breakfast"), ("breakfast is not included", "breakfast costs extra")),
    (("parking is free for guests", "guests don't pay for parking"), ("there is a charge for parking", "guests have to pay for parking")),
    (("pets are allowed", "you may bring a pet"), ("pets are not allowed", "we don't take pets")),
    (("the fee is refundable", "you'd get the fee back"), ("the fee is not refundable", "you wouldn't get the fee back")),
    (("we deliver on Sundays", "Sunday delivery is possible"), ("we don't deliver on Sundays", "there is no delivery on Sundays")),
    (("the item is in stock", "we have it here"), ("the item is out of stock", "we don't have it at the moment")),
    (("your warranty is still valid", "you are still under warranty"), ("your warranty has run out", "the warranty is over")),
    (("the contract renews by itself", "it renews automatically"), ("the contract ends by itself", "it doesn't renew automatically")),
    (("you can cancel at any time", "there's no minimum term"), ("you can't cancel before the year is over", "you are bound for a year")),
    (("the card has been blocked", "your card is blocked"), ("the card has not been blocked", "your card still works")),
    (("the refund has been sent", "we've paid the refund out"), ("the refund hasn't been sent yet", "the refund is still to be paid")),
    (("your parcel has left the warehouse", "the parcel is on its way"), ("your parcel is still in the warehouse", "the parcel hasn't been shipped")),
    (("the app works offline", "no internet is needed for the app"), ("the app needs a connection", "the app doesn't run offline")),
    (("you need to be at home for that", "somebody has to be in"), ("nobody has to be at home", "you needn't be in for that")),
    (("your account is active", "the account is open"), ("your account is suspended", "the account is closed")),
    (("the old password still works", "you can use the old password"), ("the old password is void", "the old password no longer works")),
    (("this model is waterproof", "water won't harm this model"), ("this model isn't waterproof", "you must keep this model dry")),
    (("the outage is fixed", "the network is back"), ("the outage is not fixed", "the network is still down")),
    (("we accept gift cards", "you can pay with a gift card"), ("we don't accept gift cards", "gift cards are not accepted")),
    (("roaming is switched on", "you can use roaming"), ("roaming is switched off", "roaming is disabled for you")),
    (("your seat is confirmed", "the seat is reserved"), ("your seat isn't confirmed", "the seat is not reserved")),
    (("the flight is on time", "there's no delay"), ("the flight is delayed", "there is a delay")),
    (("children travel for free", "there's no fare for children"), ("children pay the full fare", "children need a paid ticket")),
    (("the invoice is paid", "we received your payment"), ("the invoice is open", "no payment has reached us")),
    (("you have to bring an ID", "an ID is required"), ("no ID is needed", "you don't have to bring any ID")),
    (("the doctor is in today", "the doctor sees patients today"), ("the doctor is away today", "the doctor sees nobody today")),
    (("there is a lift in the building", "you can take the lift"), ("there is no lift in the building", "you have to take the stairs")),
    (("the shop is open on Monday", "Monday is a normal day for us"), ("the shop is closed on Monday", "we don't open on Mondays")),
    (("the upgrade is free", "you won't be charged for the upgrade"), ("the upgrade costs extra", "you'll be charged for the upgrade")),
    (("this ticket can be changed", "changes are possible on this ticket"), ("this ticket can't be changed", "no changes are possible on this ticket")),
    (("your claim was approved", "the claim went through"), ("your claim was declined", "the claim has been rejected")),
    (("I've cancelled the subscription", "the subscription is cancelled"), ("I haven't cancelled the subscription", "the subscription is still running")),
    (("I've updated your address", "the new address is saved"), ("I haven't changed your address", "the old address is still in place")),
    (("a technician has been booked", "a technician will come"), ("no technician has been booked", "nobody will come")),
    (("the part is covered by insurance", "your insurance pays for the part"), ("the part isn't covered by insurance", "you pay for the part yourself")),
    (("the room has a bath", "there's a bathtub in the room"), ("the room has only a shower", "there's no bathtub in the room")),
    (("the wifi is free", "you pay nothing for the wifi"), ("the wifi costs extra", "you have to pay for the wifi")),
    (("the seller ships abroad", "international shipping is offered"), ("the seller ships only at home", "there's no international shipping")),
    (("your data was saved", "nothing was lost"), ("your data is lost", "we couldn't save your data")),
    (("the offer is still on", "you can get the offer today"), ("the offer has ended", "the offer isn't available any more")),
    (("we have a table for you", "a table is free"), ("we're fully booked", "no table is free")),
    (("the meter was read", "we have your meter reading"), ("the meter wasn't read", "we have no meter reading")),
    (("you qualify for the discount", "the discount applies to you"), ("you don't qualify for the discount", "the discount doesn't apply to you")),
    (("the device can be repaired", "a repair is possible"), ("the device can't be repaired", "a repair isn't possible")),
    (("the line is tested", "I've run the line test"), ("the line isn't tested yet", "I haven't run the line test")),
    (("the taxi is on the way", "your driver has set off"), ("the taxi hasn't set off", "your driver is still waiting for the order")),
    (("the office answers on weekends", "somebody is there on weekends"), ("the office is empty on weekends", "nobody is there on weekends")),
    (("the update is optional", "you can skip the update"), ("the update is mandatory", "you can't skip the update")),
    (("your name is on the list", "I found you on the list"), ("your name isn't on the list", "I can't see you on the list")),
)  # fmt: skip

ONE_WAY = frozenset(
    {
        "the card has been blocked", "the refund has been sent", "your parcel has left the warehouse", "your account is active", "the outage is fixed", "roaming is switched on",
        "your seat is confirmed", "the invoice is paid", "I've cancelled the subscription", "I've updated your address", "a technician has been booked", "the line is tested",
        "the taxi is on the way", "the meter was read", "your name is on the list",
    }
)  # fmt: skip
"""Matters, by the first wording of their yes, that may come true while one chats: only a yes that becomes a
no is a contradiction."""

MATTER_FIRST = (
    "@matter.", "@matter.", "I can tell you that @matter.", "I see here that @matter.", "As far as I see, @matter.", "Please note that @matter.", "Yes, @matter.",
    "By the way, @matter.", "According to the system, @matter.", "I've checked, @matter.", "Just so you know, @matter.", "Okay, @matter.", "It says here that @matter.",
)  # fmt: skip

MATTER_LATER = (
    "@matter.", "So @matter.", "As I said, @matter.", "Since @matter, you're set.", "As @matter, nothing else is needed.", "Remember that @matter.", "Also, @matter.",
    "And @matter, of course.", "@matter, just so you know.", "To be clear, @matter.", "Please keep in mind that @matter.", "I'd like to add that @matter.", "Besides, @matter.",
    "In short, @matter.", "You see, @matter.", "@matter, as mentioned.", "Given that @matter, I would go ahead.", "As @matter, I'll leave it like that.", "Well, @matter.",
    "Then @matter.", "btw @matter", "Kindly note that @matter.", "Right, @matter.", "I've just looked, @matter.", "Like I told you, @matter.", "I can confirm that @matter.",
    "Anyway, @matter.", "One more point: @matter.", "Because @matter, there is nothing to worry about.", "I'll write in the file that @matter.", "It's as follows: @matter.",
)  # fmt: skip

_BACK = ("said", "mention", "told", "stated", "remain", "still", "again", "same", "repeat", "recall", "know", "discussed", "before", "promised",
         "explained", "emember", "forget", "more", "onfirm", "orrect", "Right", "Again", "agreed", "in mind", "says it too", "Yes", "always")  # fmt: skip

NEW = tuple(wording for wording in LATER if not any(word in wording for word in _BACK))
"""Those that do not speak as of something said before."""

MEASURED = ("money", "days", "minutes", "percent", "weight", "storage", "distance")
"""Attributes of which one can say "a fee of 5 pounds"."""

ALIKE = ("place", "car", "plan", "bed", "model", "weekday")
"""Attributes of which two values contradict each other only in one form: "the north gate" may be on "Mill Road"."""

NEAR: tuple[frozenset[str], ...] = tuple(
    frozenset(group)
    for group in (
        ("carrier", "courier", "shipping service", "carrier for the return"), ("plan in use", "current tariff", "insurance cover"), ("rental car", "car on file", "car type", "replacement car"),
        ("device on file", "loan device", "replacement model"), ("booking reference", "confirmation code", "ticket number"), ("hotline", "direct number", "reception's number", "branch's number"),
        ("contact person", "account manager", "branch manager", "tour guide", "host's name"), ("delivery time", "lead time", "processing time"), ("return window", "cooling-off period", "trial period", "refund period"),
        ("waiting time", "delay", "wait for the call"), ("travel time", "journey", "transfer time"), ("appointment day", "visiting day", "repair day"), ("delivery day", "release day"),
        ("appointment", "technician's visit", "pickup time", "courier's arrival", "arrival"), ("departure", "boarding time"), ("dispatch date", "arrival date"), ("renewal date", "expiry date", "contract's last day"),
        ("billing date", "due date"), ("pickup place", "meeting point", "collection point", "waiting area"), ("gate", "entrance", "platform"), ("late fee", "outstanding balance"),
        ("price per night", "room rate"), ("ticket price", "entrance fee"), ("handling charge", "service charge", "setup fee", "application fee", "booking fee"), ("data allowance", "storage", "cloud space"),
        ("weight limit", "baggage allowance", "load limit"), ("bed type", "room type", "fallback room"), ("number of results", "number of rooms left"), ("discount", "cashback"),
    )
)  # fmt: skip
"""Attributes so near each other that a value of the one may be taken for a value of the other."""
