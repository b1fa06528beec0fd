"""Whole sentences of support agents, broken and right at once: ``[wrong|right]`` stands where they part.

``(a|b)`` are choices. In the error the first words of each bracket are said, in the clean twin the second;
either may be empty. By trade and by the mistake's origin: slips of haste, forms that do not agree, and
sentences built after another language.
"""

from __future__ import annotations

HASTE = (
    "I will [will|] check that with the (warehouse|billing team) now.", "Your card has been [been|] charged only once.",
    "We have sent the invoice to [to|] your email address.", "Could you tell me [me|] which plan you are on?",
    "The engineer is going to [going to|] call before he arrives.", "I can see that [the the|the] meter was read in March.",
    "You can [can|] change the seat on our website until the day before.", "Please keep the box, [you you|you] will need it for the return.",
    "I have asked my colleague to [looking|look] into the second charge.", "Our office is [open is|open] from nine to five on weekdays.",
    "I am just opening your file [and and|and] will be right with you.", "The new router should [arriving|arrive] in two working days.",
    "You should [have get|have got] a text message with the link.", "There [is is|is] one more thing I need from you.",
    "It looks like the payment [go|went] through after all.", "We are [still wait|still waiting] for the bank's answer.",
    "Let me [put|put you] through to the claims team.", "If you send [me me|me] a photo of the label, I can trace it.",
    "I would be happy [to to|to] send you a replacement.", "Your parcel was [leave|left] with a neighbour at number 12.",
    "The discount will be [show|shown] on your next bill.", "You [can to|can] pick the keys up at the front desk.",
    "I have [made|made a] note of that on your account.", "Is the [light light|light] on the box green or red?",
    "Your booking includes breakfast [and and|and] parking.", "I [just just checked|just checked] and the item is in stock.",
    "The [the technician|technician] will bring the spare part.", "We do not [charges|charge] for the first change.",
    "Would you [prefer prefer|prefer] an email or a call?", "That is [what what|what] I see on my screen too.",
    "Sorry about the wait, the system [been|has been] slow today.", "Once the form is [sign|signed], we can release the funds.",
    "It usually [take|takes] about three days to clear.", "I'll get [this that|this] sorted for you right away.",
    "You have [been|] until Friday to accept the offer.", "The driver tried to [calling|call] you twice.",
    "Thanks for [you|your] patience while I looked that up.", "I [see can|can see] two bookings under your name.",
    "Please [restart restart|restart] the app and sign in again.", "We [could have|could] not reach you by phone this morning.",
    "The gate closes [at at|at] 6:40, so please be early.", "Your prescription is ready to be [collect|collected].",
    "Our team is [work|working] on the outage in your street.", "I have [remove|removed] the late fee this once.",
    "This offer is for new [the|] customers only.", "Do you want [that me|me] to read the terms out?",
    "[You|Your] policy renews on the first of June.", "I am [going|going to] issue a new card today.",
    "The [price of price|price] of the upgrade is fixed.", "Have you [try|tried] another browser?",
    "Let's [to start|start] with the serial number.", "We [will have|will] refund the difference in cash.",
    "I think [I I|I] have found the problem.", "It [should could|should] be visible in your app by tonight.",
)  # fmt: skip

