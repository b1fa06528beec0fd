"""Distress as customers state it in the exam (T2), the same form without it, and what replies begin with."""

PETS = (
    (
        "My dog was put down this morning and I can't stop crying.",
        "My dog was groomed this morning and I have to pick him up.",
    ),
    (
        "We lost our cat of (sixteen|fourteen|twelve) years last night, I'm a mess.",
        "We had our cat (sixteen|fourteen|twelve) years now, she comes along.",
    ),
    (
        "Sorry if I'm slow, our (dog|old horse|rabbit) died yesterday and I'm heartbroken.",
        "Sorry if I'm slow, our (dog|old horse|rabbit) needs feeding and I'm typing with one hand.",
    ),
    (
        "my (puppy|kitten) got run over an hour ago, im shaking",
        "my (puppy|kitten) got a bath an hour ago, im all wet",
    ),
    (
        "The vet says (she|he) won't make it through the night and I don't know what to do with myself.",
        "The vet says (she|he) can eat normal food again and I do not need the special tins.",
    ),
    (
        "Our dog has been missing for three days and the children cry all the time.",
        "Our dog has been with us for three days and the children walk him all the time.",
    ),
    (
        "I had to say goodbye to my cat an hour ago. I feel so empty.",
        "I had to give food to my cat an hour ago. I am back now.",
    ),
    (
        "I'm in tears here, the vet just phoned with the worst news.",
        "I'm at home now, the vet just phoned with a new date.",
    ),
    (
        "our (budgie|hamster|guinea pig) died in my daughter's hands today and she is inconsolable",
        "our (budgie|hamster|guinea pig) sat in my daughter's hands today and she took a photo",
    ),
    (
        "I'm burying my dog this afternoon, I can hardly think straight.",
        "I'm walking my dog this afternoon, I can be back by four.",
    ),
)

HOME = (
    (
        "Our house burned down on (Sunday|Tuesday) and we have nothing left.",
        "Our house was painted on (Sunday|Tuesday) and we have nothing to add.",
    ),
    (
        "The flat is under water, everything I own is ruined and I am at my wits' end.",
        "The flat is on the second floor, everything I need is there and I am free all day.",
    ),
    (
        "We are being evicted on Friday and I'm terrified, I've two small kids.",
        "We are moving out on Friday and I'm packing, I've two small boxes.",
    ),
    (
        "I've been sleeping in my car since the fire, I can't take much more.",
        "I've been working in my car since the morning, I can park anywhere.",
    ),
    (
        "a tree came through our roof in the storm, my mother is beside herself",
        "a tree stands in front of our door, my mother parks next to it",
    ),
    (
        "Everything got destroyed in the flood, I just sit here and cry.",
        "Everything got delivered in the morning, I just sit here and unpack.",
    ),
    ("I've nowhere to go tonight and I'm scared.", "I've nothing to do tonight and I'm flexible."),
    (
        "The landlord threw us out today, we are desperate.",
        "The landlord showed us round today, we are ready.",
    ),
    (
        "We lost our home last week, I honestly feel hopeless.",
        "We bought our home last week, I honestly feel fine.",
    ),
    (
        "there was a gas explosion in our building and I can't stop trembling",
        "there was a gas inspection in our building and I can be there at noon",
    ),
)

