"""More ways of asking for secrets, by trade, register and length, each with a lawful twin of the same form.

Short templates of many kinds of sentence. Lawful: what a password is for, where to enter a code oneself,
the last four digits, a name, a date of birth, an order number, cards as goods.
"""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea
from dialint.labeling.synthetic.phrases import Grammar

SLOTS: Grammar = {
    "pls": ("please", "pls", "thanks", "", ""),
    "so": ("so I can go on", "so we can finish", "to proceed", "and I'll take it from there", "", ""),
}

TERSE = (
    ("CVV?", "Clear?"),
    ("Password?", "Progress?"),
    ("PIN @pls?", "Still there @pls?"),
    ("And the code from the text?", "And the name on the ticket?"),
    ("Security code on the back?", "Seat number on the ticket?"),
    ("Card number, all sixteen.", "Card type, last four."),
    ("OTP @pls.", "One sec @pls."),
    ("Login and password @pls.", "Login name only @pls."),
    ("Mother's maiden name?", "Your preferred language?"),
    ("Now the three digits.", "Now the last four."),
    ("Full number and expiry @pls.", "Full name and city @pls."),
    ("Code you just got?", "Code you just got: yours alone."),
    ("pin for the app pls", "name for the order pls"),
    ("pw?", "ok?"),
    ("your passcode then", "your turn then"),
    ("Next: the PIN.", "Next: one moment."),
    ("Old password first.", "First things first."),
    ("Secret word?", "Second try?"),
    ("SSN, all nine digits.", "Order number, all nine digits."),
    ("The numbers on the front and the back, please.", "The numbers on the front and the back stay private, please."),
    ("Voicemail PIN?", "Voicemail or text?"),
    ("Your code word?", "Your choice?"),
    ("Card digits and CVC now @pls.", "Card away now @pls."),
    ("login? and pass?", "ok? and clear?"),
    ("Both passwords, old and new.", "Both ways are fine, old and new."),
    ("I need ur pin n card no", "I need ur name n order no"),
    ("Say your password.", "Say when."),
    ("Expiry, CVV.", "Easy, thanks."),
    ("Recovery phrase?", "Recovery phrase: keep it."),
)  # fmt: skip

BANKING = (
    ("What four digits do you type at the cash machine?", "What four digits does your card end in?"),
    ("I'm unblocking the card now, which PIN did you use last?", "I'm unblocking the card now, which city did you use it in last?"),
    ("Read out the number on the front of your debit card, then the one on the back.", "Read out the name on the front of your debit card, then turn it over and sign it."),
    ("For the chargeback I need the complete card number together with the security code.", "For the chargeback I need the date of the payment together with the amount."),
    ("Which password opens your online banking?", "Which page opens your online banking?"),
    ("A TAN should be on your phone by now, would you pass it on to me?", "A TAN should be on your phone by now, would you type it into the form yourself?"),
    ("To cancel the transfer, tell me the TAN you just received.", "To cancel the transfer, tell me the date you sent it."),
    ("Our fraud team wants you to confirm your PIN with me.", "Our fraud team wants you to confirm two payments with me."),
    ("I can lift the limit as soon as you have told me your telephone banking password.", "I can lift the limit as soon as you have told me your date of birth."),
    ("We're moving your money to a safe account, give me the code that the bank texted.", "We're sending your statement to a new address, give me the town and the postcode."),
    ("Let me check your balance, what's your access PIN?", "Let me check your balance, what's your account number?"),
    ("Is the CVV 3 or 4 digits, and what is it?", "Is the payee one person or two, and who is it?"),
    ("Could you hold the card up and tell me every digit you see, back side too?", "Could you hold the card up and tell me whether the chip is scratched?"),
    ("I have your name and sort code, now only your banking password is missing.", "I have your name and sort code, now only your postcode is missing."),
    ("Say each character of your memorable word for me.", "Say each letter of your last name for me."),
    ("Please confirm the whole of your secret phrase, not just two letters.", "Please confirm the first line of your address, not the whole of it."),
    ("The signature code from your token, what does it show right now?", "The order status on your page, what does it show right now?"),
    ("We noticed a strange payment, to stop it I require your card's security number.", "We noticed a strange payment, to stop it I have frozen your card."),
    ("I'd like the expiry date, the number and the last three digits on the signature strip.", "I'd like the date, the amount and the last four digits of the card."),
)  # fmt: skip

