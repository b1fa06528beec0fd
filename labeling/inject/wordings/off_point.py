"""Replies that answer one question and no other, and honest replies that hold no answer.

None of them knows of a dialogue: whether one is an evasion depends on what the customer had asked.
"""

from __future__ import annotations

FITTING: tuple[tuple[str, str], ...] = (
    # the customer's question, the reply that answers it
    ("Do you share my data with others?", "We never pass personal data on to third parties without consent."),
    ("How long do you keep my records?", "Records are kept for ten years, as the law demands."),
    ("Can I get a paper invoice?", "Since last spring all invoices are sent electronically."),
    ("Are calls recorded?", "Some calls are recorded for training purposes."),
    ("Is there a loyalty scheme?", "Members of our club collect a point with every euro spent."),
    ("Do you have an app?", "Our app can be downloaded from both stores free of charge."),
    ("Can I follow you on social media?", "You'll find us on all the big networks under our company name."),
    ("Are you hiring at the moment?", "Open positions are listed on our careers page."),
    ("Do you give student discounts?", "Students get fifteen percent off with a valid card."),
    ("Who owns the company?", "The firm has belonged to the same family since 1974."),
    ("How do I file a complaint?", "Complaints can be filed with the form on our website."),
    ("What are your office hours?", "Our office is staffed from eight to six on working days."),
    ("How can I unsubscribe from the newsletter?", "The link at the bottom of each newsletter unsubscribes you."),
    ("Do you offer gift cards?", "Gift cards come in amounts from ten to two hundred."),
    ("Is my connection encrypted?", "All traffic on our pages is encrypted end to end."),
    ("How do I become a partner of yours?", "Partners sign up on the business portal with their tax number."),
    ("Which browsers do you support?", "Our site works in every current browser."),
    ("How do I reset my password?", "The password can be reset with the link below the login field."),
    ("Do you have a branch in my region?", "Our branch finder lists all hundred and twenty locations."),
    ("Where are your products made?", "Everything is manufactured in Portugal and Poland."),
    ("Do you plant trees for each sale?", "For each sale we plant a tree together with a local charity."),
    ("Can I pay in instalments?", "Instalments are offered for purchases above two hundred."),
    ("Do you accept foreign currency?", "We charge in the local currency only."),
    ("Are the terms available in French?", "The terms have been translated into eleven languages."),
    ("What happens to old devices?", "Old devices are collected and recycled by a certified firm."),
    ("Is there a limit on transfers?", "Transfers above ten thousand need a second signature."),
    ("Do you insure jewellery?", "Jewellery is insured up to five thousand without an appraisal."),
    ("Who reads my feedback?", "Feedback is read by the quality team every Friday."),
    ("What awards have you won?", "We were voted service champion three years running."),
    ("How secure is my card?", "Card details are stored with a certified payment provider."),
    ("Do I have to accept cookies?", "Only necessary cookies are set unless you agree to more."),
    ("How are the drivers vetted?", "Drivers pass a background check before their first trip."),
    ("Is the staff trained in first aid?", "Every member of staff takes a first aid course each year."),
    ("When is the next sale?", "The summer sale begins in the last week of June."),
    ("Do you ship to islands?", "Shipping to islands takes two days longer than to the mainland."),
    ("Can I change the language of the menu?", "The language is set under the globe icon at the top."),
    ("Do you have large print documents?", "Large print and braille versions can be ordered free of charge."),
    ("How is interest calculated?", "Interest is calculated daily and credited each quarter."),
    ("What does the warranty cover?", "The warranty covers material and manufacturing defects for two years."),
    ("May I bring my dog?", "Dogs are welcome as long as they are kept on a lead."),
    ("Is smoking permitted?", "Smoking is permitted in the marked outdoor zones only."),
    ("Do you use renewable energy?", "Since January our power comes from wind and water alone."),
    ("Can my children have their own account?", "Children may hold an account of their own from age twelve."),
    ("Which documents do I have to keep?", "Receipts and contracts should be kept for at least three years."),
    ("What do the stars in the reviews mean?", "Reviews are averaged over the past twelve months."),
    ("How many people work for you?", "About four hundred colleagues work at our three sites."),
    ("Is there a lost property office?", "Lost property is stored at the front office for ninety days."),
    ("Do you sell used goods?", "Used goods are sold in the outlet at half price."),
    ("Can I get a certificate?", "Certificates are issued once the course has been completed."),
    ("How do I read my meter?", "Only the black digits before the comma count."),
    ("What is the difference between debit and credit?", "Debit is taken at once, credit at the end of the month."),
    ("Do you offer virtual tours?", "A virtual tour can be started from the gallery page."),
    ("How do I clean the filter?", "The filter should be rinsed under lukewarm water once a month."),
    ("What is the minimum age?", "The minimum age is eighteen, or sixteen with a guardian."),
    ("Are there vegetarian dishes?", "A third of our menu is meat free."),
    ("Can I use my points abroad?", "Points may be redeemed in all partner countries."),
    ("How loud is the machine?", "It runs at about forty decibels, like a quiet library."),
    ("Which vaccines do you stock?", "We stock the flu and tetanus vaccines all year round."),
    ("Are prices shown with tax?", "All prices on the site include tax."),
    ("Could you explain the code of conduct?", "Our code of conduct asks everybody to treat others with respect."),
)  # fmt: skip