AGREEMENT = (
    "The courier [have|has] not scanned the parcel since Tuesday.", "Both of your orders [was|were] sent from the same depot.",
    "Each of the rooms [have|has] its own bathroom.", "The terms of the loan [doesn't|don't] allow that.",
    "The list of branches [are|is] on our website.", "Nobody [have|has] used the card since then.",
     "My colleagues in the shop [knows|know] more about this model.",
    "Our prices [includes|include] all taxes.", "Your meter readings [looks|look] fine to me.",
    "The nurse [call|calls] every patient back before six.", "One of our drivers [are|is] on the way to you.",
    "These charges [is|are] for roaming outside the EU.", "The two accounts [was|were] linked in April.",
    "A new set of keys [cost|costs] 25 pounds.", "There [is|are] two ways to get your money back.",
    "There [are|is] a small fee for name changes.", "Everyone on the booking [need|needs] a valid passport.",
    "The claim [don't|doesn't] cover damage by water.", "It [don't|doesn't] matter which branch you visit.",
    "He [say|says] the boiler is safe to use.", "The council [send|sends] the new bins in May.",
    "Your documents [has|have] arrived and [is|are] being checked.", "The lounge and the pool [is|are] open to all guests.",
     "What [do|does] the message on the screen say?",
    "Where [was|were] you when the card was used?", "How much [do|does] the parcel weigh?", "Which of the seats [do|does] she prefer?",
    "[Does|Do] the lights on the modem blink?", "[Is|Are] the two amounts on the same day?", "[Has|Have] you had this trouble before?",
    "[Do|Does] your mother live at the same address?", "[Was|Were] the tickets bought online?", "We [was|were] not told about the strike.",
    "I [were|was] not able to reach the restaurant.", "They [was|were] charged the child fare.", "The refunds [takes|take] five days to show.",
    "Our app [work|works] on older phones as well.", "She [have|has] already signed the lease.", "The money [are|is] on its way to your bank.",
    "The news about the strike [are|is] on our page.", "Your luggage [are|is] still in Madrid.",
     "The instructions [was|were] in the box.", "This [are|is] the last day of the sale.",
    "Those [is|are] the only sizes we have left.", "Your username and password [is|are] not the same thing.", "The first three months [costs|cost] nothing.",
    "An adult [have|has] to sign for the parcel.", "The hotel [allow|allows] small pets.", "Your contract [end|ends] in August and [renew|renews] by itself.",
    "The bus [stop|stops] right outside the clinic.", "Every invoice [show|shows] the customer number.",
)  # fmt: skip

TENSES = (
    "I have [went|gone] through your last three bills.", "We [has|have] already sent the form to you.", "Your claim was [approve|approved] this morning.",
    "The driver has [took|taken] the parcel back to the depot.", "I had [forgot|forgotten] to add the child seat.", "You should have [receive|received] an email from us.",
    "We [are closing|closed] at five yesterday.", "The engineer [didn't came|didn't come] because of the storm.", "Did you [got|get] the code we sent by post?",
    "The fee was [waive|waived] as a gesture.", "I [seen|saw] your message only now.", "The seats were [gave|given] to other passengers.",
    "Your card has been [stole|stolen], so I have blocked it.", "We [sended|sent] two reminders in May.", "The bank [has wrote|has written] to you about it.",
    "I [am knowing|know] how to fix that.", "We [are not having|do not have] your signature yet.", "I [was check|was checking] the stock when you wrote.",
    "She [don't called|didn't call] us back.", "They [didn't delivered|didn't deliver] on Monday.", "The shop [were|has] been closed since last year.",
    "I [work|have worked] here since 2015 and never saw that.", "Yesterday we [try|tried] to reach you three times.", "Last week the price [is|was] lower.",
    "Tomorrow the technician [came|will come] between eight and noon.", "I will [sent|send] you the label in a minute.", "We will [contacting|contact] you as soon as we know more.",
    "You can [collected|collect] it from any branch.", "It must [been|have been] a mistake on our side.", "That may [caused|have caused] the delay.",
    "Your account could [been|have been] locked by too many tries.", "Has the washing machine [stop|stopped] making that noise?", "Have you [spoke|spoken] with the landlord?",
    "When did you [bought|buy] the tickets?", "Why did the app [closed|close] on you?", "Where did you [left|leave] the car?",
    "If you [would have called|had called] on Monday, we [had|would have] changed it.", "If I [will see|see] the payment, I will let you know.", "When the parcel [will arrive|arrives], please check the seal.",
    "As soon as he [will be|is] back, he will ring you.", "I am [use|used] to such questions, no worries.", "We [use to|used to] offer that plan, but not any more.",
    "The line was [cutted|cut] during the work on the road.", "The offer has [began|begun] today.", "Our system [has broke|has broken] down this morning.",
    "The tickets are [sell|sold] out.", "The room has not been [clean|cleaned] yet.", "The order is [process|processed] within one day.",
    "Your address was [wrong wrote|written wrongly] on the label.", "He has [drove|driven] past your house twice.", "It [happen|happened] because two people shared the login.",
    "I have [being|been] trying to reach the airline.", "The transfer is [been|being] checked.", "We have [to being|been] asked to check your ID.",
)  # fmt: skip

