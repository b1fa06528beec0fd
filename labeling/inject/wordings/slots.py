"""What customers tell about themselves and their matter: kinds of things, their values and their questions.

Values are made up. ``#`` stands for a digit, ``&`` for a capital letter, ``~`` for an at sign; ``@rule`` and ``(a|b)`` as in
`dialint.labeling.synthetic.phrases`.
"""

from __future__ import annotations

FIRST = ("Mira", "Tom", "Priya", "Jorge", "Hannah", "Li", "Omar", "Greta", "Samuel", "Ines", "Kofi", "Elena",
         "Dmitri", "Aisha", "Paul", "Noor", "Clara", "Victor", "Yuki", "Marta", "Ben", "Chloe", "Ravi", "Lena")  # fmt: skip
LAST = ("Stone", "Okafor", "Brandt", "Silva", "Novak", "Hughes", "Tanaka", "Rossi", "Khan", "Fischer", "Doyle",
        "Moreau", "Lindt", "Petrov", "Adams", "Sharma", "Costa", "Weber", "Nolan", "Haddad", "Berg", "Quinn")  # fmt: skip
STREET = ("Mill Lane", "Oak Street", "Harbour Road", "Station Avenue", "Church Street", "Elm Drive", "King's Parade",
          "Rosewood Close", "Hill Road", "Park View", "Bridge Street", "Garden Way")  # fmt: skip
CITY = ("Leeds", "Bristol", "Dover", "Hamburg", "Lyon", "Austin", "Portland", "Denver", "Glasgow", "Turin", "Oslo",
        "Cork", "Toledo", "Ghent", "Porto", "Boise", "Tampa", "Malmo", "York", "Bath")  # fmt: skip
MONTH = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
         "November", "December")  # fmt: skip
DAY = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NTH = ("1st", "2nd", "3rd", "4th", "5th", "7th", "8th", "9th", "11th", "12th", "14th", "16th", "18th", "19th",
       "21st", "22nd", "24th", "26th", "27th", "29th")  # fmt: skip
SMALL = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "9",
)

PARTS = {
    "first": FIRST,
    "last": LAST,
    "street": STREET,
    "city": CITY,
    "month": MONTH,
    "day": DAY,
    "nth": NTH,
    "small": SMALL,
}

_DATE = ("the @nth of @month", "@month @nth", "@day", "@nth @month", "@day the @nth")
_CLOCK = ("(8|9|10|11):(00|15|30|45) am", "(1|2|3|4|5|6|7):(00|15|30|45) pm", "(8|9|10|11) am", "(1|2|3|4|5|6) pm",
          "1(0|1|4|5|6|7|8|9):(05|10|20|35|40|50)", "noon")  # fmt: skip
_NUMBER = ("######", "#######", "########", "## ### ##", "####-####")
_CODE = ("&&#####", "&#####&", "&&-####", "##-&&&-##", "&&&####", "#&&###")