COUNTERS: tuple[tuple[str, str], ...] = (
    # what the customer says, the agent's question that takes it up
    ("I never got around to installing your app.", "Have you thought about downloading our app?"),
    ("A friend told me about you.", "How did your friend hear about us?"),
    ("My subscription to the newsletter has lapsed.", "Would you like to receive our newsletter again?"),
    ("I'm using an old browser, by the way.", "Could you update your browser?"),
    ("Paper letters are such a nuisance.", "Shall I switch you to electronic letters?"),
    ("I've got one of your gold cards.", "Have you activated your gold card yet?"),
    ("The last survey was too long.", "Would you be willing to take a shorter survey?"),
    ("My password is way too simple.", "Do you want to set a stronger password?"),
    ("We moved last month.", "Did you tell the registry about your move?"),
    ("I filled in half of the profile.", "Would you like to complete your profile?"),
    ("I've seen your advert on the bus.", "On which bus line did you see our advert?"),
    ("My old router is from 2009.", "Are you interested in a newer router?"),
    ("My brother is a member too.", "Would your brother like a family membership?"),
    ("I collect your points.", "Do you know how many points you have collected?"),
    ("I once wrote you a review.", "Would you let us publish your review?"),
    ("I don't use two-step login.", "Shall I turn on two-step login for you?"),
    ("I lost my loyalty card.", "Do you want a replacement for the loyalty card?"),
    ("My screen is tiny.", "Do you know that you can enlarge the letters on the screen?"),
    ("I'm colour blind.", "Have you tried our high contrast mode?"),
    ("I work from home now.", "Have you claimed a home office allowance?"),
    ("Our office kitchen needs coffee.", "Does your office have a coffee machine?"),
    ("My backup is months old.", "When did you intend to make a new backup?"),
    ("I've a podcast about gardening.", "What's your gardening podcast called?"),
    ("The cookie banner annoys me.", "Have you saved your cookie settings?"),
    ("I can't stand the hold music.", "What sort of music would you rather hear?"),
)  # fmt: skip

