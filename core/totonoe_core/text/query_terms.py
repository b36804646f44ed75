"""Terms of a query with their weights: the words that ask, and light verbs, weigh little.

"Where does Tomás live?" is about Tomás and living. Its "where" is rare in statements, so that by
its frequency it would weigh most, and bring a statement that happens to hold it.
"""

from __future__ import annotations

import re

from totonoe_core.text.tokens import search_terms

LIGHT_WEIGHT = 0.2
"""Weight of a term that stems from light words alone; of all others 1. Measured (docs/quality.md).
"""

_ASKING_WORDS_MAX = 4
"""A question word asks within so many words from the beginning of a clause; further on ("what he
does when he is tired") it joins clauses."""


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# The languages of `stopwords`; what stands there is no term anyway. No word that names something in
# another of them (French font, Italian fare, Spanish van).
_ASKING = _words(
    "whose where when why how",
    "wer wen wem wessen wo wohin woher wann warum wieso weshalb welcher welche welches welchen",
    "quoi quel quelle quels quelles où quand comment pourquoi combien lequel laquelle",
    "qué quién quiénes cuál cuáles dónde adónde cuándo cómo cuánto cuánta cuántos cuántas",
    "quem qual quais onde aonde quando quanto quanta quantos quantas",
    "chi cosa quale quali dove perché quanti quante",
    "кто кого кому кем чего чему чем где куда откуда когда почему зачем сколько какой какая какое",
    "какие каких какую чей чья чьё чьи",
)
_LIGHT_VERBS = _words(
    "doing done having go goes going come comes coming get gets getting make makes making",
    "macht machen gibt geben geht gehen kommt kommen",
    "fait faire aller vont prend prendre donne donner",
    "hace hacer hacen tiene tener tienen",
    "faz fazer fazem têm vai",
    "fanno avere andare",
    "делает делать делают имеет иметь идёт идти",
)
# As they stand in a run without spaces.
_ASKING_IN_RUNS = re.compile(
    "什么|怎么|多少|哪|谁|どこ|どれ|どの|どんな|どう|どちら|どなた|なぜ|いつ|いくつ|いくら|だれ|何|誰"
)
_WORD_OR_STOP = re.compile(r"[^\W_]+(?:['’]\w+)?|[.!?;:,¿¡]")


def query_terms(text: str) -> dict[str, float]:
    """Return the distinct terms of a query for the lexical arm, with their weights.

    The terms are those of `search_terms`. A term that a weighty word of the query has too keeps
    the weight 1.
    """
    terms = dict.fromkeys(search_terms(text), 1.0)
    rest = _without_light(text)
    if rest != text:
        weighty = frozenset(search_terms(rest))
        terms = {term: 1.0 if term in weighty else LIGHT_WEIGHT for term in terms}
    return terms


def _without_light(text: str) -> str:
    """Return a text with spaces in place of the words that weigh little."""
    text = _ASKING_IN_RUNS.sub(" ", text)
    kept, end, count = [], 0, 0
    for found in _WORD_OR_STOP.finditer(text):
        word = found.group().lower()
        if not word[0].isalnum():
            count = 0
            continue
        count += 1
        # "what's", "where's"
        word = word.replace("’", "'").partition("'")[0]
        if word in _LIGHT_VERBS or (count <= _ASKING_WORDS_MAX and word in _ASKING):
            kept.append(text[end : found.start()])
            end = found.end()
    return " ".join((*kept, text[end:]))
