"""Matters that a firm may come to speak of, how a customer raises each, and what may end any talk."""

from __future__ import annotations

ERRANDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    # what the customer says when he raises it; what the agent says about it
    (("I've also applied for a mortgage with you.", "There's my mortgage application too."), ("For the mortgage we still need two payslips.", "The mortgage adviser has looked at your salary.", "Which house is the mortgage for?")),
    (("My router keeps rebooting as well.", "And the router acts up."), ("Please hold the router's reset pin for ten seconds.", "Does the router show a green light?", "A new router firmware came out on Tuesday.")),
    (("My wisdom tooth hurts too.", "I also have toothache."), ("A wisdom tooth can be seen by our surgeon on short notice.", "Is the gum around the tooth swollen?", "Clove oil soothes a tooth for a while.")),
    (("I lost my library card, by the way.", "My library card is gone too."), ("A new library card is issued at the desk.", "How many library books are out on the lost card?", "The lost library card has been locked.")),
    (("My gym membership ends soon as well.", "I've been to your gym, too."), ("Your gym membership runs until spring.", "Would the sauna be part of the gym package?", "The gym's yoga classes moved upstairs.")),
    (("The washing machine leaks, too.", "We've a leaking washing machine on top of it."), ("The washing machine's hose should be checked for cracks.", "How old is the washing machine?", "Turn off the tap behind the washing machine.")),
    (("My tax return worries me also.", "Then there is my tax return."), ("The tax return has to be in by the end of July.", "Did you list your commute in the tax return?", "The tax office grants two more months.")),
    (("We have one of your babysitters as well.", "Our babysitter is new, too."), ("Our babysitters have all taken a first aid course.", "How old are the children the babysitter would mind?", "The babysitter charges by the hour.")),
    (("My passport runs out this year.", "I also have to renew the passport."), ("A passport takes three weeks to print.", "Do you have a recent passport photograph?", "The passport counter is on the ground floor.")),
    (("We're getting solar panels on the roof.", "I've been thinking of solar panels."), ("Solar panels pay off after nine years.", "Which way does the roof face?", "The solar installer will measure your roof.")),
    (("My violin lessons are to start, too.", "I signed up for violin lessons."), ("The violin teacher has a slot on Wednesday.", "Do you own a violin or should we lend you one?", "Violin lessons are held in the old mill.")),
    (("The car insurance went up also.", "My car insurance is with you as well."), ("Your car insurance class fell after the accident.", "How many miles does the insured car run a year?", "The car insurance covers glass damage.")),
    (("My old laptop is up for trade-in.", "There's an old laptop I might trade in."), ("A trade-in laptop is wiped by our workshop.", "Does the laptop's battery still hold?", "For a laptop of that age we give a voucher.")),
    (("My cat needs her shots.", "I've got to get the cat vaccinated too."), ("The cat's vaccination is due every three years.", "Is the cat an indoor cat?", "Please bring the cat in a closed basket.")),
    (("The boiler makes noise as well.", "And our boiler is knocking."), ("A knocking boiler often has air in the pipes.", "What pressure does the boiler show?", "The boiler's yearly service costs ninety.")),
    (("I've started with contact lenses also.", "My contact lenses are with you, too."), ("Contact lenses have been ordered with your new prescription.", "Do your eyes get dry with the lenses?", "The lenses should be changed monthly.")),
    (("My parking fine isn't settled.", "I got a parking fine as well."), ("The parking fine can be appealed within a fortnight.", "Was there a sign where you got the fine?", "A parking fine doubles after a month.")),
    (("My son starts kindergarten too.", "My son's kindergarten place is open."), ("The kindergarten has a forest group.", "From which month would your son attend?", "The kindergarten's waiting list is short.")),
    (("My pension letter confuses me.", "There was also a letter on my pension."), ("Your pension statement counts only the years paid in.", "At what age do you plan to draw the pension?", "The pension is adjusted every July.")),
    (("I'm learning to scuba dive.", "There's the diving course, too."), ("The diving course needs a doctor's certificate.", "Can you swim two hundred metres?", "Wetsuits for the diving course are on loan.")),
    (("I have a garden to replant.", "Then the hedge in my garden."), ("A beech hedge is best planted in autumn.", "Is the soil in the garden sandy?", "The gardener trims hedges after nesting time.")),
    (("We're planning a wedding also.", "There's our wedding cake, too."), ("The wedding cake has three tiers.", "Shall the cake have marzipan or fondant?", "The confectioner needs the wedding cake order by May.")),
    (("My hearing aid whistles.", "I also have trouble with the hearing aid."), ("A whistling hearing aid mostly sits too loose.", "When was the hearing aid last cleaned?", "Batteries for hearing aids come in a pack of six.")),
    (("I donate blood now and then.", "I gave blood last week, too."), ("After giving blood you wait eight weeks.", "Have you had a tattoo lately, before giving blood?", "Blood donors get a sandwich afterwards.")),
    (("My roof box doesn't fit.", "I rented a roof box too."), ("The roof box needs square bars.", "What rails does the roof have for the box?", "A roof box holds fifty kilos.")),
    (("My photo book is not finished.", "I'm designing a photo book as well."), ("The photo book prints best with matte pages.", "How many pictures are in your photo book?", "Photo books leave our lab within a week.")),
    (("There's a wasp nest at home.", "We've wasps under the roof as well."), ("Wasp nests may only be moved by a specialist.", "How high up does the wasp nest hang?", "Wasps leave their nest in October.")),
    (("The piano tuner is coming soon.", "The piano is out of tune too."), ("The piano tuner needs about two hours.", "Is it an upright piano or a grand?", "A piano should stand away from the heating.")),
    (("My thesis must be printed.", "My thesis is being bound, too."), ("The thesis can be bound in linen or leather.", "How many pages does your thesis have?", "Thesis printing takes one night.")),
    (("We breed chickens, too.", "My chickens don't lay."), ("Chickens lay less when the days get short.", "What feed do the chickens get?", "A henhouse for six chickens is on offer.")),
    (("I've got a chess coach now.", "My daughter plays chess, too."), ("The chess coach has played in the second league.", "What rating does your daughter have in chess?", "Chess club is on Thursdays at the school.")),
    (("I have a marathon in spring.", "I'm signed up for the marathon."), ("Marathon numbers are handed out on the eve.", "What finishing time did you run in your last marathon?", "The marathon route is flat until mile twenty.")),
)  # fmt: skip