COUNTERS_ASKED: tuple[tuple[str, str], ...] = (
    # what the customer asks, the agent's question that takes it up
    ("Could you send me the newsletter again?", "Would you like to receive our newsletter again?"),
    ("Can you turn on two-step login?", "Shall I turn on two-step login for you?"),
    ("Can I get a new loyalty card?", "Do you want a replacement for the loyalty card?"),
    ("Can my brother join my membership?", "Would your brother like a family membership?"),
    ("Could you stop the paper letters?", "Shall I switch you to electronic letters?"),
    ("May I skip the long survey?", "Would you be willing to take a shorter survey?"),
    ("Is my password too weak?", "Do you want to set a stronger password?"),
    ("Why does my gold card not work?", "Have you activated your gold card yet?"),
    ("Why does the page look odd in my browser?", "Could you update your browser?"),
    ("How do I make the letters on the screen bigger?", "Do you know that you can enlarge the letters on the screen?"),
    ("Do you offer something for the colour blind?", "Have you tried our high contrast mode?"),
    ("Could we finish my profile?", "Would you like to complete your profile?"),
    ("Why do letters still go to my old flat?", "Did you tell the registry about your move?"),
    ("Can you play something else on hold?", "What sort of music would you rather hear?"),
    ("Why does the cookie banner keep coming back?", "Have you saved your cookie settings?"),
    ("Can you supply our office with coffee?", "Does your office have a coffee machine?"),
    ("Could you remind me of my next backup?", "When did you intend to make a new backup?"),
    ("May I tell you about my gardening podcast?", "What's your gardening podcast called?"),
    ("Is there money for working from home?", "Have you claimed a home office allowance?"),
    ("Will you print the review I wrote?", "Would you let us publish your review?"),
    ("Which of your routers is faster than mine?", "Are you interested in a newer router?"),
    ("Can I do all this on my phone?", "Have you thought about downloading our app?"),
    ("Do you give anything to people who bring friends?", "How did your friend hear about us?"),
)  # fmt: skip

STATEMENTS = (
    "I have sent the form this morning.", "My neighbour told me about this.", "I've been a customer for eleven years.", "I'm writing from my office.",
    "We had this once before.", "I'm on the phone with my sister as well.", "I've written it all down.", "The weather is awful over here.",
    "My wife is sitting next to me.", "I took some pictures of it.", "I read your leaflet.", "I've just come back from abroad.", "My colleague sent me to you.",
    "I tried it on the website first.", "I wrote an email last week too.", "Your colleague was quite helpful yesterday.", "I have all my papers here.",
    "This is for my mother.", "It's my first time here.", "I've got plenty of time.", "I was told to come to this chat.", "I've seen this in the news.",
    "That was in my letter too.", "I only have my tablet here.", "I was on your page earlier.", "That's the whole story.", "I paid on the first of the month.",
    "I had lunch in the meantime.", "I talked it over with my family.", "I'm sitting in the train right now.", "I came across your firm by chance.",
    "I've printed the whole thing.", "My friends speak well of you.", "I wrote this down last night.", "I'm at home all week, by the way.", "We've moved to the country.",
    "I was at your counter on Friday.", "The leaflet was in my letter box.", "I'm new in town.", "My son showed me this chat.", "I'm quite good with computers.",
    "I slept on it.", "I've read the small print.", "My brother works in the same trade.", "I used to do this by letter.", "Your page looks nicer than before.",
)  # fmt: skip
"""What a customer may say at any time and what asks for no more than a nod."""

SETTLED = (
    "Okay, that's good to know.", "Ah, I see.", "Good, then I know enough.", "Alright, I've got it.", "I see now, that makes sense.", "Okay, I'll remember that.",
    "Good, that's settled then.", "Understood.", "Okay, I've noted it.", "I've written that down.", "Nice, it's sorted.", "Yes, I can see it now.", "Cool.",
    "Alright, I've read it.", "Okay, so far so good.", "Good, I'm with you so far.", "Right, I follow.", "Okay, that's clear now.", "Fine by me.", "Ah okay, I see how it works.",
)  # fmt: skip
"""A customer who has nothing to ask just now, whatever he was told."""

NEXT_ASKED = (
    "What is the next step?", "And what now?", "How do we go on from here?", "Okay, what happens next?", "So how do we proceed?", "What comes next?",
    "What do we do now?", "Can we go on?", "Right, where do we go from here?", "So what would you do next?", "How do I get this going?",
    "What's left to do?", "Could we get on with it?", "Can you get it going?", "Fine, and what now?",
)  # fmt: skip
"""Questions which an offer to go on takes up in full."""

MORE_ASKED = (
    "May I ask for one more thing?", "Could I trouble you with another matter?", "Can you help me with something else?", "Do you have time for another request?",
    "Would you do one more thing for me?", "Can we turn to something else?", "Could we come to another point?", "Is it okay if I ask something else?",
    "Are you the right person for another matter as well?", "Can I bother you with a second matter?", "Could you do me another favour?", "May we talk about something different?",
)  # fmt: skip
"""Questions which an offer of more help takes up in full."""