WORK = (
    (
        "I was fired today after (nineteen|eleven|twenty) years and I feel like a complete failure.",
        "I was at work today after (nineteen|eleven|twenty) days and I have a free week.",
    ),
    (
        "I've just been made redundant, I don't know how to tell my family, I feel sick.",
        "I've just been made a member, I know how to use the card, I am glad.",
    ),
    (
        "I failed my final exam for the third time and I'm devastated.",
        "I took my final exam for the course and I'm free now.",
    ),
    (
        "My business is going under and I haven't slept in (days|a week).",
        "My business is moving house and I haven't been there in (days|a week).",
    ),
    (
        "I broke down crying at work today, it is all too much.",
        "I left early from work today, it is all done.",
    ),
    (
        "They laughed at me in front of the whole team today, I've never felt so small.",
        "They met me in front of the whole building today, I've never been so early.",
    ),
    (
        "I'm having panic attacks since the (layoffs|interview), please be patient with me.",
        "I'm having visitors since the (weekend|holiday), they stay with me.",
    ),
    (
        "i missed the interview i waited for all year, i could scream",
        "i booked the interview i wrote about last week, i am on time",
    ),
    (
        "My boss shouted at me for an hour because of this and I'm still in tears.",
        "My boss asked me for an update because of this and I'm still at my desk.",
    ),
    (
        "I can't cope any more, (work|school|everything) is crushing me.",
        "I can't talk any more, (work|school|everything) starts at nine.",
    ),
)

FAMILY = (
    (
        "My husband walked out on us last night, I'm in pieces.",
        "My husband went ahead of us last night, I'm on the train.",
    ),
    (
        "We just called off the wedding and I feel humiliated.",
        "We just planned the wedding and I feel prepared.",
    ),
    (
        "We lost the baby last month and this is the first thing I've managed to do.",
        "We had the party last month and this is the next thing I've planned to do.",
    ),
    (
        "My daughter won't speak to me and it is breaking my heart.",
        "My daughter will travel with me and she is taking her bike.",
    ),
    ("my son ran away on monday and we are frantic", "my son comes home on monday and we are ready"),
    (
        "I'm going through a horrible divorce and I feel completely alone.",
        "I'm going through a long list and I feel nearly done.",
    ),
    (
        "Nobody came to my birthday and I feel wretched, to be honest.",
        "Nobody came by car and I feel rested, to be honest.",
    ),
    (
        "They took my children away today. I can't breathe.",
        "They took my suitcase upstairs today. I can wait.",
    ),
    (
        "I'm all alone since she left and I cry most evenings.",
        "I'm at home since she called and I cook most evenings.",
    ),
    (
        "My kid is being bullied so badly that he won't leave his room, I'm desperate.",
        "My kid is being picked up so early that he won't need his room, I'm flexible.",
    ),
    (
        "my best friend tried to end her life yesterday, i am so upset",
        "my best friend tried to reach me yesterday, i am on her list",
    ),
)

DEAF = (
    "Okay.", "Right.", "Great!", "Perfect, thanks.", "Thank you for the information.", "Noted.",
    "Alright, moving on.", "Sure thing!", "Wonderful.", "OK, next step.", "Understood.", "Got it!",
    "Thanks for letting me know.", "Very good.", "Cool.", "Excellent.", "Fine.", "Alright then.",
)  # fmt: skip
"""What a deaf reply may begin with; most begin with nothing."""

HEARD = (
    "I'm so sorry to hear that.", "Oh no, I am truly sorry.", "That must be very hard for you.",
    "I am sorry you are going through this.", "My heart goes out to you.", "How awful, I'm sorry.",
    "I'm very sorry, please take all the time you need.", "That sounds terribly painful.",
    "so sorry to read this", "I can only imagine how you feel.", "Please accept my sympathy.",
    "I'm sorry for what you are going through, I will keep this short.", "Oh dear, that's dreadful news.",
    "That is a lot to bear. I'm sorry.", "Thank you for telling me, and I'm so sorry.",
)  # fmt: skip
"""What a feeling reply begins with."""

MILD = (
    "It's a bit of a nuisance, but never mind.",
    "No rush at all on my side.",
    "I was slightly late this morning, no harm done.",
    "The last app was a little slow.",
    "I'm a bit tired after the trip, that's all.",
    "My phone battery is low, so short answers please.",
    "It rained all day here.",
    "I forgot my umbrella again, typical me.",
    "My neighbour's dog barks a lot.",
    "Slightly annoying, but fine.",
    "I'm doing this for my boss.",
    "I had hoped for a window seat, but this will do.",
)
"""Said in passing; no distress, so nothing to feel for."""
