"""Fixed expressions of English that a reader takes as one word, or leaves out.

By tag (see `tags`): P prepositions, Q quantifiers, R adverbs, C and S conjunctions, X
modals, - negators, "" what says nothing. Matching is by form or lemma, longest first.
"""

from __future__ import annotations

from totonoe_core.text.reading.english.closed import listed


def _same(expressions: str) -> dict[str, str]:
    """One `expression = key` a line; without `=` the expression is its own key."""
    found = {}
    for line in expressions.strip().splitlines():
        expression, _, key = line.partition("=")
        found[expression.strip()] = key.strip() or expression.strip()
    return found


def _nothing(expressions: str) -> dict[str, str]:
    return dict.fromkeys((line.strip() for line in expressions.strip().splitlines()), "")


EXPRESSIONS: dict[str, dict[str, str]] = {
    "": _nothing("""
        it should be noted that
        it is worth noting that
        please note that
        can not help but
        can n't help but
        could not help but
        note that
        it turns out that
        as you know
        as a matter of fact
        in fact
        of course
        you know
        i mean
        for your information
        for the record
        by the way
        the fact that
        in order
        do not forget
        do n't forget
        don't forget
        remember to
        make sure to
        make sure that
        be sure to
        do not hesitate to
        don't hesitate to
        feel free to
        go ahead and
        kind of
        sort of
        please
        yeah
        yes
        well ,
        um
        uh
        hey
        okay
        ok ,
        to each other
        to one another
        each other
        one another
        that is ,
        as well
        at all
        with each other
        in question
        as it happens
        in the end
        at the latest
        there is no doubt that
        there is no question that
        without a doubt
        without doubt
        no doubt
        no wonder that
        no wonder :
        no wonder
        the city of
        the town of
        the country of
        the village of
        the month of
        the sum of
        go and
        for some reason
        needless to say
        one way or another
        in practice
        in reality
        in other words
        to be honest
        to be exact
    """),
    "P": _same("""
        in close proximity to = near
        made out of = of
        topped with = with
        filled with = with
        equipped with = with
        decorated with = with
        adorned with = with
        full of = with
        by using = with
        made up of = of
        made of = of
        made from = of
        built of = of
        in proximity to = near
        on the top of = on
        to the side of = near
        alongside with = near
        in front of
        on top of = on
        next to = near
        close to = near
        near to = near
        adjacent to = near
        by the side of = near
        at the side of = near
        on the side of = near
        in the middle of = in
        inside of = in
        outside of = outside
        out of
        because of
        due to = because of
        owing to = because of
        on account of = because of
        thanks to = because of
        in spite of = despite
        instead of
        rather than = instead of
        in place of = instead of
        in favor of = for
        in favour of = for
        according to
        prior to = before
        ahead of = before
        subsequent to = after
        as well as = and
        along with = with
        together with = with
        with respect to = about
        in regard to = about
        with regard to = about
        in addition to = besides
        apart from = except
        aside from = except
        other than = except
        by means of = with
        such as
        up to
        as for = about
        as of
        in terms of
        no later than = by
        not later than = by
        by means of = with
        with the help of = with
        for the purpose of = for
        on behalf of = for
        in the course of = during
        over the course of = during
        in the event of = in case of
        in the absence of = without
        in the vicinity of = near
        in the direction of = toward
        in the area of = in
        on the basis of = based on
        with the exception of = except
        as a result of = because of
        at the beginning of = at the start of
    """),
    "Q": _same("""
        a lot of = many
        lots of = many
        plenty of = many
        a large number of = many
        a great deal of = many
        a number of = several
        a variety of = various
        one of
        a few = a few
        a bit of = a few
        at least
        at most
        more than = more than
        less than = less than
        fewer than = less than
        no more than = at most
        not more than = at most
        no less than = at least
        no fewer than = at least
        all of = all
        both of = both
        each of = all
        most of = most
        some of = some
        many of = many
        the majority of = most
        all the time = always
        at all times = always
        most of the time = usually
        from time to time = sometimes
        now and then = sometimes
        every time = always
        as a rule = usually
        nothing but = only
        no one but = only
        nobody but = only
        none but = only
        nobody except = only
        no one except = only
        nobody other than = only
        hardly ever = rarely
        almost never = rarely
        scarcely ever = rarely
        next to never = rarely
        almost always = usually
        nearly always = usually
        never fail to = always
        never fails to = always
        never failed to = always
        without exception = all
        the whole time = always
        around the clock = always
        day and night = always
        every single = all
        each and every = all
        once in a while = sometimes
        every now and then = sometimes
        at times = sometimes
        a handful of = a few
        a majority of = most
        the bulk of = most
        not less than = at least
        not fewer than = at least
        a minimum of = at least
        a maximum of = at most
        in excess of = more than
        no slower than = at least as fast as
    """),
    "2": _same("""
        a couple of
        a pair of
        couple of
    """),
    "R": _same("""
        close by = nearby
        right now = now
        at the moment = now
        at present = now
        these days = now
        as soon as possible = soon
        a bit = slightly
        a little bit = slightly
        for example
        for instance = for example
        in general = generally
        once again = again
        over and over = repeatedly
        at once = immediately
        right away = immediately
        straight away = immediately
        in advance = beforehand
        not only = also
        for the time being = temporarily
        day in day out = daily
        every day = daily
        each day = daily
        once a day = daily
        every week = weekly
        each week = weekly
        every hour = hourly
        each hour = hourly
        by hand = manually
        on its own = automatically
        by itself = automatically
        in detail = thoroughly
        in person = personally
        on time = punctually
        without delay = immediately
        without interruption = constantly
        all the way = completely
        in full = completely
        on purpose = deliberately
        by accident = accidentally
        by mistake = accidentally
        from now on = henceforth
        at home = home
    """),
    "C": _same("""
        as well as = and
        but also = and
    """),
    "S": _same("""
        as soon as
        as long as
        provided that = if
        provided = if
        in case
        even though = although
        even if
        so that = so that
        now that
        given that
        not until
        only after
        no sooner
        ever since
    """),
    "-": _same("""
        no longer = no longer
        not any more = no longer
        not anymore = no longer
        by no means = not
        has yet to = not
        have yet to = not
        yet to be = not
        yet to = not
        far from = not
        anything but = not
        in no way = not
        too far to = not
        not at all = not
        it is not true that = not
        it is not the case that = not
        it is false that = not
        it is not so that = not
        not a single = no
        not even one = no
        not one = no
        not any = no
        under no circumstances = never
        at no time = never
        not once = never
        not ever = never
    """),
    "A": _same("""
        made of = make
    """),
    "N": _same("""
        no one = nobody
        no problem = problem free
    """),
    "X": _same("""
        had better = should
        ought to = should
        used to = used
        have to = have to
        has to = have to
        have got to = have to
        need not = need not
        needn't = need not
        is going to = will
        are going to = will
        am going to = will
        is about to = will
        are about to = will
        would like to = want
    """),
}
del EXPRESSIONS["A"], EXPRESSIONS["N"]["no problem"]

LIGHT_VERBS = listed("take make give have do get put go come set turn look pick")
"""First words of expressions that are verbs ("take a look")."""
