"""Macros of many trades with slots, what stands in a slot that nobody filled, and brackets that are right.

``@kind`` is a slot; ``(a|b)`` are choices made in the error and in its twin alike.
"""

from __future__ import annotations

KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "name": (
        ("first_name", "FirstName", "customer.name", "name", "client", "contact.first_name", "user_name", "guest", "surname",
         "recipient", "Customer Name", "member_name", "patient name", "passenger"),
        ("Maria", "Mr Okafor", "Priya", "Chen", "Mrs Novak", "Grace", "[NAME_1]", "Ingrid", "Ms Haddad", "Luca", "Dr Silva"),
    ),
    "agent": (
        ("agent.name", "agent", "rep", "your_name", "advisor", "owner.first_name", "signature", "staff", "User.Name", "operator_name"),
        ("Anna", "Joel", "Kim", "Ravi", "Elena", "Marcus", "Sofia", "[NAME_2]", "Tomasz", "Bea"),
    ),
    "order": (
        ("order_id", "order.number", "ticket", "case_no", "reference", "booking_ref", "OrderNumber", "claim id", "policy_number",
         "invoice no", "account_ref", "tracking_number", "job number"),
        ("48213", "A-20931", "771204", "R5512", "#90417", "GX7T2M", "1183-22", "60035", "[ID_1]", "**** 4402"),
    ),
    "date": (
        ("date", "due_date", "delivery.date", "day", "eta", "start date", "expiry", "appointment_date", "deadline", "NextBillDate"),
        ("Friday", "12 May", "tomorrow", "3 June", "the 14th", "next Tuesday", "08/12", "1 March", "Monday morning"),
    ),
    "time": (
        ("time", "slot", "window", "time_slot", "hour", "opening_time", "check_in_time", "eta_minutes"),
        ("9 am", "14:30", "8 to 12", "noon", "half past six", "17:45", "between 2 and 4 pm"),
    ),
    "amount": (
        ("amount", "refund_amount", "total", "price", "fee", "balance.due", "credit", "deposit", "monthly price", "Amount"),
        ("$20", "12.50 pounds", "$148", "30 euros", "$9.99", "75 dollars", "18 GBP", "£4.20"),
    ),
    "link": (
        ("link", "url", "tracking_url", "form link", "survey_link", "help.page", "reset_link", "portal"),
        ("example.com/help", "www.example.org/track", "the help page", "example.com/contact", "our website", "[link]"),
    ),
    "product": (
        ("product", "product_name", "item", "plan.name", "model", "service", "item_title", "room type", "Package"),
        ("kettle", "Silver plan", "winter coat", "family room", "fibre line", "desk lamp", "return ticket", "travel cover"),
    ),
    "place": (
        ("city", "store", "branch.address", "depot", "location", "pickup_point", "store name", "clinic", "airport"),
        ("Leeds", "our Main Street branch", "the north depot", "Dublin", "the station shop", "the Elm Road clinic"),
    ),
    "company": (
        ("company", "brand", "company_name", "our company", "shop.name", "team", "partner", "BRAND"),
        ("Northwind", "Blue Kite", "Acme Home", "Harbour Bank", "Partner Plus", "Volt and Son", "City Rail"),
    ),
    "days": (
        ("days", "n_days", "number_of_days", "period", "weeks", "X", "lead_time", "count"),
        ("3", "five", "10", "two", "14", "seven", "30"),
    ),
}  # fmt: skip
"""For each kind of slot: what templates call it, and values that fill it."""

