"""From verdicts to work: who has to look at what, by a policy that is data and a day's budget."""
