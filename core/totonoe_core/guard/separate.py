"""Whether a memory says more in statements of their own, so that a text without them is no wider.

"Backups run nightly." is contained in "Backups run nightly. The restore is tested monthly.", and
nothing of it is restricted there. In "Deploys happen on Thursdays after the board has met" what is
left out is a condition. Nothing within a sentence is ever taken for a statement of its own.
"""

from __future__ import annotations

from totonoe_core.guard.sentences import sentences
from totonoe_core.text.normalize import canonical_form
from totonoe_core.text.reading.budget import ReadingBudget
from totonoe_core.text.reading.language import common_language
from totonoe_core.text.reading.model import FunctionKind, PieceType, Role
from totonoe_core.text.reading.read import READ_CHARS_MAX, read


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Words by which a sentence leans on the one before: it goes on with it, or takes something back.
_LEANING_EN = frozenset(
    _words(
        "it its this that these those they them their he she his her there then so such here and "
        "or but except unless only however if when although though otherwise instead also still "
        "yet exception exceptions excluding not no never until while which"
    )
)
_LEANING = {
    "ja": _words(
        "ただし 但し しかし だが でも なお また もし それ これ あれ その この あの ここ そこ 例外 "
        "除く さらに けれど ただ そして または"
    ),
    "zh": _words(
        "但 不过 不過 然而 除 只 仅 僅 如果 若 这 這 那 它 其 此 他 她 并 並 而 或 也 还 還 另 "
        "例外 否则 否則 因此 所以"
    ),
}


def is_separate(own: str, other: str, budget: ReadingBudget) -> bool:
    """Return whether all that only `other` says are statements of their own.

    Parameters
    ----------
    own, other : str
        A text, and a memory that has all its sentences.
    budget : ReadingBudget
        Pays for reading the other sentences; with too little left the answer is false.
    """
    language = common_language(own, other)
    known = {canonical_form(own[slice(*span)]) for span in sentences(own)}
    told = [other[slice(*span)].strip() for span in sentences(other)]
    left_out = [part for part in told if canonical_form(part) not in known]
    return bool(left_out) and all(_stands_alone(part, language, budget) for part in left_out)


def _stands_alone(sentence: str, language: str, budget: ReadingBudget) -> bool:
    """Return whether a sentence has content of its own, and neither leans nor restricts."""
    if len(sentence) > READ_CHARS_MAX or _leans(sentence, language) or not budget.read(sentence):
        return False
    reading = read(sentence, language)
    if not reading.certain or reading.asks:
        return False
    if any(piece.negated or piece.type is PieceType.QUANTIFIER for piece in reading.pieces):
        return False
    if any(word.kind is FunctionKind.CONJUNCTION for word in reading.function_words):
        return False
    worded = [piece for piece in reading.pieces if piece.type in (PieceType.WORD, PieceType.NAME)]
    return len(worded) > 1 and any(piece.role == Role.PREDICATE for piece in worded)


def _leans(sentence: str, language: str) -> bool:
    if language == "en":
        words = sentence.lower().replace("'", " ").split()
        return not words or words[0].strip('*_-:,;()"') in _LEANING_EN
    # A language without such a list is not judged.
    return language not in _LEANING or sentence.startswith(_LEANING[language])