SHAPES = (
    "{{@label}}", "{{ @label }}", "{@label}", "{@upper}", "${@label}", "$@snake", "%@upper%", "%@snake%", "%s", "%1$s", "{0}", "{1}",
    "<@label>", "<@upper>", "[@upper]", "[@label]", "[[@label]]", "((@label))", "*|@snakeup|*", "##@snakeup##", "#{@label}",
    "{!@label}", "&lt;@label&gt;", "<%= @snake %>", "__@snakeup__", "[insert @label]", "[INSERT @upper]", "(insert @label here)",
    "<add @label here>", "[@label goes here]", "{{@label|default}}", "<<@label>>", "[your @label]", "[enter @label]", "|@snake|",
    ":@snake:", "@@@snake", "{{data.@snake}}", "[FIELD: @label]", "<@label missing>", "XXXX", "____", "[ ]", "[...]", "{ }", "<>",
    "(@label)", "INSERT @upper", "@upper HERE", "[XXX]", "{{}}", "<@label/>", "[@snake|upper]", "%%@snake%%", "^@snake^", "{{@label",
)  # fmt: skip
VOIDS: dict[str, tuple[str, ...]] = {
    "name": ("null", "undefined", "None", "Customer Name", "Firstname Lastname", "NAME", "(null)", "[object Object]", "nil", "Valued Name Here"),
    "agent": ("null", "undefined", "Agent Name", "AGENT", "Your Name Here", "None", "agent_01_display", "(null)"),
    "order": ("null", "undefined", "#null", "000-000-XXX", "NaN", "None", "ORDERNO", "#XXXXX", "#000undefined", "[object Object]"),
    "date": ("Invalid Date", "DD/MM/YYYY", "undefined", "XX/XX", "null", "dd-mm", "None", "NaN/NaN/NaN", "0000-00-00", "DATE"),
    "time": ("undefined", "HH:MM", "XX:XX", "null", "NaN:NaN", "hh:mm to hh:mm", "TIME", "None"),
    "amount": ("$NaN", "NaN", "$XX.XX", "null", "$undefined", "XX pounds", "$0.00null", "$__", "AMOUNT", "£X"),
    "link": ("undefined", "http://null", "LINK HERE", "(link)", "www.yourlinkhere.com", "null", "URL", "https://{domain}/"),
    "product": ("undefined", "PRODUCT", "null", "Product Name", "None", "ITEM", "product_title_en"),
    "place": ("undefined", "CITY", "null", "Store Name", "None", "ADDRESS LINE 1", "BRANCH"),
    "company": ("undefined", "COMPANY", "null", "Company Name", "None", "Your Company Ltd", "BRAND"),
    "days": ("NaN", "X", "undefined", "null", "XX", "N", "None", "X-Y"),
}  # fmt: skip
"""What programs and drafts leave in a slot of each kind."""