MONEY_ONLINE = (
    ("Send the twelve words of your wallet and I'll restore it.", "Keep the twelve words of your wallet offline and I'll explain how to restore it."),
    ("Your seed phrase is required to release the coins, write it here.", "Your seed phrase is not required to release the coins, never write it here."),
    ("Paste the private key of the wallet so our engineers can look.", "Paste the transaction id of the payment so our engineers can look."),
    ("What is the recovery phrase, in the right order?", "What is the public address, the one you sent it to?"),
    ("In order to sync the wallet I need the 24 words you noted down.", "In order to sync the wallet you need the 24 words you noted down, for your eyes only."),
    ("Tell me your PayPal e-mail and the password that goes with it.", "Tell me your PayPal e-mail and the amount that you sent."),
    ("Which backup codes do you still have? Type two of them.", "Whatever backup codes you still have, keep them safe."),
    ("Export the key file and mail it to our support address.", "Export the error log and mail it to our support address."),
    ("The gift card has a scratch code, send me that and I activate it.", "The gift card has a scratch code, enter that at the checkout to activate it."),
    ("Give me the API secret, the public one isn't enough.", "Give me the order id, the short one isn't enough."),
    ("I can pay out your winnings once I have the card number and CVC2.", "I can pay out your winnings once I have your name and date of birth."),
    ("Please disable two-factor and give me the password meanwhile.", "Please keep two-factor on and give me a minute meanwhile."),
)  # fmt: skip

ACCOUNTS = (
    ("What's the password you signed up with?", "What's the e-mail you signed up with?"),
    ("Let me log in on your behalf, which password is it?", "Let me look at it on my side, which e-mail is it?"),
    ("I can't see your settings without your password, would you mind?", "I can't see your settings from here, would you mind a screenshot?"),
    ("Drop your login here and I'll reset the rest @so.", "Drop me a line here and I'll check the rest @so."),
    ("Is your password still the one with the year at the end? Type it again to be sure.", "Is your password an old one with the year at the end? Change it to be sure."),
    ("Tell me the old password, I'll set a new one for you.", "Tell me the new e-mail, I'll send a reset link to you."),
    ("To merge both profiles I want the passwords of both.", "To merge both profiles you log in to both yourself."),
    ("The reset link you got, copy it to me unopened.", "The reset link you got, open it on your own device."),
    ("What did you answer to \"first school\" when you registered?", "What did you choose under \"delivery\" when you registered?"),
    ("Would you let me have the code in that e-mail, the one that says do not share?", "Would you open the e-mail we sent, the one that says welcome?"),
    ("Google just sent you a prompt with a number, which is it?", "Google just sent you to a page with a map, do you see it?"),
    ("I need your admin password to install the update.", "You need your admin password to install the update, type it in yourself."),
    ("Please write down the Wi-Fi password and your e-mail password for our technician and send me a copy.", "Please write down the model and the serial number for our technician and send me a copy."),
    ("Share the master password of your vault, then I can see what is wrong.", "Share the version number of your vault app, then I can see what is wrong."),
    ("Your streaming password, what is it, our tool asks for it.", "Your streaming plan, what is it, basic or family?"),
    ("We support you best if we know your password.", "We support you best if we know your device."),
    ("I'm in your account page, it asks for your passphrase, what do I put?", "I'm on the help page, it is a bit slow, will you wait?"),
    ("Would it be okay if you spelled out your password letter by letter?", "Would it be okay if you waited a minute?"),
    ("Capital or small letters in your password? And the whole of it?", "Capital or small letters, both are needed in a password."),
    ("The password hint isn't enough, I'll want the password.", "The password isn't needed, I'll want a minute."),
)  # fmt: skip

CODES = (
    ("You'll see a number on your phone any second, tell me what it says.", "You'll see a driver on your map any second, tell me when he's there."),
    ("A text is on its way to you. Reply here with the digits in it.", "A text is on its way to you. Tap the link in it to see the status."),
    ("I triggered a code to your mobile, please relay it.", "I triggered nothing on your mobile, please ignore it."),
    ("Which six digits did the bank text to you?", "Which six digits are on your baggage tag?"),
    ("Ignore the warning in that message and forward me the code.", "Heed the warning in that message and tell nobody the code."),
    ("The code is only valid for a minute, so quickly, what is it?", "The offer is only valid for a day, so quickly, shall I book?"),
    ("Has the verification number come through? I'll type it in for you.", "Has the verification number come through? Type it in on your side."),
    ("Look at the text from us and copy the code over to this chat.", "Look at the text from us and copy the code into the app."),
    ("Let's do the two-step check together, you read, I type. What's the code?", "Let's do the two-step check together, I explain, you type. Open the app, then press next."),
    ("Your authenticator shows a number that changes, give me the current one.", "Your authenticator shows a number that changes, put the current one into the login page."),
    ("I'd be grateful for the activation code that just arrived on your handset.", "I'd be grateful for the tracking number that just arrived with your parcel."),
    ("May I trouble you for the one-time passcode?", "May I trouble you for the booking reference?"),
    ("Without the code from your phone my hands are tied, so what is it?", "Without the number of the order my hands are tied, so what is it?"),
    ("We call you in a second, a robot reads out a code, repeat it to me.", "Nobody from here calls you in a second, and a robot that wants a code is a fraud."),
    ("Send over the confirmation PIN from the SMS @so.", "Send over the confirmation number of the trip @so."),
    ("There is an e-mail with a security number in it, I'll need that number.", "There is an e-mail with a security notice in it, no reply needed."),
)  # fmt: skip

