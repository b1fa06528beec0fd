"""Agent words of the exam that belong to another talk (U5), each with a customer who had asked for just that."""

# ruff: noqa: E501

OTHER_CASE = (
    (
        "The boiler inspection has been moved to (Tuesday|Thursday) morning, the engineer needs access to the cellar.",
        "And when is the boiler inspection?",
        "boiler",
    ),
    ("Your cello is ready, we put on new strings and glued the neck.", "Is my cello repaired yet?", "cello"),
    (
        "The roof tiles you picked are out of stock, the grey ones could be laid next week.",
        "Are my roof tiles in?",
        "roof|tile",
    ),
    (
        "Your passport photo was refused because of the glasses, please send one without.",
        "What became of my passport photo?",
        "passport|photo",
    ),
    (
        "I've stopped the direct debit for the gym, the last one is in (May|October).",
        "Did you stop the direct debit for the gym?",
        "gym|debit",
    ),
    (
        "Regarding the leaking dishwasher, the hose is covered by your guarantee.",
        "Is the leaking dishwasher covered?",
        "dishwasher|guarantee",
    ),
    (
        "The contact lenses come in at minus 2.5 for the left eye.",
        "What strength are my contact lenses?",
        "lens|eye",
    ),
    (
        "Your planning application for the garage was approved by the council.",
        "Has the council decided on my garage?",
        "garage|council",
    ),
    (
        "We can prune the hedge and take away the branches on (Friday|Monday).",
        "When can you do my hedge?",
        "hedge|garden",
    ),
    (
        "Your router needs a new line card, the engineer swaps it at the exchange.",
        "What is wrong with my router?",
        "router|internet",
    ),
    (
        "The X-ray shows nothing broken, the doctor suggests two weeks of rest for the ankle.",
        "What did the X-ray of my ankle show?",
        "x-ray|ankle|doctor",
    ),
    (
        "Your tax return was received, the office asks for the receipts of the home office.",
        "Did my tax return arrive?",
        "tax",
    ),
    (
        "Your piano lesson is with Mr Hale this week because Mrs Roth is away.",
        "Who gives my piano lesson this week?",
        "piano|lesson",
    ),
    (
        "the brake pads are worn, shall we order the set for the front axle too",
        "What did you find when you checked my brakes?",
        "brake|axle",
    ),
    (
        "The mortgage offer has been drawn up at 3.8 per cent over ten years.",
        "What about my mortgage offer?",
        "mortgage|loan",
    ),
    (
        "Your sourdough starter kit was posted on Monday, keep it in the fridge.",
        "Has my sourdough kit been posted?",
        "sourdough|bread",
    ),
    (
        "The school has a free desk in class 4b from September.",
        "Is there a place at the school for my son?",
        "school|class",
    ),
    (
        "Your wedding dress was taken in by two centimetres, try it on any time.",
        "Is my wedding dress altered?",
        "wedding|dress",
    ),
    (
        "Your beehives can be picked up once the vet has signed the health paper.",
        "When can I collect the beehives?",
        "beehive|bees",
    ),
    (
        "The solar panels gave 312 kilowatt hours last month, that's normal for the season.",
        "How much did my solar panels make?",
        "solar|panel",
    ),
    (
        "The tenant below you reported the noise from the washing machine.",
        "Did anybody report noise in my building?",
        "tenant|noise",
    ),
    (
        "Your library books are overdue since the 3rd, the fine is 40 pence so far.",
        "Do I have overdue library books?",
        "library|book",
    ),
    (
        "Your blood pressure tablets can be collected at the pharmacy from four.",
        "Are my tablets at the pharmacy?",
        "tablet|pharmacy",
    ),
    (
        "The skip will be put in front of the house at seven, please leave the space free.",
        "When does the skip come?",
        "skip",
    ),
    (
        "We found a buyer for the caravan, he offers a bit less than you asked.",
        "Any news on selling my caravan?",
        "caravan",
    ),
    (
        "Your tyres are stored in row nine, we can change them before the frost.",
        "Where are my winter tyres?",
        "tyre",
    ),
    (
        "The vaccine for your cat is due, Dr Amis has time on Wednesday.",
        "When is my cat's vaccine due?",
        "cat|vaccine",
    ),
    (
        "Your pension letter says that four months are missing from 1997.",
        "What does my pension letter say?",
        "pension",
    ),
    (
        "The carpet for the stairs is cut, the fitter brings it with him.",
        "Is the stair carpet cut?",
        "carpet|stair",
    ),
    (
        "Your allotment has been given to the next person as the rent was not paid.",
        "What about my allotment?",
        "allotment|rent",
    ),
)