GENERAL = (
    "(Hi|Hello|Hey) @name, one moment please.", "(Thanks|Thank you) for waiting, @name.", "I am looking into it, @name.", "Let me check that, @name.", "Happy to help, @name.", "No problem at all, @name.", "Thank you for your message, @name.",
    "Take your time, @name.", "Still with you, @name.", "Just a second, @name.", "Right away, @name.", "Good question, @name.", "Is there anything else, @name?", "Does that help, @name?", "Are you still there, @name?", "Apologies for the wait, @name.",
    "It was nice chatting with you, @name.", "@name, I am on it.", "@name, thanks for your patience.", "@name, I will be right back.", "@name, feel free to ask me anything.", "I appreciate that, @name.", "Dear @name, thank you for getting in touch.",
    "Hello and welcome, @name.", "Of course I can look into that, @name.", "I see what you mean, @name.", "All noted, @name.", "As you wish, @name.", "Let me know, @name.", "I hope that helps, @name.", "We value your feedback, @name.",
    "You are chatting with @agent.", "This is @agent, how can I help?", "@agent here, one moment please.", "My name is @agent and I will help you today.", "I am @agent from the support team.", "You have reached @agent.", "This is @agent again.",
    "@agent is reading your message now.", "@agent will be with you shortly.", "Your contact today is @agent.", "I am passing this to @agent.", "I have asked @agent to take a look.", "@agent and I are looking into it.", "If I am away, ask for @agent.", "You can always ask for @agent.",
    "Thanks for chatting with @agent today.", "Take care, @agent", "All the best, @agent", "With best wishes, @agent", "Speak soon, @agent", "Yours, @agent", "Thank you, @agent", "@agent (support team)", "Your @agent", "Signed, @agent",
    "Thank you for contacting @company.", "Thanks for reaching out to @company.", "Welcome to the @company chat.", "You are chatting with @company.", "@company is here to help.", "We at @company are glad to help.", "Thank you for your trust in @company.",
    "The @company team thanks you.", "Your @company team", "@company support, how can I help?", "@company thanks you for waiting.", "Hello from @company!", "At @company we read every message.", "Best wishes from @company.", "Have a nice day from all of us at @company.",
    "I have noted this under @order.", "This chat has the number @order.", "Your request has the number @order.", "I have opened a new case, @order.", "The number of this chat is @order.", "Keep @order in case you write again.", "If you write again, mention @order.", "For this chat the reference is @order.",
    "I saved our chat as @order.", "We log each chat, yours is @order.", "I have put my notes in @order.", "You can reply to this under @order.", "A new note was added to @order.", "The internal number is @order.", "This was logged as @order a second ago.",
    "You can read more at @link.", "There is a guide at @link.", "The steps are explained at @link.", "Here is the page: @link", "I have copied the page for you: @link", "Please have a look at @link.", "Rate this chat at @link.", "Tell us how we did: @link", "More help is at @link.",
    "Questions like that are answered at @link.", "You find us at @link, too.", "If the chat breaks off, go to @link.", "Our opening hours are at @link.", "Save this page: @link", "We would love your opinion at @link.", "You can write to us at @link as well.",
    "It takes up to @days minutes.", "Please allow @days minutes for that.", "Give me @days minutes.", "I need about @days minutes.", "The wait is about @days minutes.", "We answer within @days hours.", "This chat stays open for @days minutes.", "There are @days people ahead of you.", "I will be back in @days minutes.",
    "The chat closes after @days quiet minutes.", "We usually reply in @days minutes.", "It will be @days minutes at most.", "Someone will write to you within @days hours.", "I have @days short questions.", "This takes @days steps.",
    "Hello @name, my name is @agent and I will look after you.", "Hi @name, @agent from @company here.", "Dear @name, thank you for contacting @company.", "Thank you @name, I have saved this as @order.", "Hi @name, please give me @days minutes.",
    "Dear @name, you will find the steps at @link.", "Hello @name, your request is with @agent now.", "Thanks for chatting with @company, @name.", "@name, rate our chat at @link.", "Your request @order is with @agent.", "@agent at @company thanks you for waiting.",
    "We are here until @time.", "Our chat is open until @time today.", "I am on duty until @time.", "The chat opens at @time every day.", "My shift ends at @time.", "From @time on it gets busy here.", "We answer messages until @time.", "The quiet hours begin at @time.", "The helpline opens at @time.",
    "Our chat is closed on @date.", "We are back as usual on @date.", "New opening hours apply from @date.", "There is no chat on @date.", "The help page will be renewed on @date.", "I am away from @date, my colleagues are here.", "Our survey runs until @date.", "The helpline rests on @date.",
    "Chatting with us is free, a call is @amount.", "A call to the helpline costs @amount.", "A text to us costs @amount.", "Our survey gives you the chance to win @amount.", "Letters to us need a stamp of @amount.", "Calls from abroad cost @amount.",
    "Our office is in @place.", "Our team sits in @place.", "Greetings from @place!", "You are chatting with our team in @place.", "I am writing to you from @place.", "Our second office is in @place.", "It is a busy day here in @place.", "The head of our team sits in @place.",
    "Ask us about our @product, too.", "By the way, our @product is new.", "Have you heard of our @product?", "More about our @product is at @link.", "Our survey winners get a @product.", "You can rate the @product at @link.", "The news this month: our @product.",
    "Hello @name, @agent in @place here.", "Our chat is open from @time to @time.", "On @date we are here from @time.", "@company is closed on @date.", "@company has a new office in @place.",
)  # fmt: skip
"""Macros of no trade, which fit any chat."""

MACROS = (
    *GENERAL,
    "(Hi|Hello|Dear) @name,", "(Hi|Hello) @name, this is @agent from @company.", "Good morning @name, thanks for writing to @company.", "@name, thank you for your patience.",
    "Welcome to @company, @name!", "Hey @name! @agent here, happy to help.", "Nice to hear from you again, @name.", "Many thanks, @name.", "Sorry about that, @name.",
    "Of course, @name.", "I understand, @name.", "Bear with me, @name.", "I have opened case @order for you.", "We logged this as @order.", "Thank you for choosing @company.",
    "Kind regards, @agent", "Best, @agent", "@agent, @company", "Yours, @agent, Customer Care", "Cheers, @agent", "- @agent at @company",
    "Warm wishes from @agent and the @company team", "Thanks! @agent", "With regards, @agent, @place", "My name is @agent.", "I am @agent, your contact today.",
    "@agent will take over.", "I have passed it on to @agent.", "Your adviser is @agent.", "Take care, @name!", "Speak soon, @name.", "Have a good day, @name!",
    "Sure thing, @name, one moment.", "Read more at @link.", "See @link.", "Link: @link", "The wait is @days minutes.", "You are number @days in the queue.",
    "@company will never ask for that.", "Rate our chat at @link.",
)  # fmt: skip