VALUES: dict[str, tuple[str, ...]] = {
    "order": (*_NUMBER, *_CODE),
    "account": ("########", "#### ####", "##########", "#######", "&&#######"),
    "customer": ("######", "#####", "&######", "C-#####"),
    "booking": ("&&&#&&", "&#&#&#", "&&####", "######", "&&&&##"),
    "tracking": ("##########&&", "&&#########", "### ### ####", "&&########GB"),
    "invoice": ("INV-####", "20##-####", "######", "R#####"),
    "serial": ("&&##&###", "&###-###&", "#########", "S/N ######"),
    "policy": ("P-######", "########", "&&&-#####", "PL######"),
    "ticket": ("T-#####", "#####", "CS####", "######"),
    "phone": ("0#### ######", "###-###-####", "555-####", "07### ### ###", "(###) ###-####"),
    "postcode": ("&&# #&&", "#####", "&## #&&"),
    "name": ("@first @last", "@first @last", "@first", "@last"),
    "other_name": ("@first @last", "@first", "my brother @first", "my wife @first", "Mr @last", "Ms @last"),
    "email": ("@first.@last~mailbox.example", "@first##~post.example", "@last~homenet.example", "@first-@last~work.example"),
    "city": CITY,
    "origin": CITY,
    "address": ("## @street", "# @street, @city", "## @street, flat #", "1## @street", "the blue house at ## @street"),
    "date": _DATE,
    "purchase_date": (*_DATE, "last @day", "two weeks ago", "three days ago", "a month ago"),
    "birth": ("@month @nth, 19(7|8|9)#", "the @nth of @month 19(6|7|8|9)#", "1#/0#/19(7|8|9)#"),
    "time": _CLOCK,
    "call_time": (*_CLOCK, "in the evening", "any time after lunch", "early in the morning", "between 2 and 4"),
    "people": ("@small people", "@small of us", "@small adults", "two adults and @small kids", "just the two of us"),
    "duration": ("@small nights", "@small days", "a week", "two weeks", "the whole weekend", "a month"),
    "quantity": ("@small", "a dozen", "ten", "twelve", "20", "15", "a pair", "@small boxes"),
    "budget": ("about ##0 dollars", "under ##0 pounds", "no more than $##", "up to ##0 euros", "something cheap", "mid-range"),
    "amount": ("$##.##", "## pounds", "1##.## euros", "£##.50", "## dollars and ## cents"),
    "colour": ("dark blue", "red", "black", "olive green", "white", "grey", "the yellow one", "navy", "beige", "silver"),
    "size": ("medium", "size 4#", "extra large", "a small", "UK 1#", "42 wide", "king size", "the 500 ml one", "XXL"),
    "phone_model": ("a Pixel 8", "a Galaxy S21", "an old Nokia", "an iPhone 13", "a Moto G", "an Xperia 5", "a Fairphone 4"),
    "computer": ("a ThinkPad", "a MacBook Air", "Windows 11", "an old Windows 10 laptop", "Linux", "a Chromebook", "an iMac"),
    "browser": ("Firefox", "Chrome", "Safari", "Edge", "Opera", "Brave", "Vivaldi"),
    "vehicle": ("a grey Skoda", "a Ford Focus", "a white van", "a Vespa", "a 2015 Corolla", "an electric Kia", "a camper"),
    "plate": ("&&## &&&", "&&& ###", "&-&& ####", "#&&& ###"),
    "payment": ("PayPal", "by card", "by bank transfer", "with a gift card", "cash", "Visa", "direct debit", "in instalments"),
    "symptom": ("the screen stays black", "it overheats", "it makes a grinding noise", "the light blinks red", "it won't charge",
                "the water runs cold", "it drops the connection every hour", "the door doesn't close", "it smells burnt"),
    "error": ("error 4##", "E-0#", "code ##", "a message that says access denied", "connection reset", "fault F#", "timeout"),
    "reason": ("it arrived broken", "I found it cheaper elsewhere", "it doesn't fit", "I am moving abroad", "I was charged twice",
               "I changed jobs", "it was a gift I don't need", "the wrong one came", "my plans fell through"),
    "plan": ("the basic plan", "the family plan", "Premium", "the 10 GB tariff", "the student rate", "Business Plus", "prepaid"),
    "room": ("a double", "a single room", "a twin with sea view", "the suite", "a ground floor room", "a family room"),
    "seat": ("an aisle seat", "by the window", "seat 1#(A|B|C|D)", "at the front", "an exit row", "at the back"),
    "diet": ("vegan", "no nuts", "gluten free", "halal", "vegetarian", "I am allergic to shellfish", "no dairy"),
    "food": ("Thai", "Italian", "sushi", "something Lebanese", "a curry", "Greek", "tapas", "seafood"),
    "pickup": ("the main station", "the north gate", "the museum", "my office on @street", "the airport", "gate #", "@street"),
    "language": ("English", "Spanish", "French", "Polish", "Arabic", "German", "Turkish"),
    "employer": ("Brandt and Sons", "the city library", "Okafor Logistics", "a bakery called Crust", "Novak Design", "the university"),
    "luggage": ("one suitcase", "two bags", "just a backpack", "@small suitcases", "a pram and a bag", "a bike box"),
    "pet": ("a beagle", "two cats", "a small dog", "a parrot", "a greyhound"),
    "wifi": ("home-@last", "Net_####", "FritzNet ##", "cafe-guest", "@first's hotspot"),
}  # fmt: skip

