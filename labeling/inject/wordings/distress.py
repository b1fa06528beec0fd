"""Distress that customers state, how a reply acknowledges it, and how it fails to.

Four kinds of sentence: what hurts, a neutral one in its place, an acknowledgement, and a lead-in that
passes over it. What `EXAM` holds is never trained on.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialint.labeling.synthetic.draft import Use
from dialint.labeling.synthetic.phrases import Grammar


@dataclass(frozen=True)
class Distress:
    """One kind of distress. `said` are templates of the customer's, `heard` acknowledgements that fit
    it, besides those of its `voice`."""

    name: str
    said: tuple[str, ...]
    heard: tuple[str, ...]


@dataclass(frozen=True)
class Voice:
    """How agents of one author answer: `heard` fits every distress, `unheard` passes it over."""

    heard: tuple[str, ...]
    unheard: tuple[str, ...]
    use: Use = "train"


SLOTS: Grammar = {
    "kin": ("father", "mother", "dad", "mom", "husband", "wife", "brother", "sister", "grandmother", "best friend"),
    "child": ("son", "daughter", "little boy", "little girl", "baby", "kid"),
    "recently": ("yesterday", "last night", "this morning", "on Sunday", "last week", "two days ago"),
    "sorry": ("I'm sorry", "I'm so sorry", "I am very sorry", "I'm truly sorry", "I'm really sorry"),
    "very": ("very", "so", "really", "terribly", "extremely"),
    "hours": ("two hours", "three hours", "over an hour", "forty minutes", "the whole morning", "five days", "a week"),
    "guest": ("cousin", "colleague", "neighbor", "uncle", "friend", "roommate", "niece"),
}  # fmt: skip

TRAINED = (
    Distress(
        "bereavement",
        (
            "My @kin (died|passed away|was buried) @recently(.| and I can barely think straight.| and I have to arrange everything.|, I'm still in shock.)",
            "(We lost|I lost|We've just lost) (my @kin|our baby|our grandfather) @recently(.|, I'm sorry if I'm not making sense.| and it's @very hard.)",
            "(I'm in mourning|I'm grieving|I've been crying all day), (my @kin is gone|the funeral is tomorrow|I just lost my @kin).",
            "(It's for|I need this for|This is about) (my @kin's funeral|the funeral of my @kin|my late @kin)(.|, it was very sudden.|, I still can't believe it.)",
        ),
        (
            "@sorry for your loss.",
            "@sorry to hear about your loss(, please accept my condolences|, my thoughts are with you and your family|).",
            "(My condolences|My deepest condolences|My sincere condolences|Please accept my condolences)(, this must be @very hard|, to you and all the family|).",
        ),
    ),
    Distress(
        "illness",
        (
            "My (@kin|@child) is in (the hospital|intensive care|the emergency room)(.| and I'm scared.| and I'm so worried.|, it looks bad.)",
            "I (was just diagnosed with|have|found out I have) (cancer|a tumor|a serious heart condition)(.| and I don't know how to cope.|, everything is upside down.)",
            "(I had|My @kin had|My @child had) (a stroke|a heart attack|a bad accident|emergency surgery) @recently(.|, it's been awful.| and we're all @very shaken.)",
            "I'm in (a lot of pain|terrible pain|constant pain)(.| and I can't sleep.| and the doctors can't tell me why.)",
            "(I just had a miscarriage|I lost the pregnancy|My chemo starts tomorrow)(.| and I'm not doing well.|, sorry, I'm @very upset.)",
        ),
        (
            "@sorry (you're going through this|to hear that|about this), I (hope things get better soon|wish you a quick recovery|hope everything turns out well).",
            "(That must be|This must be) @very (frightening|hard|painful)(, I hope you're not alone with it| for you and your family|).",
            "I hope (you feel better soon|everyone recovers soon|it goes well)(, @sorry to hear that|, that sounds @very hard).",
        ),
    ),
    Distress(
        "stranded",
        (
            "I'm (stranded|stuck) (at the station|at the airport|in the middle of nowhere|on the side of the road) (with two small children|in the dark|in the rain|all alone)(.|, I'm desperate.| and my phone is dying.)",
            "(They cancelled my flight|The last bus left without me|My car broke down) and I (have nowhere to sleep|don't know how to get home|am sitting on the floor crying).",
            "(I've been left|They left me) (outside in the cold|standing on the street|here) with (all my luggage|a sick @child|no money)(, I feel so helpless.|, I don't know what to do.|, I could cry.)",
            "It's (late|dark|freezing) and I'm (lost|locked out|alone in a strange city)(.|, I'm @very scared.| and nobody is helping me.)",
        ),
        (
            "@sorry you're stuck (there|like that|out there)(, let's get you somewhere safe|, that must be @very stressful|).",
            "(Oh no|That's awful|How awful), (that sounds @very stressful|being stuck like that is horrible|I hope you're safe).",
            "(I understand how upsetting that is|That must be frightening)(, first of all are you safe|, we'll get you out of there|).",
        ),
    ),
    Distress(
        "money",
        (
            "I (lost my job|was laid off|got fired) @recently( and I'm ashamed.| and I'm worried sick.| and I have three kids to feed, it scares me.|, I'm desperate.)",
            "(I can't afford|I don't have the money for) (food|rent|my medicine) (this month|until Friday)( and I feel awful.| and I don't know what to do.|, it's humiliating.)",
            "(That was|It was) (my last money|everything I had|my whole savings)( and now I'm scared.| and now I have nothing.|, I'm @very worried.|, I feel sick.)",
            "(We're about to lose our home|I'm drowning in debt|They want to evict us)(.| and I'm at the end of my rope.|, I can't sleep anymore.)",
        ),
        (
            "@sorry (about your situation|that things are so tight|you're in that position), (we'll look for the cheapest way|I know money worries are hard|that must weigh on you).",
            "(I understand how stressful that is|That sounds @very stressful), (let's keep the costs down|let's see what we can do|thank you for telling me).",
        ),
    ),
    Distress(
        "fear",
        (
            "I'm (@very scared|terrified|really afraid|shaking) (right now|about this|to be honest)(.|, I've been having panic attacks.|, I can't calm down.)",
            "(I'm having a panic attack|I can't stop crying|My hands are shaking|I can hardly breathe)(.|, sorry.|, I'm @very anxious.)",
            "(I haven't slept|I've been lying awake) for (days|nights) (because of this|worrying about it)(.|, I'm a wreck.|, it's making me ill.)",
            "(I'm afraid to go home|I don't feel safe|Someone is following me)( and I'm frightened.|, I'm scared.)",
        ),
        (
            "(I understand|I can hear|I see) how (frightening|worrying|scary) (this is|that must be) for you.",
            "@sorry you're feeling (so anxious|so afraid|like this)(, take all the time you need|, you're not alone with this|).",
            "(Take a deep breath|Take all the time you need), (I know this is @very worrying|I understand you're worried|it's okay to be upset).",
        ),
    ),
    Distress(
        "waiting",
        (
            "I've been (waiting|on hold|trying to reach you) for @hours( and I'm close to tears.| and I'm so upset.| and I'm furious.|, I'm @very frustrated.)",
            "(This is the third time|It's the fourth time|I've lost count how often) I (contact you|have to explain this|write)(, it makes me furious.|, I'm at my wits' end.| and I'm @very angry.)",
            "(I'm furious|I'm so angry|I've had enough|I'm really upset), (you promised a call and nobody called|I was sent from one person to the next|I was kept waiting for @hours).",
            "(You people|You) (kept me waiting all day|ruined my day|have let me down again)( and I'm sick of it.| and I'm really upset.|, I could scream.| and I feel awful.)",
        ),
        (
            "@sorry (about the long wait|you had to wait so long|for the trouble this caused)(, I understand your frustration|, that's not how it should be|).",
            "(I understand why you're angry|You have every right to be upset|I'd be frustrated too)(, @sorry| and I apologize|, let me fix this now).",
            "(I apologize|My apologies|Please accept my apologies) for (the delay|all this|the poor experience)(, I know how frustrating that is|).",
        ),
    ),
)

EXAM = (
    Distress(
        "crime",
        (
            "(Somebody|A man|Two men) (broke into our flat|mugged me at knifepoint|stole my purse with everything in it|beat me up) @recently(.|, I keep reliving it.|, I feel violated.)",
            "(I fell for a scammer|A fraudster emptied my account|My identity was stolen)(.| and I feel so stupid and ashamed.|, it breaks me.)",
            "(The police just left|I'm calling from the police station), (our home was burgled|my ex attacked me|they took all I own).",
        ),
        (
            "(What a shock|How horrible), (no one should have to go through such a thing|I hope you weren't hurt|you did nothing wrong).",
        ),
    ),
    Distress(
        "ruined-day",
        (
            "(Our wedding|My graduation|Her 80th birthday|Our honeymoon) is (ruined|a disaster|wrecked)(.|, my heart is broken.|, I'm devastated.|, we planned it for years.)",
            "(My fiancé left me|My partner walked out|My marriage ended) @recently(.|, I'm falling apart.|, so the trip for two is just me now.)",
            "(Our dog had to be put down|Our house burned down|The flood took everything we had) @recently(.|, I'm heartbroken.|, we're devastated.)",
        ),
        (
            "(That is heartbreaking|How sad), (you must have looked forward to better days|I can imagine how much that hurts|what a blow that must be).",
        ),
    ),
    Distress(
        "burden",
        (
            "I (can't do this anymore|am completely overwhelmed|am so exhausted I could collapse)(.|, caring for my @kin day and night.|, everything falls on me.)",
            "(Nobody helps me|I'm all on my own with this|I feel so alone)(.|, some days I don't want to get up.|, I just sit here in tears.)",
            "(Honestly I'm at breaking point|I'm barely holding it together|It's all too much for me)(.| with a newborn and no sleep.| since the divorce.)",
        ),
        (
            "(That is a lot for one person|You carry so much), (please be gentle with yourself|I'll make this part as light as I can|it's no wonder you feel worn out).",
        ),
    ),
)

TRAINED_VOICE = Voice(
    heard=(
        "@sorry to hear that(.|.|, that must be @very hard.|, thank you for telling me.)",
        "(Oh no|Oh dear|That's awful|I'm so sorry|How sad|That sounds hard|I feel for you).",
        "(I'm sorry you're going through this|That sounds really hard|That must be @very difficult|I can only imagine how hard this is)(.|, I'll do my best to help.|, let's get this sorted for you.)",
        "(Oh no|Oh dear), (@sorry|that's terrible|that's awful)(.|, I'll take care of this right away.)",
        "(I understand this is a hard time|I understand how upsetting this must be|I understand how you feel)(.| and I'm here to help.)",
        "(I'm really sorry about that|I feel for you|I'm sorry this is happening to you)(, we'll take it step by step|).",
    ),
    unheard=(
        "(Okay|Ok|Alright|Noted|Right|I see|Understood|Got it)(.|, thanks.|, thank you.|, one moment.)",
        "(Thanks|Thank you) for (the information|the info|letting me know|your message|the details).",
        "(Great|Perfect|Awesome|Wonderful|Excellent|Sounds good)(!|, thanks!|.|, let's go on.)",
        "(Sure|No problem|Of course|Certainly)(.|, happy to help.|, I can help with that.)",
        "(Thank you|Thanks) for the (information|details), (I've added it to your file and we can go on|let's look at the options we have|here is what I need from you next).",
        "(I can certainly help you with that|Let me check that in our system for you|I have all I need from you)(.| and it will only take a moment.|, thank you for your patience.)",
        "(Okay|Alright|Great), (so let's get back to what you asked for|so here is how we go on|let me look that up for you right away).",
    ),
)

EXAM_VOICE = Voice(
    heard=(
        "My heart goes out to you(.|, truly.|, and please know there's no pressure here.)",
        "(How dreadful|You poor soul|That is so much to bear|My sympathy).",
        "(What a dreadful thing to face|No one would find that easy|It takes strength to share this)(.|, and I want to make things gentler from here.)",
        "(You have my sympathy|You're in my thoughts|I wish I could take some of that off your shoulders)(.|, let me at least handle this bit.)",
        "(Before anything else|First things first), (how are you holding up?|are you all right?|I want to say how sad I am to read that.)",
    ),
    unheard=(
        "(Super|Fantastic|Cool|Very good)(!|, moving on.|, next step.)",
        "(That's recorded|I've put that down|Duly registered)(.|, next.| in the form.)",
        "(As for your inquiry|Regarding your inquiry|Back to the matter at hand|Let's continue):",
        "(Absolutely|By all means)(, let's proceed.|.|, here we go.)",
        "(With that out of the way|Having read your note), (we can turn to the remaining fields of your form|the following is available on our side).",
        "(Everything you wrote has been registered|Your remark is on record) (and does not affect the next step|so we may carry on with the procedure).",
    ),
    use="dev",
)

NEUTRAL = (
    "My (@guest|@kin) (is coming along|will join me|told me about you|used you before|is paying this time)(.| and we're looking forward to it.|, by the way.)",
    "(I've been|We've been) (looking at|reading about|comparing) (a few options|your website|some places) @recently(.|, just so you know.| and yours looked good.)",
    "(It's for|I need this for|This is about) (my @guest's visit|a trip with my @guest|a regular meeting)(.|, nothing special.|, we do it every year.)",
    "I'm (at the station|at the office|at home|in town|on my phone) (right now|with my @guest|until noon)(.|, so the chat works best.| and have a few minutes.)",
    "(I moved here|I started a new job|We got back from a trip|I changed my number) @recently(.|, that's why I'm asking.| and all is going well.)",
    "(I'm fine|I'm easy|I'm flexible) (with that|about this|to be honest)(.|, anything works.|, it's up to you.)",
    "(It was|That was) (my first visit|a recommendation|a spontaneous idea)( and I liked it.|, in case you ask.)",
    "(This is the third time|It's the fourth time) I (book with you|use this)(, it always went well.| and I like it.|, all good so far.)",
    "(I usually|I always|Normally I) (go by bus|pay in cash|plan ahead|do this online)(.|, but this is quicker.| and it works well.)",
)
"""What a customer may say in the same place that asks for no sympathy."""
