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
        ("example.com/help", "www.example.org/track", "the help page", "example.com/returns", "our website", "[link]"),
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

MACROS = (
    "(Hi|Hello|Dear) @name,", "(Hi|Hello) @name, this is @agent from @company.", "Good morning @name, thanks for writing to @company.", "@name, thank you for your patience.",
    "Dear @name, we are sorry about your @product.", "Thanks for calling @company, you are through to @agent.", "Welcome to @company, @name!", "Hey @name! @agent here, happy to help.",
    "Nice to hear from you again, @name.", "Many thanks, @name.", "Sorry about that, @name.", "Good news, @name: it is done.", "Of course, @name.", "I understand, @name.", "Bear with me, @name.",
    "Your claim @order is with our assessor.", "I have opened case @order for you.", "Your ticket @order was closed on @date.", "We logged this as @order.", "Please quote @order when you call.",
    "The job number is @order.", "Order @order left @place on @date.", "Your policy @order covers that.", "Invoice @order is due on @date.", "I found booking @order for @date.",
    "Return @order has arrived at @place.", "The meter with number @order was read on @date.", "Application @order is complete.", "I have linked @order to your profile.", "Your claim number is @order and your handler is @agent.",
    "Your parcel @order will be at @place by @date.", "It is @order, please keep it.", "Ref: @order.", "Ticket: @order", "Case @order / @date", "Order no. @order, @product",
    "The engineer comes on @date at @time.", "Your visit is on @date, @time.", "Please be there by @time.", "We open at @time on @date.", "The driver is @time away.", "Your table is booked for @time.", "Check-in starts at @time.",
    "The next bus from @place leaves at @time.", "Your flight to @place now leaves at @time.", "The appointment at @place is on @date.", "Your plan ends on @date.", "We will write again by @date.", "The offer stands until @date.",
    "It should be fixed by @time on @date.", "The outage in @place began at @time.", "Your prescription is ready on @date.", "The nurse will call you at @time.", "The hearing is on @date in @place.", "Your trial runs out on @date.",
    "I have paid back @amount.", "The fee is @amount.", "That makes @amount in all.", "Your balance is @amount.", "A credit of @amount is on your account.", "You will get @amount back by @date.", "The deposit of @amount is due on @date.",
    "We charged @amount on @date.", "The new price is @amount a month.", "Your refund of @amount went to your card.", "Shipping to @place costs @amount.", "The excess on this claim is @amount.", "The fare is @amount each way.",
    "Your bill of @amount was paid on @date.", "The penalty of @amount was dropped.", "You saved @amount with @product.", "The quote comes to @amount.", "An upgrade to @product is @amount.", "The @product costs @amount.",
    "You can track it at @link.", "Please use @link for the form.", "The steps are at @link.", "Reset it here: @link", "Rate our chat at @link.", "Sign the papers at @link by @date.", "Read more at @link.", "Pay online at @link.",
    "Book again at @link.", "The guide for your @product is at @link.", "Upload the photo at @link.", "Your ticket is at @link.", "See @link.", "Link: @link", "Go to @link and pick @product.",
    "Your @product is on its way.", "The @product is back in stock on @date.", "We are out of @product.", "Thanks for buying our @product.", "The @product was sent to @place.", "Your @product is under warranty until @date.", "I swapped it for @product.",
    "How is the @product working for you?", "Is the @product still faulty?", "Did the @product reach you?", "Would you like @product with it?", "Shall I send the @product to @place?", "Is @date good for you?", "Is @time on @date fine?",
    "Was the charge @amount?", "Is your order number @order?", "Am I speaking with @name?", "Do you mean the one in @place?", "Could you be at @place by @time?", "Is it about order @order?", "May I book @date for you?",
    "You can collect it at @place.", "Our shop in @place has it.", "The depot in @place is closed on @date.", "Please bring it to @place.", "The van is near @place now.", "We deliver to @place within @days days.", "Our team in @place will call.",
    "It takes @days days.", "Please allow @days working days.", "You have @days days to send it back.", "Within @days days you will hear from us.", "It has been @days days since then.", "The wait is @days minutes.", "We keep it for @days days.",
    "Refunds take up to @days days.", "Your code is good for @days hours.", "You are number @days in the queue.", "@days seats are left.", "Allow @days to @days days.", "It expires in @days days.", "Your points last @days months.",
    "@company will never ask for that.", "You are now a member of @company.", "Your contract with @company ends on @date.", "As a @company customer you pay less.", "@company and @company are one firm now.", "Thank you for choosing @company.", "The @company app shows it.",
    "We at @company are sorry.", "Your @company account is open.", "On behalf of @company, I am sorry.", "The refund comes from @company.", "@company closes on @date.",
    "Kind regards, @agent", "Best, @agent", "@agent, @company", "Yours, @agent, Customer Care", "Cheers, @agent", "- @agent at @company", "Warm wishes from @agent and the @company team", "Thanks! @agent", "With regards, @agent, @place",
    "My name is @agent.", "I am @agent, your contact today.", "@agent will take over.", "My colleague @agent will call you at @time.", "Ask for @agent at @place.", "I have passed it on to @agent.", "@agent from billing has the file.", "Your adviser is @agent.",
    "Dear @name, your order @order of @date is on its way.", "Hi @name, your refund of @amount was sent on @date.", "Hello @name, the visit on @date at @time is set.", "@name, your @product is ready at @place.", "Hi @name, see @link for order @order.",
    "Dear @name, the amount of @amount is due on @date. Pay at @link.", "Hi @name! Your booking @order for @date is confirmed.", "Hello @name, I am @agent and I have your case @order here.", "Thank you @name, we have @amount on file for @order.",
    "@name, we tried to deliver @order on @date.", "Your nurse is @agent, the clinic is @place.", "Passenger @name, flight on @date at @time.", "Room for @name from @date.", "Name: @name, order: @order.", "The account in the name of @name is active.",
    "We have you down as @name.", "The card was sent to @name at @place.", "The lease starts on @date and costs @amount.", "Rent for @place: @amount, due @date.", "Your seat is booked, @name.", "Take care, @name!", "Speak soon, @name.", "Have a good day, @name!",
    "Sure thing, @name, one moment.", "All done for @order.", "I see @order on my screen.", "Right, @order it is.", "Noted: @date, @time.", "Sorry, @product is sold out.", "Done, @amount is on its way.", "That was @date.", "It is @amount.", "At @time, yes.", "In @place.",
    "Should @date not suit you, write to us by @time.", "If @amount is wrong, please tell me.", "When @order arrives, check the seal.", "Once @product is back, we will mail you.", "Since @date the price is @amount.", "Before @date, please read @link.",
    "Because of works in @place the line is down until @time.", "As agreed, @agent will ring at @time.", "Until @date you can cancel for free.", "For @product the rate is @amount.", "With @product you get @days days free.", "On @date we moved to @place.",
)  # fmt: skip