NOTES: tuple[tuple[str, str], ...] = (
    ("<!-- refund macro v3 -->", "Here is how it works."), ("// remove this line before sending", "I will repeat that line."), ("[delete if not needed]", "Leave it out if you like."), ("## MACRO END ##", "That is the end of it."),
    ("{% if premium %} You get it free. {% endif %}", "With pleasure, I can do that."), ("[choose one: apology / no apology]", "You can choose either of the two."), ("(adapt tone to customer)", "I will adapt to what you need."), ("Template: late parcel, EN, approved", "Topic: your message of today."),
    ("Lorem ipsum dolor sit amet.", "We are looking into it."), ("[PASTE TRACKING HERE]", "I will write it here in a second."), ("Subject: RE: FW: canned reply 12", "Subject: your reply of today."), ("***agent: check the account before you send***", "I did check that for you."),
    ("Option A: refund. Option B: voucher. (pick before sending)", "Option A is to wait, option B to write."), ("Saved reply #14 - billing", "I saved your reply."), ("[Team: fill this in]", "My team will look into this."), ("TODO: add apology", "I will add that, sorry."),
    ("{{#if vip}}Dear member{{/if}}", "Dear member,"), ("[signature block]", "Your team"), ("NB for agents: do not promise a date.", "I cannot promise anything yet."), ("<br><br>Thank you&nbsp;for waiting", "Thank you for waiting."),
    ("end of snippet", "That is all I need."), ("Please see internal note 4.2 and copy the text from there", "Please see the note above."), ("Test message please ignore", "Please ignore the old message."), ("[only for customers in the EU, otherwise delete]", "This is only for your information."),
    ("Hola, gracias por escribirnos. [EN version below]", "Hello, thank you for writing to us."), ("Sehr geehrte Damen und Herren,", "Dear Sir or Madam,"), ("Bonjour, merci pour votre message.", "Good day, thank you for your message."), ("Mit freundlichen Grüßen, Ihr Team", "Kind regards, your team"),
    ("[translate to English]", "I can read it to you in English."), ("reply_generic_sorry_v2_final", "Sorry, here is my reply."), ("msg.greeting.default", "A warm hello to you."), ("error: template variable not found", "I have not found it yet."), ("%%GREETING%% %%BODY%%", "Hello, how are you?"),
    ("{greeting}! {body} {closing}", "Hello! All fine. One second!"), ("[AGENT TO COMPLETE]", "I will complete this."), ("[copy from CRM]", "I have a note of it."), ("<<< use macro 7 if angry >>>", "I am sorry for the wait."), ("Hi/Hello/Dear (choose)", "Hello and welcome."), ("he/she/they [pick]", "this, as I said"),
    ("[sorry to hear that / great to hear that]", "Good to hear that."), ("(s) if more than one item", "It is more than one step."), ("your item(s) has/have been shipped/cancelled", "Your messages have been read."), ("SAMPLE TEXT - DO NOT SEND", "I gave you an example."), ("Reply 3 of 5 in the retention flow", "This is the third of five points."),
    ("[link to policy - ask legal which one]", "The rules are on our page."), ("Body text goes here.", "It goes like this."), ("Enter message...", "I got your message."), ("-- inserted by QuickText --", "Here it is, quickly."), ("[[HOLD MUSIC]]", "Please hold on."), ("xx customer says thanks xx reply with bye", "Thanks a lot!"),
)  # fmt: skip
"""What is meant for the template's user, and a line of its length that is meant for the customer."""