ARTICLES = (
    "I will open [new ticket|a new ticket] for this.", "Please send us [photo of receipt|a photo of the receipt].", "[Technician|The technician] will call you from [unknown|an unknown] number.",
    "You need [a|an] appointment for the blood test.", "That is [an|a] good question.", "We can offer you [an|a] free upgrade.", "It takes about [a|an] hour to charge.",
    "This is [a|an] old version of [app|the app].", "There is [problem|a problem] with your address.", "[Bank|The bank] needs two days for [transfer|the transfer].",
    "Press [button|the button] on [back|the back] of [router|the router].", "You will find [number|the number] on [bottom|the bottom] of [page|the page].",
    "I have sent [link|a link] to your phone.", "Your parcel is in [the London|London] now.",  "[The Mr Hill|Mr Hill] from our team will call.",
    "She is [nurse|a nurse] and can tell you more.", "We do not take [the cash|cash] on [bus|the bus].", "I work in [customer service team|the customer service team].",
    "Open [settings menu|the settings menu] and choose your language.", "This is [best|the best] price I can give.", "You are [first|the first] in [queue|the queue].",
    "He will be there in [half|half an] hour.", "Please wait [a moments|a moment].", "Do you have [other|another] card with you?", "Is there [lift|a lift] in your building?",
    "Would you like [window|a window] seat or [aisle|an aisle] seat?", "Which colour is [light|the light] on [box|the box]?", "May I have [minute|a minute] to look?",
    "The refund goes to [same card|the same card] that you used.", "It is [a|an] unusual fault, I must say.", "That is [an|a] one-time fee.", "I can book [a|an] early check-in.",
    "You can use [the any|any] door.", "We need [a the|the] reading from your meter.", "[The all|All the] flights on that day are full.", "Please bring [the your|your] passport.",
    "I am [a sorry|sorry] to hear that.", "This needs [a more|more] time than I thought.", "Your bill is due at [end of month|the end of the month].",
)  # fmt: skip

QUESTIONS = (
    "When [you want|do you want] to leave?", "What [you need|do you need] it for?", "Where [you saw|did you see] this price?",
    "How [I can|can I] help you with the bill?", "Why [you did not|did you not] use the form?", "How long [you have|have you had] this problem?", "Have you [try|tried] to restart it already?",
    "Which card [you used|did you use] for the ticket?", "How many bags [you will|will you] take?", "What [says the screen|does the screen say]?", "What [means this light|does this light mean] on your box?",
    "How [looks the label|does the label look]?", "Where [is live|does] your landlord [|live]?", "What time [the driver should|should the driver] come?", "Who [did sign|signed] for the parcel?",
    "[Are|Do] you agree with the new terms?", "[Do you are|Are you] at home right now?", "[Did you tried|Did you try] the other cable?", "[Does the phone is|Is the phone] under warranty?",
    "[Can you to tell|Can you tell] me the last reading?", "Do you have a moment to [answering|answer] two questions?", "What [is you|is your] date of travel?",
    "Could you say [me|] the colour of the car?", "Could you explain [me|] what happened?",  "Can you tell me where [is the meter|the meter is]?",
    "Do you know what [is the|the] model number [|is]?", "Please tell me when [did you|you] [pay|paid] it.", "Can I ask why [do you|you] want to leave us?", "I wonder how [did|] this [happen|happened].",
    "What [kind|kind of] phone is it?", "How [much|many] times did it ring?", "How [many|much] does the other shop ask?", "You want [that I|me to] send it again, right?",
    "Which of these two dates [do suit|suits] you?", "[Would|Would you] mind [to wait|waiting] a minute?", "Do you mind [to give|giving] me your postcode?", "[Shall I to|Shall I] cancel the rest too?",
    "What [are|is] your preferred time for the visit?", "Since when [you are|have you been] our customer?", "For how many people [it is|is it]?", "To which address [we should|should we] send it?",
)  # fmt: skip