STALL_ASKED: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    # questions, pleasant words that do answer them
    (("Are you still there?", "Is anybody there?", "Are you with me?", "Hello, is someone reading this?", "Do I have your attention?"),
     ("I'm listening.", "I'm here.", "I'm here for you.", "I'm all ears.", "I'm here and happy to help.", "I'm with you.", "We're here for you.", "You have my full attention.", "Still here, dear customer!")),
    (("Did my message come through?", "Did you get what I wrote?", "Has my text reached you?", "Can you see my message?", "Did you read what I wrote?"),
     ("Your message has reached us.", "I've read your message.", "I can see you've written to us.", "Your message has been received.", "Noted with thanks.", "Your message was well received.",
      "I have your message in front of me.", "We've got your message, thank you.", "Thanks, your message is here.")),
    (("Am I in the right place with this?", "Is this the right chat for that?", "Can I come to you with this?", "Are you the ones to ask?", "Do you look after such things?"),
     ("You've come to the right place.", "That's what we are here for.", "You're in good hands with us.", "I'm only too happy to assist.", "I'm glad to help.", "We're happy to help.", "You couldn't have come to a better place.")),
    (("Am I the only one with this?", "Do other people ask that too?", "Has this happened to others?", "Is it just me?", "Do you hear that a lot?"),
     ("You're not alone with that.", "Many people write to us about that.", "A lot of customers ask that.", "We've all been there.", "Many guests wonder about that.", "That comes up a lot.", "People care about that a great deal.")),
    (("Can you understand that?", "Do you see what I mean?", "Does that make sense to you?", "Do you get my point?", "Can you imagine that?"),
     ("I do understand.", "I see what you're saying.", "I can imagine.", "I hear you.", "I know how much this matters to you.", "I see.", "I understand how important this is to you.")),
    (("Does anybody care what customers say?", "Do you take such messages seriously?", "Does it matter to you at all?", "Is that of any interest to you?", "Do I matter to you as a customer?"),
     ("We take every message seriously.", "We value you as a customer.", "Your satisfaction matters to us.", "Every voice counts with us.", "Each customer is important to us.", "We really appreciate your message.", "That's interesting.", "Service is what we live for.")),
    (("May I tell you what I think of it?", "Would you like my feedback?", "Do you want to hear my opinion?", "Is praise welcome too?"),
     ("We love feedback.", "We appreciate your feedback.", "I'm grateful for it.", "I'd be glad to hear it.", "We're always glad to hear from our customers.")),
    (("Is that a silly question?", "Am I asking too much?", "Do I annoy you with all this?", "Do you mind all my messages?", "Is it a bother that I write?"),
     ("Great question!", "It's a pleasure to chat with you.", "It was a good question.", "I'm glad you wrote.", "Good to have you here.", "I appreciate your message.", "We're always happy to hear from you.")),
)  # fmt: skip

NOD_FITS = (
    "Could you hold on for a second while I get a pen?", "May I ask you something?", "Could I explain it from the beginning?", "Is it okay if I type slowly?",
    "Can I give you the details now?", "Would you mind if I finish my coffee first?", "Could you leave this chat open for a moment?", "Can you keep it short, please?",
    "Would you please use simple words?", "Is it all right if my son types for me?", "May I come back to this in a minute?", "Would you write to me in English?",
    "Can you wait while I look for my glasses?", "Could you please call me by my first name?", "Is it fine if I tell you the whole story?", "Can I ask you one more thing?",
    "Could I write in capitals?", "May I think about it for a minute?", "Can I answer the door first?", "Is it okay if I fetch my papers?", "May I be frank?",
    "Could you give me a minute?", "Will you stay in the chat while I look?", "Can I copy this chat?", "May I write it in my own words?", "Is it all right if I take notes?",
    "Could you bear with me for a bit?", "Can we take it slowly?", "May I start over?", "Can my wife read along?", "Could I have a second to read that?", "May I start with a bit of background?",
)  # fmt: skip
"""Questions that a nod answers in full."""

