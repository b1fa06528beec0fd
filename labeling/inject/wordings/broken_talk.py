"""Broken sentences of no trade at all, ``[wrong|right]``: waiting, checking, offering help, thanking, closing.

They fit any service talk, so that what is wrong with them is their grammar and nothing else.
"""

from __future__ import annotations

HASTE = (
    "I will [will|] check that for you now.", "Let me [to|] see what I can do.", "Thanks for [you|your] patience.", "I am [looking looking|looking] into it right now.",
    "Please [give give|give] me a moment.", "I'll be [be|] right back with you.", "I [have make|have made] a note of that.", "If you need [need|] anything else, just say so.",
    "I [just just|just] want to make sure I got that right.", "It will [only only|only] take a minute.", "Is there [there|] anything else on your mind?", "Let me know if [if|] that works for you.",
    "I am happy [to to|to] go over it again.", "You can [can|] write to us at any time.", "One moment while I [pulling|pull] that up.", "I [see can|can see] what you mean.",
    "We are [always always|always] here if you need us.", "I'm [gone|going] to read that back to you.", "Please tell [me me|me] if I missed something.", "That [that should|should] be all I need for now.",
    "Just so [you you|you] know, this chat may be saved.", "I [hope hope|hope] that helps a little.", "I need [to to|to] look at that more closely.", "Sorry to keep [keep you|you] waiting.",
    "Sorry for [the the|the] wait, I am back now.", "Feel [feel free|free] to ask if something is unclear.", "I would [would|] rather check than guess.", "[Let let|Let] me double-check that.",
    "I am [still still|still] here with you.", "Before [before|] we go on, let me sum up.", "That makes [makes|] sense to me.", "I'll [I'll get|get] on it straight away.",
    "Stay with [with|] me for a second.", "Please [bear bear|bear] with me.", "I [was wanted|wanted] to make sure first.", "It has [has|] been nice talking to you.",
    "I have [read read|read] your message twice.", "I should [should|] have that in a minute.", "The system is a [a bit|bit] slow today.", "We [are aim|aim] to get this right the first time.",
    "There is no [no need|need] to hurry.", "I'll [be|] explain it step by step.", "Take [take all|all] the time you need.", "I [get got|got] that, thank you.",
)  # fmt: skip

AGREEMENT = (
    "That [sound|sounds] good to me.", "It [look|looks] fine on my side.", "That [make|makes] sense.", "It only [take|takes] a moment.", "We [is|are] here to help.", "That [work|works] for me too.",
    "The details [is|are] clear to me now.", "My notes [says|say] the same.", "Everything [look|looks] right so far.", "Nobody [want|wants] you to wait.", "Each of your questions [matter|matters] to us.",
    "Both of these things [is|are] fine.", "There [is|are] a few things I want to check.", "There [are|is] one thing I want to check.", "My screen [take|takes] a second to load.", "Support [are|is] always here for you.",
    "What you say [help|helps] me a lot.", "[Do|Does] that sound right to you?", "[Do|Does] this help you?", "[Is|Are] those all of your questions?", "[Has|Have] I understood you right?", "[Does|Do] you have any other questions?",
    "[Has|Have] you got another minute for me?", "[Was|Were] you able to read that?", "Your patience [help|helps] us a lot.", "Our team [read|reads] every message.", "It [mean|means] a lot to hear that.",
    "The steps [is|are] simple.", "Those [was|were] all my questions.", "We [was|were] glad to help.", "We [has|have] noted what you told us.", "I [has|have] it in front of me.", "I [is|am] with you in a second.",
    "All of us [is|are] happy to help.", "Some of it [need|needs] a second look.", "This [need|needs] a second look.", "Everyone on the team [know|knows] about it.", "All of that [are|is] noted.",
    "None of this [are|is] your fault.", "Your comments [is|are] welcome.", "The system [need|needs] a second.", "It [don't|doesn't] take long at all.", "That [don't|doesn't] matter at all.", "It [aren't|isn't] a problem.",
    "Things like that [happens|happen].", "Whatever you decide [are|is] fine with us.", "Your answers [was|were] very clear.", "A quick yes or no [are|is] enough.",
)  # fmt: skip

