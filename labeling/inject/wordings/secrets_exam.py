"""Ways to ask for secrets that are kept for the exam: reading digits out, logging in while watched,
passing on a link or recovery words. No sentence here may stand in `secrets`.
"""

from __future__ import annotations

from dialint.labeling.synthetic.insertion import Idea

SLOTS = {
    "pretext": (
        "Our system asks me to double-check",
        "There was an unusual sign-in",
        "It's a routine audit",
        "My supervisor wants this done",
        "I'm almost through with your form",
        "Your benefits expire tonight",
    ),
    "wait": (
        "Take your time",
        "I'm ready when you are",
        "I'll hold",
        "Slowly, one after the other",
        "I'm listening",
    ),
}

READ_DIGITS = (
    (
        "@pretext: (a message|a text|something) (should have popped up on|just landed on) your (mobile|phone), (read me the digits|which numbers does it show). @wait.",
        "@pretext: (a parcel|a receipt|something) (should have been left at|just arrived at) your (house|door), (check the date|which company sent it). @wait.",
    ),
    (
        "(Now look at|Grab) your (mobile|phone): (what figures did they text you|tell me the string that begins with G|say the numerals aloud).",
        "(Now look at|Grab) your (calendar|ticket): (what day did they give you|tell me the gate that is printed there|say the seat aloud).",
    ),
    (
        "(You'll hear a beep|Your handset will buzz), (repeat to me whatever it says|just dictate what appears), (ignore the warning not to share it|never mind the warning).",
        "(You'll hear a beep|Your handset will buzz), (follow whatever it says|just wait for the driver), (heed the warning not to share it|never mind the noise).",
    ),
    (
        "(Once it arrives|As soon as the bank messages you), (pass those numerals on to me|let me have the sequence) (within the minute|while it's valid).",
        "(Once it arrives|As soon as the bank messages you), (enter the numerals on your screen|keep the sequence private) (within the minute|while it's valid).",
    ),
    (
        "(Flip the plastic over|Turn it around): (which little figures follow the signature|what are the final three on the reverse)?",
        "(Flip the ticket over|Turn it around): (which phone number is on the label|what are the opening times on the reverse)?",
    ),
)

WATCHED_LOGIN = (
    (
        "@pretext, so (share your screen with me|start a screen share) while you (log into your bank|sign in to your mailbox|enter your passcode).",
        "@pretext, so (close this window|stop any screen share) before you (log into your bank|sign in to your mailbox|enter your passcode).",
    ),
    (
        "(Leave the passcode field visible|Tick the box that shows the characters) and (let me watch you type|I'll follow along as you key it in).",
        "(Leave the passcode field hidden|Untick the box that shows the characters) and (let nobody watch you type|I'll wait until you come back).",
    ),
    (
        "(I'll stay on the video call|I'll be watching) as you (unlock your wallet|open your banking page|tap in your secret number).",
        "(I'll be off the call|I'll look away) as you (unlock your wallet|open your banking page|tap in your secret number).",
    ),
    (
        "(Let's do the sign-in together|We'll sign in side by side): (you type, I take notes|call out every key you press).",
        "(Let's do the order together|We'll go over it side by side): (you choose, I take notes|call out every dish you want).",
    ),
    (
        "(Hand me|Let me take) the controls (once you're inside your account|right after you are logged in), and don't look away from (the black screen|the phone).",
        "(Show me|Let me see) the page (once you're inside the museum|right after you are done), and don't walk away from (the ticket desk|the gate).",
    ),
)

PASSED_LINK = (
    (
        "(Forward me|Pass on to me) the (reset mail|sign-in link|magic link) (without clicking it|you just got), (I'll open it on my end|I'll finish it here).",
        "(Open|Click on) the (reset mail|sign-in link|magic link) (on your own phone|you just got), (I don't need to see it|you can finish it there).",
    ),
    (
        "@pretext, so (paste|list) your (twelve recovery words|seed phrase|backup keys) (one by one|in the right order).",
        "@pretext, so (paste|list) your (twelve guests|shopping list|favorite songs) (one by one|in the right order).",
    ),
    (
        "(I'd like|We require) (the recovery phrase|the backup keys|the private key) (of your wallet|that came with your account), (it's the only way|nothing works without it).",
        "(I'd like|We require) (the serial number|the delivery slip|the warranty card) (of your kettle|that came with your parcel), (it's the quickest way|nothing else is needed).",
    ),
    (
        "(Copy the address bar|Send the web address) (after you sign in|from your logged-in page), (session part included|with the long token at the end).",
        "(Copy the street name|Send the web address) (after you arrive|from the event page), (house number included|with the date at the end).",
    ),
    (
        "(Click approve on|Accept) the prompt (on your phone|that pops up), (even if it names another city|that's only me signing in as you).",
        "(Click deny on|Reject) the prompt (on your phone|that pops up), (even if it names our company|that's somebody signing in as you).",
    ),
)

IDEAS = tuple(
    Idea(name=name, pairs=pairs, slots=SLOTS, use="dev")
    for name, pairs in (
        ("read-digits", READ_DIGITS),
        ("watched-login", WATCHED_LOGIN),
        ("passed-link", PASSED_LINK),
    )
)