NOTES: tuple[tuple[str, str], ...] = (
    ("<!-- refund macro v3 -->", "Here is how refunds work."), ("// remove this line before sending", "I will remove that line."), ("[delete if not needed]", "Delete it if you like."), ("## MACRO END ##", "That is the end of it."),
    ("{% if premium %} You get it free. {% endif %}", "With premium you get it free."), ("[choose one: apology / no apology]", "You can choose either of the two."), ("(adapt tone to customer)", "I will adapt the plan for you."), ("Template: late parcel, EN, approved", "Topic: the late parcel."),
    ("Lorem ipsum dolor sit amet.", "We are looking into it."), ("[PASTE TRACKING HERE]", "I will paste the tracking later."), ("Subject: RE: FW: canned reply 12", "Subject: your reply of today."), ("***agent: check the account before you send***", "I did check the account for you."),
    ("Option A: refund. Option B: voucher. (pick before sending)", "Option A is a refund, option B a voucher."), ("Saved reply #14 - billing", "I saved your reply on billing."), ("[Team: fill this in]", "My team will fill this in."), ("TODO: add apology", "I will add that, sorry."),
    ("{{#if vip}}Dear member{{/if}}", "Dear member,"), ("[signature block]", "Your team"), ("NB for agents: do not promise a date.", "I cannot promise a date yet."), ("<br><br>Thank you&nbsp;for waiting", "Thank you for waiting."),
    ("end of snippet", "That is all for now."), ("Please see internal note 4.2 and copy the text from there", "Please see point 4.2 of the terms."), ("Test message please ignore", "Please ignore the old message."), ("[only for customers in the EU, otherwise delete]", "This is only for customers in the EU."),
    ("Hola, gracias por escribirnos. [EN version below]", "Hello, thank you for writing to us."), ("Sehr geehrte Damen und Herren,", "Dear Sir or Madam,"), ("Bonjour, merci pour votre message.", "Good day, thank you for your message."), ("Mit freundlichen Grüßen, Ihr Team", "Kind regards, your team"),
    ("[translate to English]", "I can read it to you in English."), ("reply_generic_sorry_v2_final", "Sorry, here is my final reply."), ("msg.greeting.default", "A warm hello to you."), ("error: template variable not found", "I have not found that error."), ("%%GREETING%% %%BODY%%", "Hello, how are you?"),
    ("{greeting}! {body} {closing}", "Hello! All fine. Bye!"), ("[AGENT TO COMPLETE]", "I will complete this."), ("[copy from CRM]", "I have a copy of it."), ("<<< use macro 7 if angry >>>", "I am sorry that you are upset."), ("Hi/Hello/Dear (choose)", "Hello and welcome."), ("he/she/they [pick]", "they, as you said"),
    ("[sorry to hear that / great to hear that]", "Great to hear that."), ("(s) if more than one item", "It is more than one item."), ("your item(s) has/have been shipped/cancelled", "Your items have been shipped."), ("SAMPLE TEXT - DO NOT SEND", "I sent you the sample."), ("Reply 3 of 5 in the retention flow", "This is the third of five steps."),
    ("[link to policy - ask legal which one]", "The policy is on our page."), ("Body text goes here.", "It goes to your address."), ("Enter message...", "I got your message."), ("-- inserted by QuickText --", "Here it is, quickly."), ("[[HOLD MUSIC]]", "Please hold on."), ("xx customer says thanks xx reply with bye", "Thanks and bye!"),
)  # fmt: skip
"""What is meant for the template's user, and a line of its length that is meant for the customer."""