BULLETIN = (
    (
        "Our new pet insurance covers teeth and vaccinations, from nine a month.",
        "Do you do pet insurance too?",
        "pet|insurance",
    ),
    (
        "Did you know that honey never spoils? They found pots of it in old tombs.",
        "Tell me something about honey for my quiz.",
        "honey",
    ),
    (
        "We're recruiting truck drivers, apply with your licence and a short letter.",
        "Do you have jobs for truck drivers?",
        "truck|driver",
    ),
    (
        "Octopuses have three hearts and blue blood.",
        "How many hearts has an octopus? My son asks.",
        "octopus",
    ),
    ("The shares of our parent company closed at 41.20 last night.", "Where did your shares close?", "share"),
    (
        "In the new series of the baking show, three bakers leave in the first week.",
        "What's new in the baking show?",
        "baking|show",
    ),
    (
        "To take red wine out of a carpet, use salt and sparkling water at once.",
        "How do I get red wine out of a carpet?",
        "wine|carpet",
    ),
    (
        "Our chief executive opened a wind farm off the coast on Tuesday.",
        "What did your chief executive open on Tuesday?",
        "executive|wind",
    ),
    (
        "Kettlebell classes are back on, Mondays at seven in hall two.",
        "When are the kettlebell classes?",
        "class|hall",
    ),
    (
        "The 1969 moon landing was watched by some 600 million people.",
        "How many people watched the moon landing?",
        "moon",
    ),
    (
        "For a good pancake batter, let the flour rest for half an hour.",
        "How long should pancake batter rest?",
        "pancake|batter",
    ),
    (
        "This year's charity run goes round the lake, the entry form is at the desk.",
        "Where does the charity run go?",
        "charity|lake",
    ),
    (
        "our team came second in the five-a-side league, we're so proud",
        "How did your football team do?",
        "team|league|football",
    ),
    ("Tomatoes want full sun and a deep pot, water them at the foot.", "How do I grow tomatoes?", "tomato"),
    ("The board has approved the merger with Halden Textiles.", "Did the merger go through?", "merger|board"),
    (
        "A chess game starts with twenty possible first moves.",
        "How many first moves are there in chess?",
        "chess",
    ),
    ("Our sofas are down by a third until the end of the month.", "Are your sofas on sale?", "sofa|sale"),
    ("Pluto was struck off the list of planets in 2006.", "Since when is Pluto no planet?", "planet|pluto"),
    (
        "The canteen serves lentil soup and fish pie this week.",
        "What's on in your canteen this week?",
        "canteen|soup|fish",
    ),
    (
        "Change the oil of a lawn mower once a season, thirty-weight will do.",
        "What oil does my lawn mower need?",
        "lawn|oil",
    ),
    ("Ivy grows on the north wall if you give it two years.", "Will ivy grow on a north wall?", "ivy|wall"),
    ("Napoleon was of normal height for his day.", "Was Napoleon really short?", "napoleon"),
    (
        "Our printers now come with ink for three years.",
        "How long does the ink of your printers last?",
        "printer|ink",
    ),
    (
        "Knit two, purl two, and turn the work after forty stitches.",
        "How does the pattern for the scarf go?",
        "knit|scarf|pattern",
    ),
    (
        "The fire drill on our floor is at three, take the stairs by the kitchen.",
        "When is your fire drill?",
        "fire|drill",
    ),
    ("Your stars say: a fine week for Leos, mind the money.", "What do the stars say for Leos?", "star|leo"),
    (
        "The new coins with the otter on them come out in March.",
        "When do the otter coins come out?",
        "coin|otter",
    ),
    (
        "For a sore throat, sage tea and a warm scarf work wonders.",
        "What helps with a sore throat?",
        "throat|tea",
    ),
    ("Slovenia has about 46 kilometres of coast.", "How long is the coast of Slovenia?", "slovenia|coast"),
    (
        "We planted 4,000 birches last autumn as part of our green plan.",
        "How many trees did your company plant?",
        "tree|birch|plant",
    ),
)

LEADS = (
    "",
    "",
    "By the way: ",
    "Also, ",
    "One more thing. ",
    "Now then. ",
    "Oh, ",
    "So, ",
    "Please note: ",
    "For your information: ",
)