TENSES = (
    "I have [wrote|written] that down.", "I have [took|taken] a note of it.", "I have just [saw|seen] your message.", "I [am understanding|understand] what you mean.", "I will [checked|check] that for you.", "I [was look|was looking] into it just now.",
    "We have [receive|received] your message.", "I [did not knew|did not know] that, thank you.", "I [have hear|have heard] you.", "I should have [ask|asked] that first.", "I must have [overlook|overlooked] it, sorry.", "That could have [be|been] clearer, sorry.",
    "I am [try|trying] to find it.", "I [am wanting|want] to get this right.", "I will [going|go] through it with you.", "If you [will need|need] more time, just say so.", "When you [will be|are] ready, let me know.", "Once I [will know|know] more, I will tell you.",
    "As soon as I [will have|have] it, I will write here.", "Until then we [waiting|will wait].", "Did that [helped|help] you?", "Did I [got|get] that right?", "Have I [forgot|forgotten] anything?", "Has everything [be|been] clear so far?",
    "It has [be|been] a pleasure to help you.", "I am [been|being] asked to check it twice.", "I have [did|done] that for others before.", "I [didn't meant|didn't mean] to keep you waiting.", "It [taked|took] me a moment to read it all.", "I [thinked|thought] so too.",
    "I have [began|begun] to look into it.", "You have [came|come] to the right place.", "I have [spoke|spoken] with the team about that.", "I [have finished|finished] reading it a second ago.", "Let me see what has [happen|happened].", "I was just [go|going] to ask you that.",
    "You [have explain|have explained] it very well.", "I can [confirmed|confirm] that I have read it.", "I would [liked|like] to check one more thing.", "We have [being|been] very busy today.", "I [am glad heard|am glad to have heard] that.", "That had [slip|slipped] my mind until now.",
    "It [will works|will work], I am sure.", "I may [needed|need] a minute for that.", "Thank you for [waited|waiting].", "I look forward to [helped|helping] you again.", "Thanks for [let|letting] me know.",
)  # fmt: skip

ARTICLES = (
    "Give me [moment|a moment], please.", "One second, I have [question|a question].", "That is [an|a] very good point.", "This will take [an|a] minute.", "I need [a|an] extra minute.", "That was [a|an] honest answer, thank you.",
    "I made [note|a note] of that.", "Let me take [closer|a closer] look.", "Thank you for [the your|your] patience.", "I am [member|a member] of the support team.", "Just [moment|a moment] while I check.", "This is [right|the right] place to ask.",
    "I will be back in [minute|a minute].", "You have been [great|a great] help.", "That is [important|an important] detail.", "I have [idea|an idea].", "It was [pleasure|a pleasure] to help.", "Have [nice|a nice] day!", "Have [a|] fun!", "I will write you [answer|an answer] here.",
    "Here is [short|a short] summary.", "I would be happy to give you [hand|a hand].", "If you have [question|a question], just ask.", "I am on [the it|it].", "I will do [the my|my] best.", "For [the now|now] that is all I need.", "You are in [the good|good] hands.",
    "It is not [big|a big] problem.", "It is only [a|] one more step.", "We will find [solution|a solution].", "Let me give you [a|an] update.", "I am having [a|] trouble reading that.", "That makes [a|] sense.", "This is [normal|a normal] step.", "It takes [little|a little] time.",
    "Sorry, I was [a|] away for a second.", "I have looked at [whole|the whole] message.", "Can you give me [example|an example]?", "Is there [other|another] way to put it?", "Is that [a|] okay with you?", "Do you have [minute|a minute]?", "May I make [suggestion|a suggestion]?",
)  # fmt: skip

QUESTIONS = (
    "[You need|Do you need] anything else from me?", "What else [I can|can I] do for you?", "How [I can|can I] help you further?", "[It is|Is it] okay if I take a minute?", "[That is|Is that] all for today?", "[Did that answered|Did that answer] your question?", "[Does that helps|Does that help]?",
    "[Are you have|Do you have] any other questions?", "[Do you are|Are you] still there?", "Can I [to ask|ask] you something?", "May I [to take|take] a moment?", "Could you [to wait|wait] a moment?", "Would you mind [to hold|holding] on?", "Do you mind [to wait|waiting] while I check?", "[Shall I to|Shall I] go on?",
    "[You are|Are you] happy with that?", "[I understood|Did I understand] you right?", "[You could|Could you] bear with me?", "What [you think|do you think]?", "Is there something [what|that] you want to add?", "Is there anything [is not|that is not] clear?",
    "Do you know [what means this|what this means]?", "Can you tell me what [is the matter|the matter is] in your own words?", "[Do you happy|Are you happy] to go on?", "[Is okay|Is it okay] for you like this?", "[You would|Would you] like me to explain it again?", "[Can we goes|Can we go] on?",
    "[Did you can|Could you] read my last message?", "Have you [a moment|got a moment]?", "[How it looks|How does it look] to you?", "[Works this|Does this work] for you?", "[Sounds it|Does it sound] all right?", "[Have you any|Do you have any] more wishes [is|]?", "Is it [that what|what] you meant?",
    "[Want you|Do you want] to think about it first?", "[Should I to|Should I] repeat it?", "[There is|Is there] anything else I can do?", "[I may|May I] ask for one more minute?", "[Are|Is] everything clear so far?",
)  # fmt: skip

