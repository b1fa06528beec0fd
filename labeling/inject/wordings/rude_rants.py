"""Long rude turns, several sentences each, and long courteous ones of the same build beside them."""

from __future__ import annotations

from labeling.inject.insertion import Idea
from labeling.inject.phrases import Grammar

SLOTS: Grammar = {
    "open": ("Look,", "Listen,", "Okay,", "Right,", "Well,", "So,", ""),
    "thing": ("booking", "order", "refund", "parcel", "appointment", "ticket"),
}

RANT = (
    (
        "@open I have been sitting here since six in the morning and you are the tenth person who can't (find a button|read an e-mail|wait five minutes). I am not a machine. Get yourself organised and then we can talk about your @thing.",
        "@open I have been sitting here since six in the morning and you are the tenth person who asks (about the button|about that e-mail|for five minutes more). I am glad to help. Get yourself a coffee and then we can talk about your @thing.",
    ),
    (
        "Let me be very clear. You did not follow the steps, you did not call when you should have, and now you come here and expect me to clean up after you. That is not how this works.",
        "Let me be very clear. You did follow the steps, you did call when you should have, and now we come to the point where I take over for you. That is how this works.",
    ),
    (
        "I understand that you think the world revolves around your @thing. It doesn't. There is a queue, there are rules, and neither was made for your convenience.",
        "I understand that you think the wait is long for your @thing. It is. There is a queue, there are rules, and I will do what I can to make it shorter for you.",
    ),
    (
        "To be quite frank, you come across as somebody who enjoys complaining. We have answered you, we have answered you again, and if it still isn't clear then the trouble is not on our side.",
        "To be quite frank, this came across as a small thing at first. We have answered you, we have checked again, and if it still isn't right then the trouble is on our side.",
    ),
    (
        "I already explained how the @thing works. I explained it slowly. I even sent a picture. At some point a person has to make an effort, and you are making none.",
        "I can also explain how the @thing works. I can explain it slowly. I can even send a picture. At some point it becomes easy, and you are nearly there.",
    ),
    (
        "So you waited three weeks, threw away the box, lost the receipt, and now you are surprised that nobody hands you money? Grow up and take some responsibility.",
        "So you waited three weeks, kept the box, have the receipt, and now you are asking whether somebody sends you money? Good news, that will take two days.",
    ),
    (
        "You know what, I've had enough. I tried to be nice but with people like you there is no point. Sort out your @thing on your own and don't come back to this chat.",
        "You know what, I've had a look. I tried the early one but with that date there is no seat. Sort it by price on the page and do come back to this chat.",
    ),
    (
        "Dear customer, we have noted your message, such as it is. Had you taken the trouble to inform yourself, you would not need to take up the time of those who have serious matters.",
        "Dear customer, we have noted your message, thank you for it. Should you wish to inform yourself, you will find all the details on the page, and we have time for all other matters.",
    ),
    (
        "Wow, okay. First you want it changed, then you don't, then you do again. Could you maybe decide once in your life? I am trying to work here and you are making it impossible.",
        "Wow, okay. First the sea view, then breakfast, then a late checkout as well. Could you maybe tell me the floor? I am trying to get all of it and it looks possible.",
    ),
    (
        "Nothing went wrong on our end. Nothing. You entered it, you confirmed it, you paid it. Now please stop accusing my colleagues because you can't operate a phone.",
        "Nothing went wrong on your end. Nothing. We entered it, we confirmed it, we charged it. Now please stop worrying, my colleagues will correct it on the phone.",
    ),
    (
        "Every other customer manages to upload one file. One. It has a name, it has a button, and it takes a minute. How you can spend an hour on that is beyond me.",
        "Every customer needs to upload one file. Just one. It has a name, it has a button, and it takes a minute. Once you have done that I take it from here.",
    ),
    (
        "I am going to say this one single time and then I am out of here. The @thing is what it is. You agreed to it. Crying to me about it changes nothing.",
        "I am going to say this first and then I am happy to take questions. The @thing is what you asked for. You need not pay today. Writing to me changes it free of charge.",
    ),
    (
        "It is honestly fascinating. You have the number in front of you, you have me in front of you, and still you manage to ask the one thing that is written in bold letters.",
        "It is honestly simple. You have the number in front of you, you have me in front of you, and we can go through the one thing that is written in bold letters.",
    ),
    (
        "no wonder your @thing is late if you give an address like that, i mean who writes it like this, a five year old does better, fix it and then maybe somebody will look",
        "no wonder your @thing is late if they have an address like that, i mean someone wrote the old one here, that happens, i fix it and then somebody will look",
    ),
    (
        "Before you send me another essay: I don't read more than two lines. I don't need your feelings, your family or your weekend. I need a number. That's all you're good for today.",
        "Before you send me another file: I can't open more than two pages. I don't need your passport, your ticket or your invoice. I need a number. That's all for today.",
    ),
    (
        "Sir, it is not my duty to teach you how the internet works. You press, you wait, you read. If this is too advanced then maybe visit a branch where somebody can hold your hand.",
        "Sir, it is no trouble to show you how the website works. You press, you wait, you read. If this is too slow then maybe visit a branch where somebody can print it.",
    ),
    (
        "If I had done my job the way you fill in forms I would have been fired long ago. Three fields, three mistakes. Congratulations. Now do it over and this time pay attention.",
        "If I had the form the way you filled it in I would have been done long ago. Three fields, three ticks. Thank you. Now it goes over to billing and they pay attention.",
    ),
    (
        "I've looked at your history with us. Complaints, complaints, complaints. Some people are never happy. My advice is to lower your voice and be grateful that anyone answers.",
        "I've looked at your history with us. Bookings, bookings, bookings. Some offers are just for you. My advice is to take the last one and be sure to use your points.",
    ),
    (
        "You were sent the date. You were sent a reminder. You did not show up. And now I'm supposed to feel sorry and squeeze you in? No. Wait your turn like normal people.",
        "You were sent the date. You were sent a reminder. You did reply. And now I'm supposed to change it and squeeze you in? Sure. Tuesday at ten has just opened.",
    ),
    (
        "What exactly do you not understand about the word no? Shall I write it bigger? N O. There, I hope that helps, because that is all the help you will get from me.",
        "What exactly do you not like about the room? Shall I look for a bigger one? There are two. There, I hope that helps, because they are all the same price.",
    ),
    (
        "It's cute that you think your review scares us. We get a hundred of those a day and they go straight in the bin, exactly where I'd like to put this conversation.",
        "It's good that you mention your review to us. We get a hundred of those a day and they go straight to the team, exactly where I'd like to put this suggestion.",
    ),
    (
        "Fine, I'll look, since you obviously won't stop. There. Same result as ten minutes ago, same as it will be in ten years. Was it worth wasting both our afternoons?",
        "Fine, I'll look, since you have the number. There. Same result as ten minutes ago, same as on the page. Was it the early or the late one this afternoon?",
    ),
    (
        "You booked the wrong month and then blame the website, the airline and me. Maybe look in the mirror for once. I can change it, but you'll pay, and rightly so.",
        "You booked the right month and then the website, the airline and I got it wrong. Maybe look at the new ticket once. I can change it, and you'll pay nothing.",
    ),
    (
        "We are not psychic over here. You give me half a name and no date and then wonder why it takes long. Do us a favour and come back when you've done your part.",
        "We are not busy over here. You gave me a name and a date and that is enough to start. Do give us a minute and come back when you've had your coffee.",
    ),
)  # fmt: skip

IDEAS = (Idea(name="rant", pairs=RANT, slots=SLOTS),)