CLARIFY = (
    "Which one do you mean?", "Could you tell me a bit more about what you want to know?", "Do you mean the first or the second one?", "Are you asking about today or in general?",
    "Just so I answer the right thing, what exactly do you mean by that?", "Is that about the one we talked about, or another one?", "Could you be more specific?",
    "To answer that I need to know which of them you mean.", "I'm not sure I follow, could you put it another way?", "Before I answer, is this for you or for somebody else?",
    "Sorry, I don't quite get the question, what would you like to know?", "That depends on which one it is, could you say which?", "Do you want to know this for now or for later?",
    "What exactly are you after, so that I look in the right place?", "For which of the two?", "Do you ask for the whole or for a part?", "In which of them are you interested?",
    "Could you explain what you mean?", "Would that be for one or for several?", "Which of those do you have in mind?",
)  # fmt: skip

NO_ANSWER = (
    "I'm afraid I can't see that from here.", "Unfortunately that's not in my system, they can tell you on the spot.", "I don't have that information, sorry.",
    "That I don't know, and I don't want to guess.", "There's nothing about that in my records, I'm sorry.", "My data doesn't say, please ask them directly.",
    "I'm sorry, that isn't something I have access to.", "I honestly don't know.", "Sadly the entry says nothing about it.", "I can't tell, it isn't listed.",
    "We hold no information on this, the provider would know.", "Regrettably I've no way of finding out.", "No idea, I'm afraid, it's not on my screen.",
    "That detail is not given, I'm sorry to say.", "I have looked and found nothing on that.",
)  # fmt: skip

SHORT: dict[str, tuple[str, ...]] = {
    "": ("No, I'm afraid not.", "No, sorry.", "Sorry, no.", "Unfortunately not.", "No, not at the moment.", "Not that I can see.", "Yes, certainly.", "Not any more, sorry.", "It looks that way, yes.", "Yes!", "No.", "Yep.", "I believe so, yes.", "Not as far as I know."),
    "is it": ("Yes, it is.", "It is, yes.", "It isn't, sorry.", "No, it isn't.", "In most cases, yes.", "Partly."),
    "is that": ("Yes, it is.", "It is, yes.", "No, it isn't."), "is this": ("Yes, it is.", "It is, yes.", "No, it isn't."),
    "are they": ("Yes, they are.", "They are, yes.", "No, they aren't.", "They are indeed."), "are these": ("Yes, they are.", "No, they aren't."), "are those": ("Yes, they are.", "No, they aren't."),
    "does it": ("It does, yes.", "Yes, it does.", "No, it doesn't.", "It doesn't, sorry.", "Only on request."), "does that": ("It does, yes.", "No, it doesn't."), "does this": ("It does, yes.", "No, it doesn't."),
    "do they": ("They do indeed.", "Yes, they do.", "No, they don't.", "They don't, I'm afraid.", "Only on request."),
    "is there": ("Yes, there is.", "There is, yes.", "No, there isn't.", "There isn't, sorry."),
    "are there": ("Yes, there are.", "There are, yes.", "No, there aren't.", "There are none, sorry."),
}  # fmt: skip
"""Short answers to a question that can be answered with yes or no, by how it is put; "" fits them all."""

STALLS = (
    "Thank you so much for getting in touch with us today.", "We appreciate you taking the time to write.", "We value you as a customer.", "Your satisfaction matters to us.",
    "We're always glad to hear from our customers.", "Thanks for choosing us.", "It's a pleasure to chat with you.", "I appreciate your message.", "I can see you've contacted us.",
    "That's interesting.", "I hear you.", "I can imagine.", "Thanks a lot for sharing that.", "Interesting, thanks for telling me.", "How nice of you to share that.",
    "We take every message seriously.", "You've come to the right place.", "We're here for you.", "I'm only too happy to assist.", "Thanks for your loyalty.",
    "Thank you for bearing with us.", "We hope you're doing well.", "You sound well prepared.", "I'm listening.", "Customers like you are why we do this.", "That's what we are here for.",
    "Thank you for your understanding.", "I'm grateful for the heads-up.", "Every voice counts with us.", "Service is what we live for.", "Glad you wrote.",
    "Good to have you here.", "Thank you, dear customer.", "Well, well.", "Noted with thanks.", "Ah okay, interesting.",
    "I see what you're saying.", "I've read your message.", "Your message has reached us.", "Thank you for your patience so far.", "I do understand.", "Lovely to meet you.",
)  # fmt: skip