SHAPES: tuple[tuple[str, ...], ...] = (
    ("order", "account", "customer", "booking", "tracking", "invoice", "serial", "policy", "ticket", "phone", "postcode", "plate"),
    ("name", "other_name", "email", "employer", "wifi"),
    ("city", "origin", "address", "pickup", "postcode", "language"),
    ("date", "purchase_date", "birth", "time", "call_time", "duration"),
    ("people", "duration", "quantity", "budget", "amount", "luggage"),
    ("colour", "size", "room", "seat", "diet", "food", "plan", "payment", "pet"),
    ("phone_model", "computer", "browser", "vehicle", "symptom", "error", "reason"),
)  # fmt: skip
"""Kinds whose values look alike: giving one is no answer to the question for another."""

CLASHING: tuple[tuple[str, ...], ...] = (
    ("city", "address", "postcode"), ("origin", "pickup"), ("date", "call_time", "time", "duration"), ("name", "other_name", "email"),
    ("amount", "budget"), ("symptom", "error", "reason"), ("diet", "food"), ("phone_model", "computer"), ("order", "invoice", "tracking", "booking"),
    ("customer", "account", "policy"), ("size", "room"), ("vehicle", "plate"), ("city", "origin"), ("address", "pickup"),
)  # fmt: skip
"""Kinds too near each other for a twin: an answer to one may be taken for an answer to the other."""

NOUNS: dict[str, tuple[str, ...]] = {
    "order": ("order number", "order id", "order no"), "account": ("account number", "account no"),
    "customer": ("customer number", "customer id", "client number"), "booking": ("booking reference", "booking code", "reservation number"),
    "tracking": ("tracking number", "tracking code", "parcel number"), "invoice": ("invoice number", "bill number"),
    "serial": ("serial number", "device number"), "policy": ("policy number", "insurance number"),
    "ticket": ("ticket number", "case number"), "phone": ("phone number", "mobile number", "contact number", "telephone number"),
    "postcode": ("postcode", "postal code", "zip code"), "name": ("name", "full name"),
    "other_name": ("contact person", "second traveller"), "email": ("email address", "email", "e-mail"),
    "city": ("city", "home town"), "origin": ("departure city", "starting point"),
    "address": ("address", "street address", "delivery address"), "date": ("date", "preferred date", "preferred day"),
    "purchase_date": ("purchase date", "date of purchase"), "birth": ("date of birth", "birthday"),
    "time": ("time", "preferred time"), "call_time": ("best time for a call", "callback time"),
    "people": ("party size", "group size", "number of people"), "duration": ("length of stay", "duration"),
    "quantity": ("quantity", "number of items"), "budget": ("budget", "price range"), "amount": ("amount", "disputed amount", "sum"),
    "colour": ("colour", "color", "preferred colour"), "size": ("size",), "phone_model": ("phone model", "phone", "handset"),
    "computer": ("operating system", "computer"), "browser": ("browser",), "vehicle": ("car", "vehicle"),
    "plate": ("licence plate", "registration number", "plate number"), "payment": ("payment method", "way of paying"),
    "symptom": ("problem", "fault", "issue"), "error": ("error message", "error code"), "reason": ("reason",),
    "plan": ("plan", "tariff", "subscription"), "room": ("room type", "kind of room"), "seat": ("seat preference", "preferred seat"),
    "diet": ("dietary needs", "diet"), "food": ("cuisine", "kind of food"), "pickup": ("pickup point", "pick-up place"),
    "language": ("preferred language", "language"), "employer": ("employer", "company name"), "luggage": ("luggage",),
    "pet": ("pet",), "wifi": ("network name", "wifi name"),
}  # fmt: skip