BRACKETS = (
    "Press [Enter] to go on.", "Your card ending **** 1234 is active.", "Please give the date as DD/MM/YYYY.", "The time must be typed as HH:MM.", "Click <Settings> and then <Privacy>.", "The address we have is [ADDRESS_1].", "Hello [NAME_1], thanks for waiting.",
    "I sent it to [EMAIL_1].", "We rang [PHONE_1] twice.", "I sent you the [link] a minute ago.", "Write to [email] or call [phone].", "The account of [name] is fine.", "The card is **** **** **** 4402.", "It ends in xx-4402.", "Size XXL is in stock.", "The T-shirt comes in XL, XXL and XXXL.",
    "None of these plans fits.", "The value null means that no date was set.", "In your sheet, NaN means the cell holds no number.", "The field shows undefined until you save it.", "Type your name in the field <name>.", "In the template, replace {name} with your own name.", "Your script needs ${HOME} to be set.",
    "Open %APPDATA% and delete the folder.", "The list starts at items[0].", "Use {} for an empty object in JSON.", "The call is print(name).", "The tag <br> makes a new line.", "Set the header to {{user}} in your own mail tool.", "Your regex [A-Z]+ is right.", "Section [3] of the terms says so.", "See note (a) below.",
    "It is 10% off, not %10.", "Use code SAVE_20 at the till.", "The file is called report_final.", "Flight BA XX is a code-share.", "Your plate reads XX12 ABC.", "Dial *#06# to see the IMEI.", "Your PIN block shows #### on screen.", "Fill in the blank line ____ on the paper form.", "Please sign at the X.", "Choose A / B / C on the form.",
    "Seats are (as of today) free.", "The total (incl. VAT) is 20 pounds.", "Our shop [Main Street] is open.", "The song is called [untitled].", "Your name on the card is Mr None.", "Null Street 4 is where we are.", "The Insert key is next to Home.", "Insert the card with the chip first.", "Insert the coin here.", "Please insert the SIM.",
    "The customer name on the bill is yours.", "The order number is on the box.", "Your tracking link is in the mail.", "Dear customer, we are closed today.", "Dear guest, welcome back.", "Dear all, the line is up again.", "The first name is what we print.", "Company name and address are on page 1.", "Your username goes in the first box.",
    "Give the amount in euros.", "@maria will reply to your post.", "Tag us with #support.", "It is version {2.1} in the log.", "The error code is <E-104>.", "He wrote [sic] in the note.", "Room 0 is the lobby.", "It costs $0.00 today.", "N/A on the form means not applicable.",
)  # fmt: skip
"""Brackets, masks, formats and words that are what they should be."""

SPEAKS_FOR_ITSELF = (
    "That was", "It is", "At @", "In @", "See @", "Noted", "Right,", "Ref", "Ticket", "Link", "Go to", "For @product", "With @product",
    "I swapped", "Is @", "Would you like", "Name:", "Case @", "I see @", "Done, @", "Until @", "Do you mean", "Shall I send", "You saved", "@days",
    "Order no", "You can collect", "I have passed", "My colleague", "Is it about", "May I book", "You can track", "Please be there",
)  # fmt: skip
"""Beginnings of macros too short or too loose for a value of another kind to be wrong in them."""