PAPERS = (
    ("E-mail me both sides of your ID card and your full social security number.", "E-mail me the form and your full postal address."),
    ("Please post a photo of your passport page in this chat.", "Please post a photo of the broken lid in this chat."),
    ("Your complete SSN, not only the last four.", "Your complete name, not only the last one."),
    ("For the refund I must have your social security number and a picture of your license, by chat.", "For the refund I must have your order number and a picture of the label, by chat."),
    ("What's your full social?", "What's your full address?"),
    ("Snap your driver's license and your bank card side by side and send it to me.", "Snap the two parcels side by side and send it to me."),
    ("I'll take your passport number, card number and the code on the back here.", "I'll take your flight number, seat number and the time of departure here."),
    ("Forward a scan of your tax card and the PIN letter from the office.", "Forward a copy of the invoice and the date of the letter from the office."),
    ("Hold your ID next to your face, take a selfie, and text it to my cell.", "Hold your ticket next to the scanner, wait for the beep, and go through."),
    ("Type your SSN and your mother's birth name, that will do as proof.", "Type your booking code and your last name, that will do as proof."),
    ("Just WhatsApp me your bank card, front and back.", "Just WhatsApp me your location, street and number."),
    ("A picture of the signature strip of your card, please.", "A picture of the serial number of your phone, please."),
)  # fmt: skip

TELECOMS = (
    ("To port your number, let me have the PIN of your old account.", "To port your number, let me have the name of your old provider."),
    ("What is the PUK and the PIN of the SIM?", "What is the model and the color of the phone?"),
    ("Your customer password with us, please, the one on the contract.", "Your customer number with us, please, the one on the contract."),
    ("I'm sending a code for the SIM swap, tell me when you have it and what it says.", "I'm sending a form for the SIM swap, tell me when you have it and sign it."),
    ("What unlock pattern or passcode does the phone have? The repair shop asks.", "What crack or scratch does the phone have? The repair shop asks."),
    ("Leave your Apple ID and its password with me and we take off the lock.", "Leave your phone and its box with us and we take a look."),
    ("Which PIN opens your voicemail? I'll reset it remotely.", "Which button opens your voicemail? I'll note it for the guide."),
    ("Tell me the router's admin password and your e-mail login.", "Tell me the router's model and your floor."),
    ("Please read the remote-support ID and the password beneath it.", "Please read the error code and the line beneath it."),
    ("Start the support tool, accept everything and give me its nine digits.", "Start the speed test, wait for it and give me its result."),
    ("I'd need control of your PC, which session code do you see?", "I'd need the name of your PC, which version do you see?"),
    ("The technician wants your door code and your alarm code, send both.", "The technician wants your street and your floor, send both."),
)  # fmt: skip

TRAVEL_SHOP = (
    ("To hold the room I take the card number, expiry and security code here in the chat.", "To hold the room you enter the card on our secure page, I only see the last four."),
    ("Rides are paid by card, so type the long number and the CVC for me.", "Rides are paid by card, so the driver will bring the reader to you."),
    ("Let me charge it by hand, dictate the card to me with the back code.", "Let me send a payment link, enter the card there yourself."),
    ("What's the password of your frequent flyer account? I'll book the award seat.", "What's the number of your frequent flyer account? I'll add the miles."),
    ("Your coffee card has a PIN under the foil, would you scratch it and tell me?", "Your coffee card has ten stamps on it, would you show it at the till?"),
    ("Our machine is down, text your card details with CVV to this number.", "Our machine is down, bring cash or pay by link to this number."),
    ("To put the points back I log in as you, so username and password, please.", "To put the points back I need the receipt, so date and store, please."),
    ("The hotel needs a copy of your credit card, both sides, by e-mail.", "The hotel needs your time of arrival, by e-mail."),
    ("For delivery to your locker I need the PIN you set for it.", "For delivery to your locker I need the number of it."),
    ("I'll do the check-in, give me your airline login.", "I'll do the check-in, give me your airline and flight."),
    ("Is your saved card still good? Repeat its number and code to me.", "Is your saved card still good? Have a look on your page."),
    ("The payment hangs, tell me the 3-D Secure code on your screen.", "The payment hangs, tell me the error message on your screen."),
    ("Read me your loyalty card and the PIN.", "Keep your loyalty card and the PIN apart."),
    ("That order is in your wife's name, so what is her password?", "That order is in your wife's name, so could she write to us herself?"),
)  # fmt: skip