QUESTIONS: dict[str, tuple[str, ...]] = {
    "order": ("Which order is this about?", "What number does the order have?", "Which order do you mean?"),
    "account": ("Which account are we talking about?", "What's the account, by number?", "Under what account is that?"),
    "customer": ("Are you a registered customer, and under which number?", "What number are you registered under?"),
    "booking": ("What reference did you get when you booked?", "Which booking should I open?", "Under which code did you book?"),
    "tracking": ("What does the tracking label say?", "Which parcel is it?", "What code is on the shipping slip?"),
    "invoice": ("Which invoice do you refer to?", "What number is printed on the bill?"),
    "serial": ("What is printed on the back of the device?", "Which serial does the unit carry?"),
    "policy": ("Under which policy are you covered?", "What's the number on your policy?"),
    "ticket": ("Is there a case open already, and which number has it?", "Which case does this belong to?"),
    "phone": ("How can we reach you by phone?", "On what number can I call you?", "Where can I ring you?"),
    "postcode": ("What's the code of your area?", "Which postal area is it?"),
    "name": ("Who am I speaking with?", "How should I address you?", "What are you called?", "Whose name is it under?", "Who is this for?"),
    "other_name": ("Who else should I put down?", "Who will be with you?", "Whom do we contact besides you?"),
    "email": ("Where can I write to you?", "To which mailbox shall I send it?", "Which email are you registered with?"),
    "city": ("Where do you live?", "Which town are you in?", "What city is it?"),
    "origin": ("Where do you start from?", "From where do you set off?", "Which city do you leave from?"),
    "address": ("Where should it be delivered?", "Where do we send it?", "What street and house is it?", "Where exactly do you live?"),
    "date": ("When would you like it?", "Which day suits you?", "What day is it for?", "For when?", "When should that be?"),
    "purchase_date": ("When did you buy it?", "How long ago did you purchase it?", "Since when do you have it?"),
    "birth": ("When were you born?", "What's your birth date?"),
    "time": ("What time suits you?", "At what hour?", "When on that day?", "What time would be good?"),
    "call_time": ("When may we ring you?", "When is it convenient to call?", "What time can you pick up the phone?"),
    "people": ("How many of you are there?", "For how many?", "How many will come?", "How big is the group?"),
    "duration": ("How long will you stay?", "For how long?", "How many nights?", "How much time do you need it for?"),
    "quantity": ("How many do you need?", "How many would that be?", "What quantity?"),
    "budget": ("What would you like to spend?", "How much may it cost?", "Is there a price limit?", "Cheap or expensive?"),
    "amount": ("How much was it?", "What sum are we talking about?", "How much was taken?"),
    "colour": ("Which colour do you want?", "In what colour?", "Light or dark, which colour?"),
    "size": ("What size do you take?", "How big should it be?", "Small, medium or large?"),
    "phone_model": ("What phone do you have?", "Which handset is it?", "What make is your phone?"),
    "computer": ("What computer are you on?", "Are you using Windows or a Mac?", "What system does it run?"),
    "browser": ("Which browser do you use?", "What do you open the page with?", "Chrome, Firefox or something else?"),
    "vehicle": ("What car do you drive?", "Which vehicle is it?", "What are you driving?"),
    "plate": ("What's on the plate?", "How is the car registered?"),
    "payment": ("How would you like to pay?", "Cash or card?", "How did you pay?", "What are you paying with?"),
    "symptom": ("What is wrong with it?", "What exactly happens?", "What does it do?", "How does the fault show?"),
    "error": ("What does the error say?", "Which code does it show?", "What message appears?"),
    "reason": ("Why do you want that?", "What's the reason?", "May I ask why?", "What made you decide so?"),
    "plan": ("Which plan are you on?", "What tariff do you have?", "What subscription is it?"),
    "room": ("What kind of room do you want?", "Single or double?", "Which room would you like?"),
    "seat": ("Where would you like to sit?", "Window or aisle?", "Which seat do you prefer?"),
    "diet": ("Is there anything you don't eat?", "Any allergies?", "Do you follow a diet?"),
    "food": ("What do you feel like eating?", "Which cuisine do you like?", "What sort of food?"),
    "pickup": ("Where shall we pick you up?", "Where will you be waiting?", "Where should the driver come?"),
    "language": ("What language do you prefer?", "In which language shall we go on?"),
    "employer": ("Where do you work?", "Who do you work for?", "What company is it?"),
    "luggage": ("How much luggage is there?", "Any bags?", "What are you carrying?"),
    "pet": ("What animal is it?", "Which pet will you bring?"),
    "wifi": ("What is your network called?", "Which wifi are you on?"),
}  # fmt: skip

