"""Closed classes of English: articles, pronouns, auxiliaries, quantifiers, and kinds of words
that the grammar treats in their own way.
"""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(words.split())


def table(groups: str) -> dict[str, str]:
    """`key: word word` lines as word -> key."""
    found = {}
    for line in groups.strip().splitlines():
        key, _, words = line.partition(":")
        found.update(dict.fromkeys(words.split(), key.strip()))
    return found


# Tags. Closed classes have one of these; open ones get N M V G D A R (see tags).
CLOSED = table("""
T: a an the this that these those
O: i me you he him she her it we us they them mine yours hers ours theirs myself yourself
O: himself herself itself ourselves yourselves themselves one
$: my your his its our their whose
X: am is are was were be been being have has had having do does did will would shall should
X: can could may might must cannot ought
-: not never nor neither no none nobody nothing nowhere without
C: and or but & plus
S: if unless because since when whenever while although though as until till once whereas
S: whether so before after than lest
W: who whom which what where why how that
P: in on at by for with from of to into onto about against between among amongst through
P: during above below under beneath over near beside besides behind across along around past
P: toward towards upon within outside inside off out up down per via despite except like
P: unlike underneath alongside throughout amid atop beyond versus vs regarding concerning
P: opposite
Q: all every each some any most many several few both either enough everything everyone
Q: everybody everywhere something someone somebody somewhere anything anyone anybody anywhere
Q: another much lots only just always usually often sometimes rarely seldom ever
""")
CLOSED["n't"] = "-"

PREPOSITIONS = table("""
in: in into inside
on: on onto upon atop
near: near beside alongside by_side
under: under beneath underneath below
over: over above
about: about regarding concerning
through: through throughout
toward: toward towards
among: among amongst amid
against: against versus vs
until: until till
""")

PREPOSITIONS_AS_WORDS = {
    "before": "after",
    "after": "before",
    "under": "over",
    "over": "under",
    "against": "for",
    "outside": "in",
    "behind": "in front of",
    "in front of": "behind",
    "off": "on",
    "up": "down",
    "down": "up",
    "out": "in",
    "out of": "in",
    "except": "with",
    "unlike": "like",
    "despite": "because of",
}
"""Prepositions that say something by themselves, with their contrary."""

PRONOUNS = table("""
i: i me my mine myself
you: you your yours yourself yourselves
he: he him his himself
she: she her hers herself
we: we us our ours ourselves
they: they them their theirs themselves
it: it its itself
""")
PERSONS = frozenset({"i", "you", "he", "she", "we", "they"})

QUANTIFIERS = table("""
all: all every each everything everyone everybody everywhere
some: some something someone somebody somewhere
any: any anything anyone anybody anywhere ever
most: most
many: many lots much numerous
several: several various
few: few
both: both
either: either
enough: enough
only: only just solely merely exclusively
always: always
usually: usually often frequently generally normally typically regularly
sometimes: sometimes occasionally
rarely: rarely seldom
almost: almost nearly
about: approximately roughly
exactly: exactly precisely
another: another
""")
"""Word to quantifier key. 'someone', 'everybody' also stand for a person (see PERSON_WORDS)."""
PERSON_WORDS = listed("everyone everybody someone somebody anyone anybody nobody none") - {"none"}
SOMEBODY = listed("someone somebody anyone anybody")
THING_WORDS = listed("everything something anything nothing")
PLACE_WORDS = listed("everywhere somewhere anywhere nowhere")

NEGATORS = listed("not n't never nor neither no none nobody nothing nowhere without")

BE = listed("am is are was were be been being")
HAVE = listed("have has had having")
DO = listed("do does did")
OPTIONAL = "optional"
"""Modality of what is no duty, where the denial stands before "have to": not that of "must not"."""
MODALS = {
    "can": "can",
    "could": "can",
    "cannot": "can",
    "may": "may",
    "might": "may",
    "must": "must",
    "have to": "must",
    "need not": OPTIONAL,
    "should": "should",
    "ought": "should",
    "shall": "",
    "will": "",
    "would": "would",
}
PAST_FORMS = listed("was were had did")
FUTURE_FORMS = frozenset({"will", "shall"})

# Verbs before another verb that say how it holds: lemma -> (modality, tense, negates)
CATENATIVES: dict[str, tuple[str, str, bool]] = {
    **dict.fromkeys(("want", "wish", "desire", "hope", "would like"), ("want", "", False)),
    **dict.fromkeys(("plan", "intend", "aim", "mean"), ("plan", "", False)),
    **dict.fromkeys(("try", "attempt", "seek", "strive", "struggle"), ("try", "", False)),
    **dict.fromkeys(("need", "have", "require", "oblige", "force", "got"), ("must", "", False)),
    **dict.fromkeys(("seem", "appear", "tend"), ("seem", "", False)),
    **dict.fromkeys(("able", "capable", "possible"), ("able", "", False)),
    "allow": ("allowed", "", False),
    "manage": ("", "", False),
    **dict.fromkeys(
        ("necessary", "require", "essential", "mandatory", "obligatory", "compulsory"),
        ("must", "", False),
    ),
    **dict.fromkeys(("advisable", "best"), ("should", "", False)),
    "impossible": ("able", "", True),
    **dict.fromkeys(("suppose", "recommend", "advise"), ("should", "", False)),
    **dict.fromkeys(("likely",), ("may", "", False)),
    "go": ("", "future", False),
    "about": ("", "future", False),
    "use": ("", "past", False),
    **dict.fromkeys(("fail", "neglect", "omit"), ("", "", True)),
    **dict.fromkeys(("refuse", "decline"), ("refuse", "", True)),
    "unable": ("able", "", True),
    "forget": ("forget", "", True),
}
GERUND_DENIERS = frozenset({"stop", "avoid", "quit", "cease", "refrain", "prevent", "discontinue"})
LIKE_HAVING = frozenset({"contain", "feature", "own", "possess"})
REPORTING = listed(
    "say tell report claim announce state think believe know see hear note explain add"
    " suggest argue hope expect confirm deny insist warn"
)

CREATURES = listed(
    "man woman person people child boy girl baby kid dog cat horse cow sheep bird elephant"
    " zebra giraffe bear player rider skier surfer biker cyclist team crowd animal puppy"
    " kitten rabbit monkey lion tiger duck goat pig panda camel deer wolf fox squirrel fish"
    " user agent server client bot robot worker developer engineer manager friend brother"
    " sister mother father son daughter wife husband couple student teacher doctor nurse"
    " officer police soldier skateboarder snowboarder process service thread job company"
    " customer adult lady guy human individual toddler infant athlete runner dancer"
)
"""What can do something by itself, so that "a dog running" may be the dog's."""
NUMBERED = listed(
    "commit port issue branch file flag node ticket release tag build job task line page room gate"
    " patch order flight train bus process thread block request stage step point test index link"
)
"""What is told apart by a number, and might else be read as an order."""
POINTING = listed("the this that these those")
"""Before a noun that means certain things, so that one is not many."""
PLURALS = listed("men women children people feet teeth mice geese")
TIME_NOUNS = listed(
    "morning afternoon evening night noon midnight midday day week month year weekend weekday"
    " bedtime lunchtime dinnertime dawn dusk spring summer autumn winter christmas easter"
    " nighttime daytime tonight sunrise sunset fortnight"
)
EITHER_OR = listed(
    "common usual available readable valid complete correct known possible used supported stable"
    " installed encrypted safe able legal official finished documented tested signed reachable"
)
"""What is so or is not, with nothing between: "not unavailable" is available."""
TITLES = listed("mr mrs ms miss dr prof professor sir madam lord lady")