BRACKETS = (
    "Hello [NAME_1], one moment please.", "Thank you, [NAME_1].", "Thank you for waiting, [NAME_2].", "My name is [NAME_1].", "You can write to [EMAIL_1].", "You can reach us at [PHONE_1].", "The page is [URL_1].", "I put it at [link].", "See [link] for more.",
    "Write to [email] any time.", "(One moment please.)", "(Sorry, wrong window.)", "[Edited: typing error]", "Just a second (the system is slow).", "That takes a while (ten minutes at most).", "*one moment", "*I meant now", "... still checking ...", "One moment --", "Checking >>",
    "Yes/no is enough.", "Today and/or later, as you like.", "Option (a) or (b), as you like.", "Point [1] first, then [2].", "Your note (the last one) is here.", "See above [last message].", "The name field can stay empty.", "Default is fine.", "None is fine.", "Null and void, that old note.", "N/A is fine, too.",
    "My status says {busy}, but I am here.", "The button says <Send>.", "Click <Next> when you are ready.", "Press [Enter] to send.", "Press [F5] if the chat stands still.", "Tick the box [x] below.", "I give it 10/10 for patience.", "It is 50/50, to be honest.", "The chat shows ### when it loads.", "Ignore the ---- line above.",
    "Date format is DD/MM here.", "Hours are shown as HH:MM.", "Dear customer, one moment please.", "Dear guest, thank you for waiting.", "First name basis is fine.", "The agent name is shown above.", "My colleague's name is None, believe it or not.",
    "Press [Enter] to go on.", "Your card ending **** 1234 is active.", "Please give the date as DD/MM/YYYY.", "The time must be typed as HH:MM.", "Click <Settings> and then <Privacy>.", "The address we have is [ADDRESS_1].", "Hello [NAME_1], thanks for waiting.",
    "I sent it to [EMAIL_1].", "We rang [PHONE_1] twice.", "I sent you the [link] a minute ago.", "Write to [email] or call [phone].", "The account of [name] is fine.", "The card is **** **** **** 4402.", "It ends in xx-4402.", "Size XXL is in stock.", "The T-shirt comes in XL, XXL and XXXL.",
    "None of these plans fits.", "The value null means that no date was set.", "In your sheet, NaN means the cell holds no number.", "The field shows undefined until you save it.", "Type your name in the field <name>.", "In the template, replace {name} with your own name.", "Your script needs ${HOME} to be set.",
    "Open %APPDATA% and delete the folder.", "The list starts at items[0].", "Use {} for an empty object in JSON.", "The call is print(name).", "The tag <br> makes a new line.", "Set the header to {{user}} in your own mail tool.", "Your regex [A-Z]+ is right.", "Section [3] of the terms says so.", "See note (a) below.",
    "It is 10% off, not %10.", "Use code SAVE_20 at the till.", "The file is called report_final.", "Flight BA XX is a code-share.", "Your plate reads XX12 ABC.", "Dial *#06# to see the IMEI.", "Your PIN block shows #### on screen.", "Fill in the blank line ____ on the paper form.", "Please sign at the X.", "Choose A / B / C on the form.",
    "Seats are (as of today) free.", "The total (incl. VAT) is 20 pounds.", "Our shop [Main Street] is open.", "The song is called [untitled].", "Your name on the card is Mr None.", "Null Street 4 is where we are.", "The Insert key is next to Home.", "Insert the card with the chip first.", "Insert the coin here.", "Please insert the SIM.",
    "The customer name on the bill is yours.", "The order number is on the box.", "Your tracking link is in the mail.", "Dear customer, we are closed today.", "Dear guest, welcome back.", "Dear all, the line is up again.", "The first name is what we print.", "Company name and address are on page 1.", "Your username goes in the first box.",
    "Give the amount in euros.", "@maria will reply to your post.", "Tag us with #support.", "It is version {2.1} in the log.", "The error code is <E-104>.", "He wrote [sic] in the note.", "Room 0 is the lobby.", "It costs $0.00 today.", "N/A on the form means not applicable.",
    "[smile]", "[thumbs up]", "Have a nice evening! [smile]", "Thank you for your patience. [sun]", "[wave] Good morning!", "It is done [party]", "[heart] Thanks for the kind words!", "No worries at all [wink]", "Happy to help (smiley)", "Good luck! [clover]",
    "Enjoy the film [popcorn] and have fun.", "We hope for dry weather, too. [umbrella]", "You made our day [laughing]", "Fingers crossed! [fingers crossed]", "[nods] That is right.", "[bow] We are grateful.", "All the best from us [rose]", "A cup of tea for you [tea]",
    "You can find it here: (link)", "The form is here (Link).", "See our page [link] for the times.", "Here is the map (picture).", "As shown below: [image]", "I attach it here. [attachment]", "The video shows how (video).", "Our page is o.oo/help.", "The short address is q.qq, that's all.",
    "Team Blue is at your service!", "Little Bee from the help desk is here for you.", "This is [Tom] from the desk.", "Reply 'YES' to go on.", "#SummerSale ends on Sunday.", "Thanks for the mention, @northline!", "You wrote to @harbour_rail, the right place.", "(Agent 12)", "[Anna, service team]", "-Ben", "^JK",
)  # fmt: skip
"""Brackets, masks, formats and words that are what they should be."""

SPEAKS_FOR_ITSELF = (
    "See @", "Link", "I have opened", "I saved our chat", "I have put my notes", "If you write again, mention", "Have you heard", "By the way, our", "Ask us about",
    "The news this", "Here is the page", "You find us at", "If the chat breaks", "We logged", "This was logged", "I have passed", "I am passing", "Greetings from",
)  # fmt: skip
"""Beginnings of macros too short or too loose for a value of another kind to be wrong in them."""
