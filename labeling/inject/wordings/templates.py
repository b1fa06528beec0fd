"""Sentences of macros with a slot, and the syntaxes of slots that nobody filled.

``@slot`` is where the value, or the unfilled slot, stands.
"""

from __future__ import annotations

SLOTS: dict[str, dict[str, tuple[str, ...]]] = {
    "name": {
        "labels": ("first_name", "name", "customer_name", "customer", "firstname", "full name", "last_name",
                   "client_name", "user", "contact name", "guest name"),
        "values": ("Maria", "Tom", "Ms Lee", "Mr Okafor", "Priya", "Daniel", "Chen", "Mrs Novak", "Ali", "Grace",
                   "[NAME_1]", "[NAME_2]", "Sam", "Ingrid", "Mr Silva"),
    },
    "agent": {
        "labels": ("agent", "agent_name", "your name", "rep_name", "signature", "operator", "staff name"),
        "values": ("Anna", "Joel", "Kim", "Ravi", "Elena", "Marcus", "Sofia", "[NAME_1]"),
    },
    "order": {
        "labels": ("order_id", "order number", "ticket_id", "case number", "reference", "booking ref", "order_no",
                   "confirmation_code", "ticket"),
        "values": ("48213", "A-20931", "771204", "R5512", "#90417", "GX7T2M", "1183-22", "60035"),
    },
    "date": {
        "labels": ("date", "due_date", "delivery date", "day", "eta", "expected_date", "arrival date"),
        "values": ("Friday", "12 May", "tomorrow", "3 June", "Monday", "the 14th", "next Tuesday", "08/12"),
    },
    "amount": {
        "labels": ("amount", "refund_amount", "price", "total", "sum", "fee", "balance"),
        "values": ("$20", "12.50 pounds", "$148", "30 euros", "$9.99", "75 dollars", "18 GBP"),
    },
    "link": {
        "labels": ("link", "url", "tracking_link", "help page", "form link", "survey url"),
        "values": ("example.com/help", "www.example.org/track", "the help page", "example.com/contact"),
    },
}  # fmt: skip
"""For each kind of slot: what templates call it, and values that fill it."""

GREETINGS = (
    "(Hi|Hello|Dear|Good morning|Hey) @name,", "(Hi|Hello|Hey) (there |)@name!", "Dear @name,",
    "(Thank you|Thanks) for (reaching out|your message|contacting us|getting in touch|waiting), @name.",
    "(Hi|Hello) @name, (thanks|thank you) for (contacting us|your patience|your message).",
    "(Welcome|Welcome back), @name!", "Good (morning|afternoon|evening), @name.", "@name, (thanks|thank you).",
)  # fmt: skip
SENTENCES = (
    "(I have|I've) (noted|saved|logged) (this|our chat|your message) (as|under) @order.", "The (reference|number) (of|for) this chat is @order.",
    "(You can|Please) (quote|mention) @order if you (write|contact us) again.", "(More help|More detail|Further help) (can be found|is) (at|on|here:) @link.",
    "(Tell us how we did|Rate this chat|Leave your feedback) (at|on|here:) @link.", "(I have|I've) asked @agent to (help|look into it|join us).",
    "@agent (will|can) (help|take over|be with you) (shortly|in a moment|too).", "(Let me|I'll) (check|look into) (that|it), @name.", "(One moment|Just a second|Bear with me), @name.",
    "This (chat|request|conversation) (is|has been) (logged|registered|saved) (under|as) @order.", "(I have|I've|We have) (opened|created|updated) (case|ticket) @order (for this|for our chat|).",
    "(You can find|There are) more details (at|on|here:) @link.", "(You can|Feel free to) (read more|look it up) at @link (too|any time|).",
    "(I have|I've) (noted|added) (this|it) (to|in) (your|the) file (under|as) @order.",
    "My name is @agent and I (will be helping|am helping|will look after) you (today|).", "(You are|You're) (speaking|chatting) with @agent (today|).",
    "(Our|The) chat is (closed|not staffed|open as usual) on @date.", "(We are|Our team is) back (as usual|at full strength) (on|from) @date.", "(New|Other) opening hours apply from @date.",
    "(A call|A call to us|The helpline) (is|costs) @amount.", "Chatting is free, (a call|a text) is @amount.",
)  # fmt: skip
SIGNOFFS = (
    "(Best|Kind|Warm|) regards, @agent", "(Best|Cheers|Thanks|Sincerely), @agent", "- @agent",
    "(Yours|Best wishes|With thanks), @agent", "(Have a (great|good|nice) day|Take care)! @agent",
    "Your (advisor|contact|assistant) today was @agent.",
)  # fmt: skip