FOREIGN = (
    "I [make|do] my best for you.", "[Make|Ask] me any question you like.", "I am [since|here since] this morning and happy to help you.", "Please [to wait|wait] one moment.", "I [no|do not] understand this part.", "I will [look after it|look into it] [since|from] now on.",
    "Thank you [for understand|for understanding].", "[Is no|It is no] problem.", "[Was|It was] a pleasure.", "I am glad [for to|to] help you.", "I [very|] like to help you [|very much].", "I will check [it that|that].", "[Excuse|Excuse me] for the wait.", "[Please|Please do] not hesitate [ask|to ask].",
    "If you [are need|need] something, write [to me|me] [any time|at any time].", "[Here it's|This is] my first day with this system, [please patience|please be patient].", "I tell you [in|at] once.", "I write you [on the|] next [minute|in a minute].", "We can do [like so|it like this].", "It is [same for me|the same to me].",
    "I [have reason|am right] in thinking that, yes?", "I wish you [a day nice|a nice day].", "I thank [to you|you] for the message.", "I have [the|] hope that this helps.", "[How|As] I said, I am checking.", "I must [to check|check] this first.", "It [lacks|is missing] nothing now, [I have all|I have everything].",
    "I listen [you|to you].", "I wait [your|for your] answer.", "We take care [about|of] everything.", "I am [interesting|interested] in your opinion.", "You are [right completely|completely right].", "That I [can good|can well] understand.", "It is [me|] clear [|to me].", "I [already am|am already] looking.",
    "Please [say me|tell me] if it is wrong.", "[At|In] the end it is your choice.", "[With|It is with] pleasure [|that] I help you.", "I will [be think|think] about it.", "I [let you know it|will let you know] in a minute.", "Sorry [that I make|for making] you wait.", "[Of|From] my side everything is fine.",
)  # fmt: skip

NUMBERS = (
    "I have two [question|questions] for you.", "Please give me a few [minute|minutes].", "I need a couple of [second|seconds].", "Thank you for all the [informations|information].", "Thank you for your [patiences|patience].", "I am here for all your [question|questions].", "One of my [colleague|colleagues] may help too.",
    "There are a few [thing|things] to check.", "[This|These] are all the points I have.", "[These|This] is all I have.", "[That|Those] are good questions.", "[Those|That] is a good question.", "Just one more [things|thing].", "Every [details|detail] helps.", "Each [points|point] is noted.", "I have read both of your [message|messages].",
    "We have many [way|ways] to help.", "Do you have any other [wish|wishes]?", "How [much|many] questions do you have?", "I don't have [many|much] to add.", "Thank you for your kind [word|words].", "Many [thank|thanks] for that.", "My [apology|apologies], I was away.", "I need some [helps|help] from a colleague.",
    "I have some [advices|advice] for you.", "That gives me enough [informations|information].", "It takes less than five [minute|minutes].", "It is a two-[minutes|minute] job.", "We get a lot of [question|questions] like that.", "In most [case|cases] it is quick.", "There are several [reason|reasons] for that.", "All [detail|details] are noted.",
    "I see no [problem|problems] with any of these [point|points].", "Here are the next [step|steps].", "Some [thing|things] take longer.", "Our [staffs|staff] will be happy to help.", "I wish you all the [bests|best].", "Thank you for the quick [replies|reply] just now.", "I have no [others|other] questions.",
)  # fmt: skip

TALK = {
    "haste": HASTE, "forms": AGREEMENT, "times": TENSES, "bare": ARTICLES, "asked": QUESTIONS, "foreign": FOREIGN,
    "plural": NUMBERS,
}  # fmt: skip
"""The ideas by name, as in `dialint.labeling.inject.wordings.broken_sentences`."""