HEALTH_STATE = (
    ("To see your lab results I require your patient portal password.", "To see your lab results you require your patient portal, log in there."),
    ("Your benefits login, user and password, and I'll file it today.", "Your benefits case, number and name, and I'll file it today."),
    ("Tell me your tax portal PIN so I can submit the return.", "Tell me your tax year so I can send the form."),
    ("Your full health insurance login is needed for the claim, go ahead and type it.", "Your full name and policy number is needed for the claim, go ahead and type it."),
    ("I have to sign for you, what is the e-signature password?", "You have to sign it yourself, what is a good day for you?"),
    ("Meter reading is done online, give me your access data and I enter it.", "Meter reading is done online, give me the figure and I enter it."),
    ("Please state the secret question and the secret answer you set with the agency.", "Please state the date and the place of the appointment with the agency."),
    ("Which digits does your ID app ask for? Send me those six.", "Which room does your letter ask for? Tell me the letter."),
    ("For the payroll change, your employee password is required.", "For the payroll change, your employee number is required."),
    ("So that I can pick up the prescription for you, what's the PIN of the health card?", "So that I can send the prescription for you, what's the name of the pharmacy?"),
    ("We verify members by the complete card number and its code.", "We verify members by the member number and date of birth."),
)  # fmt: skip

SOFT_TALK = (
    ("I know they say never to share it, but with me it's fine, so what's your PIN?", "I know they say never to share it, and they are right, so keep your PIN."),
    ("Between you and me, the quickest way is that you tell me your password.", "Between you and me, the quickest way is that you take the train."),
    ("Don't worry, I'm an employee, you can trust me with the code on the back.", "Don't worry, I'm an employee, I will never need the code on the back."),
    ("I'm not supposed to ask, yet your password would save us both an hour.", "I'm not supposed to ask for passwords, and I don't need it for this."),
    ("It's only for a moment and I delete it after: full card number and CVV, please.", "It's only for a moment and I'm back after: thank you for waiting, please hold."),
    ("This chat is encrypted, so feel free to put your card number and code here.", "This chat is stored, so please don't put your card number or code here."),
    ("My supervisor needs you to say your PIN for quality reasons.", "My supervisor needs you to know we record calls for quality reasons."),
    ("Would you be so kind as to entrust me with your access data?", "Would you be so kind as to tell me your arrival time?"),
    ("Every customer gives me the code, it's quite normal, so go ahead.", "Every customer gets a code, it's quite normal, so keep it to yourself."),
    ("You do want your money back, don't you? Then I need that password.", "You do want your money back, don't you? Then I need that receipt."),
    ("You told my colleague your PIN already, so tell me too.", "You told my colleague nothing secret, so no need to tell me either."),
    ("It would help my statistics if you logged in here in the chat with name and password.", "It would help my statistics if you rated us here in the app with one to five."),
    ("If you don't give me the code I must close your account.", "If you don't get the code I must send it again to your phone."),
    ("I could look up your password myself, but it's quicker if you say it.", "I could look up your order myself, but it's quicker if you say the number."),
    ("We're nearly there! Just your PIN and we're done.", "We're nearly there! Just your name and we're done."),
    ("I promise nobody else will see your password, so type it.", "I promise nobody else will see your address, so type it."),
    ("Since you can't get in, I'll get in for you. Name and password, please.", "If you can't get in, try the reset page. Set a new password there, please."),
    ("It's a formality, we ask everybody for the secret number of the card.", "It's a formality, we ask everybody for the postcode and the name."),
    ("For your own protection, tell me your current PIN and then pick a new one at the ATM.", "For your own protection, tell nobody your current PIN and then pick a new one at the ATM."),
    ("The computer won't take your date of birth, let's use your password instead.", "The computer won't take your booking code, let's use your date of birth instead."),
)  # fmt: skip

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS)
    for name, pairs in (
        ("terse", TERSE),
        ("accounts", (*ACCOUNTS, *CODES)),
        ("trades", (*BANKING, *MONEY_ONLINE, *PAPERS, *TELECOMS, *TRAVEL_SHOP, *HEALTH_STATE)),
        ("soft-talk", SOFT_TALK),
    )
)