LINK = ("", "", "", "", "Now, ", "Also, ", "Okay, ", "Then, ", "Right, ", "And now, ", "Well, ", "So, ")

HEARD = (
    "Okay.", "I see.", "Alright.", "Good to know.", "Mhm.", "Okay, got it.", "Right.", "Understood.", "Ah okay.", "Hm, fine.", "That's fine.", "Sounds good.",
)  # fmt: skip
"""What a customer says who takes note of something."""

AT_THE_END = (
    "Before you go, would you like to hear about our members' card?", "May I mention that we also rent out bikes?", "Since all is done, may I tell you of our spring deal?",
    "If you have a minute left, how did you find our service?", "How would you rate this chat, from one to five?", "One last thing, you'll be asked for feedback by mail.",
    "Now that this is settled, would an extended warranty be of interest?", "By the way, members get ten percent off next time.", "Would you like me to add you to our mailing list?",
    "A quick poll follows this chat, thanks for taking part.", "Could I interest you in an upgrade while you're here?", "Did I solve everything for you today?",
    "If you were happy with me, a short review would mean a lot.", "There's a little thank-you voucher in your account.", "Would you recommend us to a friend?",
    "Shall I send you a summary of our chat by mail?", "Our winter catalogue is out too, if you'd like to browse.", "May we contact you again about your experience?",
    "We also have an app, should you wish to manage this yourself next time.", "Please rate me with the stars below.", "As everything is arranged, may I point you to our partner offers?",
)  # fmt: skip
"""Lawful offers and questions once the matter is settled."""