FOREIGN = (
    "We will [revert you back|get back to you] by tomorrow.", "Please [to inform|inform] us of your decision.", "Kindly [to reply|reply] when you [are having|have] the time.",
    "I [am here since|have been here for] five minutes, checking it.", "It [depends of|depends on] the day you fly.", "I [am agree|agree] with you that this is too long.",
    "[Is necessary|It is necessary] to sign both pages.", "[Is|It is] not possible to change the name.", "I need [that you send|you to send] me the form.",
    "We [recommend you to take|recommend taking] the bus.", "I suggest [you to call|you call] the clinic first.", "Please explain [me|] the problem [with more details|in more detail].",
    "I will explain [you|] how it works.", "We discussed [about|] this with the hotel.", "Please [contact with|contact] the shop.", "He [answered to|answered] your mail on Monday.",
    "I look forward to [hear|hearing] from you.", "We are used to [get|getting] this question.", "Thank you for [to wait|waiting].", "Thanks for [contact|contacting] us today.",
    "You must [to bring|bring] your passport.",  "The hotel [who|that] you booked is full.", "The man [which|who] called you is my colleague.",
    "That's the form [what|that] you need.", "I don't know [what is|what] the reason [|is].", "[In|On] Monday we are closed.", "The shop opens [in|at] nine.",
    "He is coming [at|on] Friday [on|in] the morning.", "You can pay in cash or [per|by] card.", "The parcel arrives [until|by] Friday [latest|at the latest].", "I am responsible [of|for] your case.",
    "We are sorry [of|for] the trouble.", "Please be [patience|patient] with us.", "I am [boring|bored] of this error as much as you.", "I know the results [are not satisfy|do not satisfy] you.",
    "You are welcome [in|at] our shop any [times|time].", "Your money [it is|is] safe with us.", "My manager [he|] will call you.",
    "We have [much|many] shops in your city.", "I have [few|a few] questions for you, [if is|if it is] okay.", "You [was right have|were right].", "This phone is [more better|better] than the old one.",
    "It's the [most cheap|cheapest] plan we have.", "This is [more cheap|cheaper] for you.", "The new flat is [more big|bigger] than the old.", "Today is [more busy as|busier than] yesterday.",
    "I [no can|cannot] see your order.", "I [not understand|do not understand] the second photo.", "We [not have|do not have] this size any more.", "[Not|There is not] any seat left.",
    "[Have|There is] one more bus at ten.", "[Exist|There are] two offers for you.", "To me [is|it is] clear now.", "Sorry, [is my|it is my] first week here.",
    "Please [you wait|wait] a little.", "Please [no|do not] close the window.", "I [very|really] like your idea.", "[Me also|I also] see the error.",
    "[Let me to check|Let me check] it for you.", "[Make|Take] a photo of the meter and send [|it].", "You can [to find|find] us near the station.", "We can [make for you|make you] a better price.",
    "Your order [is arrived|arrived] yesterday.", "He [is arrived|has arrived] at your door.", "The fee [is include|is included] in the price.", "[All is|Everything is] working [good|well] on our side.",
    "The line works [good|well] again.",   "The sum was booked [wrong|wrongly] [two times|twice].",
     "I [have|am] 20 years [|old] and new here.", "If you [are have|have] a question, ask me.", "I can [gave|give] you only half of it.",
    "I [want say|want to say] sorry for that.", "We hope [see|to see] you soon.", "You need [pay|to pay] before noon.", "I try [help|to help] you now.",
    "The doctor wants [see|to see] you on Monday.", "You have [pay|to pay] [in|at] the desk.", "He forgot [send|to send] the code.", "We [are not manage|did not manage] to find it.", "There is [nobody|somebody] who can [not|] help at night.",
    "[Since|For] two days the line [is|has been] down.",
)  # fmt: skip