SYNTAXES = (
    "{@label}", "{@label}", "[@upper]", "[@upper]", "[@label]", "<<@label>>", "<@label>", "%@upper%", "%@label%",
    "[INSERT @upper]", "[insert @label here]", "INSERT @upper HERE", "<INSERT @upper>", "[your @label]", "{@upper}",
)  # fmt: skip
BLANKS: dict[str, tuple[str, ...]] = {
    "name": ("Customer Name", "First Name", "XXXX", "____", "[ ]"),
    "agent": ("AGENT NAME", "XXXX", "____", "Agent Name"),
    "order": ("XXXXXX", "#####", "______", "#XXXXX", "XXX-XXX"),
    "date": ("XX/XX", "XX/XX/XXXX", "DD/MM", "__/__", "____", "DD.MM.YYYY"),
    "amount": ("$XX.XX", "XX", "$___", "$X", "XX.XX pounds"),
    "link": ("[LINK]", "<URL>", "www.XXXX.com", "(LINK)"),
}

OTHER_GREETINGS = (
    "@name - (many |)thanks for (writing|the note|coming back to us).", "(Greetings|Good day) @name,",
    "(A warm hello|Hello again) to you, @name.", "(Nice|Good) to (meet|hear from) you, @name.",
)  # fmt: skip
OTHER_SENTENCES = (
    "(Quote|Keep|Note) @order (in future contact|for your records|when you write again).",
    "(Expect|Look out for) (it|an email|our call) (around|on) @date.",
    "(We|I) (took|have taken) @amount off (the bill|your invoice).", "(See|Have a look at) @link (please|).",
    "(For the record|Internally) this (runs|is filed) under @order.", "@agent (from our team|here) (is on it|speaking).",
    "(The courier|Our driver|The technician) (comes|is due) on @date.",
)  # fmt: skip
OTHER_SYNTAXES = (
    "$customer.@dotted", "${@dotted}", "{{ticket.@dotted}}", "{{ @dotted }}", "(@label here)", "TBD", "@@@dotted@@",
    "#{@dotted}", "{%@dotted%}", "(@label goes here)", "*@label*", "|@upper|", "$@upper$", "~@label~", "null",
    "[[@label]]", "&lt;@label&gt;", "undefined", "«@label»", "None", "(tbc)",
)  # fmt: skip

LEFTOVERS = (
    "[(Agent|Note to agent|Internal): @order_to (before sending|if it applies|)]",
    "(Option A|Option 1|Variant 1): @offer (Option B|Option 2|Variant 2): @offer",
    "(Hi|Hello|Dear)/(Hi|Hello|Good evening) (Sir/Madam|Mr/Ms), @offer", "{Hi|Hello|Hey}, @offer",
    "*** (delete|remove) (this|the line|this part) if not (needed|applicable) ***",
    "(TODO|FIXME|To do): @todo", "(lorem ipsum|Lorem ipsum dolor sit amet), @offer", "(yes/no) @offer",
    "(Your|The) (refund|delivery|visit) is (due|planned) (today / tomorrow / next week|in 3/5/10 days).",
    "#(macro|snippet|canned)_(reply|refund|greeting)_(01|7|v2)", "(Macro|Template|Snippet) (12|4B|7) - @offer",
)  # fmt: skip
LEFTOVER_RULES = {
    "order_to": (
        "pick one of the answers below", "delete what does not fit", "add the amount", "check the tone",
        "fill in the blanks", "replace this line", "choose the right greeting", "attach the form",
    ),
    "offer": (
        "we will look into it.", "we can send a new one.", "your case is open.", "thank you for your patience.",
        "we are here to help.", "the fee is waived.", "your parcel is on its way.",
    ),
    "todo": (
        "check with billing", "ask the supervisor", "insert the legal text", "update after the meeting",
        "add the apology", "confirm the price", "link the article",
    ),
}  # fmt: skip
CLEAN_LINES = (
    "We will look into it (today|).", "Your case is open.", "(Thank you|Thanks) for your patience.",
    "We are here to help.", "(You can choose|Choose) between pick-up and delivery.", "(Yes or no is fine|Either is fine).",
    "I checked (that|this) with billing.", "Your parcel is on its way (/ should be there soon|).",
)  # fmt: skip
SYNONYMS = (
    (r"\bI'm\b", "I am"), (r"\bI am\b", "I'm"), (r"\bcannot\b", "can't"), (r"\bcan't\b", "cannot"),
    (r"\bdo not\b", "don't"), (r"\bdon't\b", "do not"), (r"\bwould you like\b", "do you want"),
    (r"\bI have\b", "I've"), (r"\bI've\b", "I have"), (r"\bprovide\b", "give"), (r"\bneed\b", "require"),
    (r"\bplease\b", "kindly"), (r"\bfound\b", "located"), (r"\bhelp\b", "assist"), (r"\bthere are\b", "we have"),
    (r"\bthere is\b", "there's"), (r"\bit is\b", "it's"), (r"\bis located\b", "is"), (r"\bcan I\b", "may I"),
    (r"\bmay I\b", "could I"), (r"\bshould I\b", "shall I"), (r"\bgreat\b", "wonderful"), (r"\bthat\b", "this"),
)  # fmt: skip
"""Words of one meaning: pattern and replacement."""
