"""Long rude turns, several sentences each, and long courteous ones of the same build beside them."""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea
from dialint.labeling.synthetic.phrases import Grammar

SLOTS: Grammar = {
    "open": ("Look,", "Listen,", "Okay,", "Right,", "Well,", "So,", ""),
    "thing": ("booking", "order", "refund", "parcel", "appointment", "ticket"),
}

RANT = (
    (
        "@open I have been sitting here since six in the morning and you are the tenth person who can't (find a button|read an e-mail|wait five minutes). I am not a machine. Get yourself organised and then we can talk about your @thing.",
        "@open I have been here since (six|early) this morning and you are (the tenth|one of many) to ask me something like this. I am glad to help. Give me a minute and then we go through it together, one thing after the other.",
    ),
    (
        "Let me be very clear. You did not follow the steps, you did not call when you should have, and now you come here and expect me to clean up after you. That is not how this works.",
        "Let me be very clear. You did nothing wrong, you asked when you should have, and now we come to the point where I take over for you. That is how this works.",
    ),
    (
        "I understand that you think the world revolves around your @thing. It doesn't. There is a queue, there are rules, and neither was made for your convenience.",
        "I understand that you think the wait is long. It is. There is a queue, there are rules, and I will do what I can to make it shorter for you.",
    ),
    (
        "To be quite frank, you come across as somebody who enjoys complaining. We have answered you, we have answered you again, and if it still isn't clear then the trouble is not on our side.",
        "To be quite frank, this came across as a small thing at first. I have read it, I have read it again, and if it still isn't right then the trouble is on our side.",
    ),
    (
        "I already explained how the @thing works. I explained it slowly. I even sent a picture. At some point a person has to make an effort, and you are making none.",
        "I can also explain how it works. I can explain it slowly. I can even write it down. At some point it becomes easy, and you are nearly there.",
    ),
    (
        "So you waited three weeks, threw away the box, lost the receipt, and now you are surprised that nobody hands you money? Grow up and take some responsibility.",
        "So you waited, kept calm, told me what I need, and now you are asking whether somebody looks into it? Yes, I do, and it will only take a minute.",
    ),
    (
        "You know what, I've had enough. I tried to be nice but with people like you there is no point. Sort out your @thing on your own and don't come back to this chat.",
        "You know what, I've had another look. I tried it one way and now I'm trying it another. Stay with me for a minute and do ask if something is unclear.",
    ),
    (
        "Dear customer, we have noted your message, such as it is. Had you taken the trouble to inform yourself, you would not need to take up the time of those who have serious matters.",
        "Dear customer, we have noted your message, thank you for it. Should you wish to add anything, you will find me right here, and we have time for all other matters.",
    ),
    (
        "Wow, okay. First you want it changed, then you don't, then you do again. Could you maybe decide once in your life? I am trying to work here and you are making it impossible.",
        "Wow, okay. First this, then that, and then one thing more. Could you maybe give me a minute? I am trying to get it all done and it looks good.",
    ),
    (
        "Nothing went wrong on our end. Nothing. You entered it, you confirmed it, you paid it. Now please stop accusing my colleagues because you can't operate a phone.",
        "Nothing went wrong on your end. Nothing. I read it, I checked it, I noted it. Now please don't worry, I will stay with you until we are through.",
    ),
    (
        "Every other customer manages to upload one file. One. It has a name, it has a button, and it takes a minute. How you can spend an hour on that is beyond me.",
        "Every customer gets one promise. Just one. I listen, I check, and it takes a minute. Once I have done that I tell you what comes next.",
    ),
    (
        "I am going to say this one single time and then I am out of here. The @thing is what it is. You agreed to it. Crying to me about it changes nothing.",
        "I am going to say this first and then I am happy to take questions. It is fine to ask. You need not hurry. Writing to me once more is no trouble.",
    ),
    (
        "It is honestly fascinating. You have the number in front of you, you have me in front of you, and still you manage to ask the one thing that is written in bold letters.",
        "It is honestly simple. You have me in front of you, I have your message in front of me, and we can go through it line by line if that helps.",
    ),
    (
        "no wonder your @thing is late if you give an address like that, i mean who writes it like this, a five year old does better, fix it and then maybe somebody will look",
        "no wonder you ask if it looks like that, i mean it isn't clear at all, that happens, i explain it again and then we will see",
    ),
    (
        "Before you send me another essay: I don't read more than two lines. I don't need your feelings, your family or your weekend. I need a number. That's all you're good for today.",
        "Before you send me anything else: I have enough for now. I don't need more details, I don't need more time. I need one minute. That's all for the moment.",
    ),
    (
        "Sir, it is not my duty to teach you how the internet works. You press, you wait, you read. If this is too advanced then maybe visit a branch where somebody can hold your hand.",
        "Sir, it is no trouble to go through it again. You ask, I look, I tell you. If this is too slow then just say so and I will ask a colleague to join.",
    ),
    (
        "If I had done my job the way you fill in forms I would have been fired long ago. Three fields, three mistakes. Congratulations. Now do it over and this time pay attention.",
        "If I had the words the way you found them I would have been done long ago. Short, clear, kind. Thank you. Now I go over it and then I get back to you.",
    ),
    (
        "I've looked at your history with us. Complaints, complaints, complaints. Some people are never happy. My advice is to lower your voice and be grateful that anyone answers.",
        "I've looked at what you wrote. All clear, all clear, all clear. Some things just take a minute. My advice is to lean back and let me check.",
    ),
    (
        "You were sent the date. You were sent a reminder. You did not show up. And now I'm supposed to feel sorry and squeeze you in? No. Wait your turn like normal people.",
        "You were kind. You were clear. You did wait. And now I'm supposed to be quick about it? Sure. Give me one minute and I am with you.",
    ),
    (
        "What exactly do you not understand about the word no? Shall I write it bigger? N O. There, I hope that helps, because that is all the help you will get from me.",
        "What exactly would help you most? Shall I go on? Shall I explain it again? There, I hope one of these helps, because both are no trouble.",
    ),
    (
        "It's cute that you think your review scares us. We get a hundred of those a day and they go straight in the bin, exactly where I'd like to put this conversation.",
        "It's good that you say so to us. We read every message of the day and they go straight to the team, exactly where I'd like to put this one.",
    ),
    (
        "Fine, I'll look, since you obviously won't stop. There. Same result as ten minutes ago, same as it will be in ten years. Was it worth wasting both our afternoons?",
        "Fine, I'll look, since you ask so kindly. There. Same as before, same as I thought. Would you like me to check once more, to be on the safe side?",
    ),
    (
        "You booked the wrong month and then blame the website, the airline and me. Maybe look in the mirror for once. I can change it, but you'll pay, and rightly so.",
        "You did it right and then our system and I were slow. Maybe give it one more minute. I can see it moving, and you'll hear from me here.",
    ),
    (
        "We are not psychic over here. You give me half a name and no date and then wonder why it takes long. Do us a favour and come back when you've done your part.",
        "We are not busy over here. You told me what you need and that is enough to start. Do give us a minute and ask me anything in the meantime.",
    ),
)  # fmt: skip

IDEAS = (Idea(name="rant", pairs=RANT, slots=SLOTS),)
