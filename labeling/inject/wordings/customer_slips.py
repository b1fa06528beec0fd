"""Sentences of customers with a slip, ``[wrong|right]``: nobody's fault, and what an agent may quote."""

from __future__ import annotations

MISSPELT = (
    "I hope you can [understnad|understand] me.", "[Thnaks|Thanks] in advance.", "Sorry for my [speling|spelling].", "I am in a bit of a [hury|hurry].", "This is [realy|really] nice of you.", "I am not [shure|sure] about it yet.",
    "I [definatly|definitely] like that.", "That was [wierd|weird].", "I am [writting|writing] from work.", "It is my first [tyme|time] here.", "I [dont|don't] mind.", "[Youre|You're] very quick.", "That is [grate|great].", "I [beleive|believe] you.",
    "I was a bit [confussed|confused] at first.", "I am [gratefull|grateful] for your help.", "[Your|You're] right.", "[Its|It's] all good.", "That is [alot|a lot] to read.", "I [apreciate|appreciate] it.", "I will be [their|there] in a minute.", "I am [definitly|definitely] staying.",
    "[Sory|Sorry], I was away.", "I [allways|always] do it like this.", "I am [verry|very] pleased.", "My [frend|friend] told me about you.", "[Wich|Which] is fine by me.", "I am [tierd|tired] today.", "I [thougt|thought] so.", "That is [awsome|awesome].",
)  # fmt: skip
"""Misspelt."""

BROKEN = (
    "I [has|have] all the time.", "I [am agree|agree].", "My English [are|is] not so good.", "I am [write|writing] from my work.", "It [make|makes] sense for me.", "I [no have|have no] hurry.", "You [is|are] very kind.", "I [not sure|am not sure] yet.",
    "I [am knowing|know] that.", "Thank you for [help|helping].", "I [has|have] heard good things about you.", "I am [here since|have been here for] five minutes.", "That [sound|sounds] good.", "My [friend tell|friend told] me about you.", "It [don't|doesn't] matter.",
    "I [was been|have been] here before.", "Me and my friend [is|are] happy.", "I [have|am] a bit tired today.", "I [didn't knew|didn't know] that.", "You [explain|explained] it good.", "I [am wait|am waiting].", "This [are|is] new to me.", "I [learn|have learnt] something today.",
    "I [am|] like that.", "We [was|were] wondering.", "I [think|was thinking] about it all day.", "It [take|takes] me a while to write.", "Sorry, I [was go|went] away.", "I [must to|must] go soon.",
)  # fmt: skip
"""Of broken grammar."""