SAID: dict[str, tuple[str, ...]] = {
    "name": ("I'm @value.", "@value here.", "This is @value.", "I am called @value.", "It's under @value."),
    "other_name": ("@value will come along.", "You can also talk to @value.", "Put @value down as well."),
    "email": ("You can write to @value.", "Send it to @value, I read that daily.", "I'm registered as @value."),
    "phone": ("I can be reached on @value.", "Call me on @value.", "Ring @value if anything is unclear."),
    "city": ("I live in @value.", "I'm in @value.", "We are here in @value."),
    "origin": ("I start in @value.", "We're setting off from @value.", "I leave from @value."),
    "address": ("I live at @value.", "Bring it to @value.", "It should go to @value."),
    "date": ("It's for @value.", "I want it on @value.", "@value would suit me."),
    "purchase_date": ("I bought it @value.", "I have had it since @value.", "We got it @value."),
    "birth": ("I was born on @value.",), "time": ("I'd like it at @value.", "@value would be good.", "Let's say @value."),
    "call_time": ("You can call me @value.", "I can pick up the phone @value."),
    "people": ("There will be @value.", "We're @value.", "It's for @value."),
    "duration": ("We'll stay @value.", "I need it for @value.", "It's for @value."),
    "quantity": ("I need @value.", "I'd take @value of them.", "@value should do."),
    "budget": ("I'd spend @value.", "It should be @value.", "I was thinking of @value."),
    "amount": ("They took @value.", "It was @value.", "I was charged @value."),
    "colour": ("I'd like @value.", "I want it in @value.", "Make it @value."),
    "size": ("I take @value.", "I'd want @value.", "It would have to be @value."),
    "phone_model": ("I have @value.", "I'm on @value.", "It happens on @value."),
    "computer": ("I work on @value.", "I use @value.", "It's @value that I have."),
    "browser": ("I use @value.", "I opened it in @value.", "I'm on @value."),
    "vehicle": ("I drive @value.", "It's @value.", "I come with @value."),
    "payment": ("I'd pay @value.", "I paid @value.", "I'll do it @value."),
    "symptom": ("The thing is, @value.", "What happens is that @value.", "Ever since yesterday @value."),
    "error": ("It shows @value.", "I get @value.", "Then @value comes up."),
    "reason": ("It's because @value.", "You see, @value.", "The thing is, @value."),
    "plan": ("I'm on @value.", "I have @value.", "We signed up for @value."),
    "room": ("I'd like @value.", "We want @value.", "@value would be nice."),
    "seat": ("I'd sit @value.", "I'd prefer @value.", "@value, if there is one."),
    "diet": ("By the way, @value.", "For me it is @value.", "I eat only certain things: @value."),
    "food": ("We fancy @value.", "I feel like @value.", "@value would be great."),
    "pickup": ("I'll be waiting at @value.", "Pick me up at @value.", "We stand at @value."),
    "language": ("I speak @value best.", "I'd rather go on in @value."),
    "employer": ("I work for @value.", "I write on behalf of @value."),
    "luggage": ("I carry @value.", "We have @value with us.", "There's @value."),
    "pet": ("I'm bringing @value.", "I have @value.", "@value will travel with me."),
    "wifi": ("My network is called @value.", "I'm connected to @value."),
    "order": ("It's about order @value.", "I ordered, that was @value.", "Order @value, please."),
    "account": ("It's account @value.", "I bank with you under @value."),
    "booking": ("I booked, @value it was.", "It's booked as @value.", "My booking is @value."),
    "tracking": ("The label says @value.", "The parcel is @value."),
    "invoice": ("It's invoice @value.", "The bill is @value."),
    "serial": ("On the back it says @value.", "The unit is @value."),
    "policy": ("I'm insured under @value.", "It's policy @value."),
    "ticket": ("There is a case already, @value.", "I was given ticket @value."),
    "postcode": ("My area is @value.", "That's in @value."), "customer": ("I'm customer @value.", "I'm registered under @value."),
    "plate": ("It's registered as @value.", "The plate says @value."),
}  # fmt: skip
"""Ways of saying one kind of thing; the ways that fit every noun stand in `asking_again`."""

FIXED = frozenset(
    {
        "birth",
        "purchase_date",
        "serial",
        "symptom",
        "error",
        "reason",
        "amount",
        "order",
        "invoice",
        "tracking",
    }
)
"""Kinds that nobody wishes to change."""

IDENTIFYING = frozenset(
    {"account", "customer", "booking", "policy", "phone", "postcode", "name", "email", "birth", "address", "order", "invoice", "plate", "serial"}
)  # fmt: skip
"""Kinds that an agent may check twice, or fail to find."""
