"""Words left out of token sets because they carry no fact.

Never a negation or a quantity (not, no, never, without, few, all, 不, 没, nicht, kein, ne, pas,
sin, non, не ...), and none of a pair of opposites (on/off, in/out, up/down, before/after): two
texts that differ only there must not look equal. That is why "with" and "on", which the
source's list drops, stay here. Nor a word of one language that names something in another
(German die, war, hat; French son, pour; Portuguese os, dos), nor a Latin letter but the English
a and i: x, y and e are names.
"""

from __future__ import annotations

_ENGLISH = (
    "a an the is are was were be been being am to of and for at by as it its this that these "
    "those i me my we our us you your he him his she her they them their have has had do does "
    "did which who whom what there here so than i'm i've it's that's"
)
_GERMAN = (
    "der das den dem des ein eine einen einem einer eines ist sind waren sein und zu "
    "zum zur von vom für als wie es er sie wir ihr ich du sich haben hatte wird werden auch"
)
_FRENCH = (
    "le la les un une des du de et est sont était à au aux ce cet cette ces il elle ils "
    "elles je tu nous vous se sa ses qui que a ont avait être avoir"
)
_SPANISH = (
    "el la los las un una unos unas de del es era ser para por que se su sus lo le les "
    "al ha han como esta estos estas"
)
_PORTUGUESE = (
    "as um uma uns umas de do da das é são era ser para por que se seu sua seus "
    "suas ao à foi como esta"
)
_ITALIAN = (
    "il lo la gli le un uno una di del della dei delle è sono era essere che suo sua "
    "al alla ha hanno questo questa"
)
_RUSSIAN = (
    "и а в во на с со к ко по из у о об от для это этот эта эти то что как я он она оно мы вы "
    "они его её их был была было были быть же ли"
)
# Single characters: they are tokens only where a run of the script has no other character.
_CHINESE = "的 了 在 是 给 和 与 从 到 也 就 对 又 所 而 且 但 或"
_JAPANESE = "は が を に へ と も の で や か ね よ だ"

# Names of the source's categories: two memories are not alike for being "a decision".
_CATEGORIES = (
    "preference constraint decision observation code config pattern architecture root_cause "
    "root cause tradeoff revert"
)

STOP_WORDS = frozenset(
    " ".join(
        (
            _ENGLISH,
            _GERMAN,
            _FRENCH,
            _SPANISH,
            _PORTUGUESE,
            _ITALIAN,
            _RUSSIAN,
            _CHINESE,
            _JAPANESE,
            _CATEGORIES,
        )
    ).split()
)

_DOCUMENT_002 = (
    "的 了 在 是 把 被 给 和 与 从 到 也 都 就 对 又 所 而 且 但 或 "
    "a an the is are was were be to of and in for on with "
    "preference constraint decision observation code config pattern "
    "architecture root_cause tradeoff revert"
)
STOP_WORDS_002 = frozenset(_DOCUMENT_002.split())
"""The list of docs/sources.md, 002, Layer 2, unchanged: the `robotmem` preset reproduces it."""