NUMBERS = (
    "We sent you two [letter|letters] in May.", "There are three [way|ways] to pay.", "All our [branch|branches] close at noon today.", "The [childrens|children] travel for free.",
    "We need both [signature|signatures] on the form.", "You have many [choice|choices] with this plan.", "I have several [information|pieces of information] for you.", "Please give me more [informations|information].",
    "Thank you for the [feedbacks|feedback].", "We ordered new [equipments|equipment] for you.", "Your [luggages|luggage] will come tomorrow.", "Do you have any other [question|questions]?",
    "One of my [colleague|colleagues] will ring you.", "It is one of our best [room|rooms].", "This is for a [persons|person] under 18.", "Every [customers|customer] gets a new card.",
    "Each [tickets|ticket] has a bar code.", "[This|These] shoes run small.", "[These|This] model is sold out.", "[That|Those] were the old prices.", "I see [much|many] calls on your bill.",
    "There is not [many|much] time left.", "We have [less|fewer] [seat|seats] on Sundays.", "The [peoples|people] at the desk can help.", "Five [minute|minutes], please.", "A two [weeks|week] trial is free.",
    "It is a [five-minutes|five-minute] walk.", "I can give you 10 [percents|percent] off.", "Your [datas|data] is safe.", "Send me the [photo|photos] of both [side|sides].", "The [womans|women] in the shop know me.",
    "He lost two [tooth|teeth], says the claim.", "We have no [staffs|staff] on site today.", "Our [softwares|software] is up to date.", "My [advices|advice] is to wait.", "Here are some [advice|tips] for the [trips|trip].",
)  # fmt: skip

BROKEN = {
    "haste": HASTE, "forms": AGREEMENT, "times": TENSES, "bare": ARTICLES, "asked": QUESTIONS, "foreign": FOREIGN,
    "plural": NUMBERS,
}  # fmt: skip
"""The ideas by name; each is a family of L2."""

CHATTY = (
    "Done!", "All set.", "On it.", "Happy to help.", "No problem at all.", "Will do.", "Back in a sec.", "One moment please.",
    "Got it, thanks.", "Sounds good.", "Looking into it now.", "Anything else?", "Any luck?", "Glad that worked.", "Same here.",
    "Sorry for the wait!", "Just a second.", "Noted.", "Much appreciated.", "Checking now.", "Found it.", "Almost there.",
    "Good call.", "Fair enough.", "Not to worry.", "Thanks for waiting.", "Makes sense.", "Long story short, it is on its way.",
    "Best of luck with the move.", "Fingers crossed.", "No need to do anything.", "Up to you.", "Your choice.", "Still here?",
    "Still with you.", "Bear with me.", "Be right back.", "Couldn't agree more.", "Hope that helps.", "Hope this finds you well.",
    "Speak soon.", "Talk to you then.", "Take your time.", "Pleased to hear it.", "Sorry to hear that.", "Sure thing.",
    "Ready when you are.", "Out of stock, I am afraid.", "Free of charge, of course.", "Subject to availability.", "First come, first served.",
    "Terms apply.", "Right away.", "As soon as possible.", "Should be there by Friday.", "Might take a day or two.", "Could be the cable.",
    "Was it the blue one?", "Which is why I asked.", "If not, just tell me.", "More on that below.", "See you then!", "Two options here.",
    "The data are in, and the team is on it.", "The staff are happy to help.", "None of them is open.", "None of them are open.",
    "Whom did you speak to?", "Who did you speak to?", "It is I who should apologise.", "Had I known, I would have called.",
    "Were it up to me, you would get it free.", "I insist that he call you back.", "We ask that the form be signed.",
    "Not only is it cheaper, it is also faster.", "Rarely do we see this fault.", "The faster the line, the higher the price.",
    "What he said is right.", "That that plan exists is news to me.", "He had had the same trouble.", "I do do that at times.",
    "There's a bus and a tram.", "Five pounds is the fee.", "Ten minutes is enough.", "The United Kingdom is covered.", "Physics is his subject.",
    "A European card works too.", "It takes an hour at a university branch.", "An FAQ is on our site.", "Go to town and then to bed early.",
    "She is at work, not at home.", "By train or by car?", "It is in hospital use only.", "Do be careful with it.", "I did send it.",
)  # fmt: skip
"""Short forms and rare but right constructions, none of them an error."""

QUOTES = (
    'You wrote "@words".', 'About "@words":', 'I read "@words" and will look into that.', '"@words": noted.',
    'You said "@words", is that right?', 'Thank you for telling me "@words".', 'You typed "@words", I take it as read.',
    'Your message says: "@words".', "Quoting you: '@words'.", 'When you say "@words", do you mean today?',
    'Your note on the form reads "@words".', 'On "@words", let me see.', "I understand '@words', thanks.",
)  # fmt: skip
"""How an agent quotes the customer."""
