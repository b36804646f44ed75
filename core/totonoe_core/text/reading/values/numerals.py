"""Numbers written in figures or in words, as exact fractions.

text2num, cn2an and kanjize were looked at: none gives offsets into a sentence, each reads some of the
languages only (in 3, 13 and 4 µs a number), and they differ in what they take for a number.
"""

# Tables of words; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

F = Fraction

FRACTION_SIGNS = {
    "½": F(1, 2), "¼": F(1, 4), "¾": F(3, 4), "⅓": F(1, 3), "⅔": F(2, 3), "⅛": F(1, 8),
    "⅜": F(3, 8), "⅝": F(5, 8), "⅞": F(7, 8), "⅕": F(1, 5), "⅖": F(2, 5), "⅗": F(3, 5),
    "⅘": F(4, 5), "⅙": F(1, 6), "⅚": F(5, 6),
}  # fmt: skip

# Superscript after a figure (10² is neither 10 nor 102), or an exponent (1e-3).
_POWER = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]{1,2}(?![⁰¹²³⁴-⁹])")
_PLAIN_DIGITS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,2})(?![\w.])", re.ASCII)
_EXPONENT_MAX = 40

_POINT = re.compile(
    r"(?P<whole>\d{1,3}(?:(?P<sep>[,  '’])\d{3})(?:(?P=sep)\d{3}){0,10}(?!\d)|\d{1,40})"
    r"(?:\.(?P<part>\d{1,40})(?!\d))?",
    re.ASCII,
)
_COMMA = re.compile(
    r"(?P<whole>\d{1,3}(?:(?P<sep>[.   '’])\d{3})(?:(?P=sep)\d{3}){0,10}(?!\d)|\d{1,40})"
    r"(?:,(?P<part>\d{1,40})(?!\d)|\.(?P<point>\d{1,2}|\d{4,40})(?![\d.]))?",
    re.ASCII,
)
COMMA_LANGUAGES = frozenset(("de", "fr", "es", "pt", "it", "ru"))


def figures_at(text: str, at: int, language: str) -> tuple[Fraction, int, str] | None:
    """Number in figures at a place: value, end, and its surface after the separators went.

    Thousands are separated by a comma (by point, space or apostrophe in languages with a decimal
    comma), in groups of three only: "24,25" is no 2425.
    """
    match = (_COMMA if language in COMMA_LANGUAGES else _POINT).match(text, at)
    if match is None:
        return None
    groups = match.groupdict()
    whole = groups["whole"]
    if groups["sep"]:
        whole = whole.replace(groups["sep"], "")
    part = groups["part"] or groups.get("point")
    surface = f"{whole}.{part}" if part else whole
    return _raised(text, F(surface), match.end(), surface)


def _raised(text: str, value: Fraction, end: int, surface: str) -> tuple[Fraction, int, str]:
    """The number with the power or exponent behind it."""
    if (match := _POWER.match(text, end)) is not None:
        power = int(match.group().translate(_PLAIN_DIGITS))
        if value and abs(power) <= _EXPONENT_MAX:
            value = value**power
            return value, match.end(), str(value)
    elif (match := _EXPONENT.match(text, end)) is not None:
        power = int(match[1])
        if abs(power) <= _EXPONENT_MAX:
            value = value * F(10) ** power
            return value, match.end(), str(value)
    return value, end, surface


# --- Words of spaced languages -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NumberWords:
    """Number words of one language, lower case.

    `values` holds what is added (up to 999), `scales` what multiplies, `ordinals` what ends a
    number as an ordinal, `parts` the names of fractions, `joins` the words between parts.
    """

    values: dict[str, int]
    scales: dict[str, int]
    ordinals: dict[str, int]
    parts: dict[str, Fraction]
    joins: frozenset[str]
    one_is_article: frozenset[str] = frozenset()
    """Words for one that are articles or pronouns: no number when they stand alone."""


def pairs(text: str) -> dict[str, int]:
    """{"a": 1, "b": 1, "c": 2} of "a/b=1 c=2"."""
    found = {}
    for pair in text.split():
        words, _, number = pair.partition("=")
        for word in words.split("/"):
            found[word] = int(number)
    return found


def _counted(words: str, first: int = 0, step: int = 1) -> dict[str, int]:
    return {word: first + step * at for at, word in enumerate(words.split())}


_EN = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
) | _counted("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
_EN_ORDINALS = _counted(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
    1,
) | _counted(
    "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth",
    20,
    10,
)
_DE = _counted(
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn"
) | _counted("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)
_DE |= {"zwo": 2, "dreissig": 30} | {
    f"{'ein' if one == 1 else unit}und{tens}": ten + one
    for tens, ten in list(_DE.items())
    if ten >= 20
    for unit, one in list(_DE.items())
    if 1 <= one <= 9
}
_DE |= {f"{word}hundert": 100 * n for word, n in list(_DE.items()) if 2 <= n <= 9}
_DE_ORDINALS = {
    stem + ending: n
    for stem, n in pairs(
        "erst=1 zweit=2 dritt=3 viert=4 fünft=5 sechst=6 siebt=7 acht=8 neunt=9 zehnt=10"
    ).items()
    for ending in ("e", "er", "es", "en", "em")
}
_IT = _counted(
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
    "quindici sedici diciassette diciotto diciannove"
)
for _tens, _ten in _counted(
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta", 20, 10
).items():
    _IT[_tens] = _ten
    for _unit, _one in list(_IT.items())[1:10]:
        _IT[(_tens[:-1] if _one in (1, 8) else _tens) + _unit] = _ten + _one
    _IT[_tens + "tré"] = _ten + 3
_IT |= {"cento": 100} | {f"{word}cento": 100 * n for word, n in list(_IT.items()) if 2 <= n <= 9}

WORDS = {
    "en": NumberWords(
        _EN,
        {
            "hundred": 100, "hundreds": 100, "thousand": 1000, "million": 10**6,
            "billion": 10**9, "trillion": 10**12, "dozen": 12,
        },
        _EN_ORDINALS,
        {"half": F(1, 2), "halves": F(1, 2), "quarters": F(1, 4), "quarter": F(1, 4)}
        | {word + "s": F(1, n) for word, n in _EN_ORDINALS.items() if n > 2}
        | {word: F(1, n) for word, n in _EN_ORDINALS.items() if n > 2},
        frozenset(("and",)),
        frozenset(("one",)),
    ),
    "de": NumberWords(
        _DE,
        {"hundert": 100, "tausend": 1000, "million": 10**6, "millionen": 10**6, "mio": 10**6,
         "milliarde": 10**9, "milliarden": 10**9, "mrd": 10**9, "dutzend": 12},
        _DE_ORDINALS,
        {"drittel": F(1, 3), "viertel": F(1, 4), "fünftel": F(1, 5), "zehntel": F(1, 10)},
        frozenset(("und",)),
    ),
    "fr": NumberWords(
        _counted(
            "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
            "quinze seize"
        ) | {"une": 1, "vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60,
             "septante": 70, "nonante": 90, "octante": 80, "vingts": 20},
        {"cent": 100, "cents": 100, "mille": 1000, "million": 10**6, "millions": 10**6,
         "milliard": 10**9, "milliards": 10**9, "douzaine": 12},
        pairs("premier/première=1 deuxième=2 troisième=3 quatrième=4 cinquième=5 sixième=6 "
              "septième=7 huitième=8 neuvième=9 dixième=10"),
        {"demi": F(1, 2), "demie": F(1, 2), "moitié": F(1, 2), "tiers": F(1, 3)},
        frozenset(("et",)),
        frozenset(("un", "une")),
    ),
    "es": NumberWords(
        _counted(
            "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce "
            "quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós "
            "veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
        ) | _counted("treinta cuarenta cincuenta sesenta setenta ochenta noventa cien", 30, 10)
        | pairs("un/una=1 ciento=100 doscientos/doscientas=200 trescientos/trescientas=300 "
                "cuatrocientos=400 quinientos/quinientas=500 seiscientos=600 setecientos=700 "
                "ochocientos=800 novecientos=900"),
        {"mil": 1000, "millón": 10**6, "millones": 10**6, "docena": 12},
        pairs("primero/primera/primer=1 segundo/segunda=2 tercero/tercera/tercer=3 cuarto/cuarta=4 "
              "quinto/quinta=5 sexto/sexta=6 séptimo/séptima=7 octavo/octava=8 noveno/novena=9 "
              "décimo/décima=10"),
        {"medio": F(1, 2), "media": F(1, 2), "mitad": F(1, 2), "tercios": F(1, 3)},
        frozenset(("y",)),
        frozenset(("un", "una", "uno")),
    ),
    "pt": NumberWords(
        _counted(
            "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze "
            "dezesseis dezessete dezoito dezenove"
        ) | _counted("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem", 20, 10)
        | pairs("uma=1 duas=2 dezasseis=16 dezassete=17 dezanove=19 cento=100 duzentos/duzentas=200 "
                "trezentos/trezentas=300 quatrocentos=400 quinhentos=500 seiscentos=600 "
                "setecentos=700 oitocentos=800 novecentos=900"),
        {"mil": 1000, "milhão": 10**6, "milhões": 10**6, "dúzia": 12},
        pairs("primeiro/primeira=1 segundo/segunda=2 terceiro/terceira=3 quarto/quarta=4 "
              "quinto/quinta=5 sexto/sexta=6 sétimo/sétima=7 oitavo/oitava=8 nono/nona=9 "
              "décimo/décima=10"),
        {"meio": F(1, 2), "meia": F(1, 2), "metade": F(1, 2), "terços": F(1, 3)},
        frozenset(("e",)),
        frozenset(("um", "uma")),
    ),
    "it": NumberWords(
        _IT,
        {"mille": 1000, "mila": 1000, "milione": 10**6, "milioni": 10**6, "miliardo": 10**9,
         "miliardi": 10**9, "dozzina": 12},
        pairs("primo/prima=1 secondo/seconda=2 terzo/terza=3 quarto/quarta=4 quinto/quinta=5 "
              "sesto/sesta=6 settimo/settima=7 ottavo/ottava=8 nono/nona=9 decimo/decima=10"),
        {"mezzo": F(1, 2), "mezza": F(1, 2), "metà": F(1, 2), "terzi": F(1, 3)},
        frozenset(("e",)),
        frozenset(("uno",)),
    ),
    "ru": NumberWords(
        _counted(
            "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать "
            "тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
        ) | _counted(
            "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто сто",
            20, 10,
        ) | pairs("одна/одно=1 две/двух=2 трёх/трех/трое=3 двое=2 четырёх/четырех=4 пяти=5 шести=6 "
                  "семи=7 восьми=8 девяти=9 десяти=10 двести=200 триста=300 четыреста=400 пятьсот=500 "
                  "шестьсот=600 семьсот=700 восемьсот=800 девятьсот=900"),
        {"тысяча": 1000, "тысячи": 1000, "тысяч": 1000, "миллион": 10**6, "миллиона": 10**6,
         "миллионов": 10**6, "миллиард": 10**9, "миллиардов": 10**9, "тыс": 1000, "млн": 10**6,
         "млрд": 10**9},
        pairs("первый/первая/первое/первого=1 второй/вторая/второе/второго=2 третий/третья/третье=3 "
              "четвёртый/четвертый=4 пятый/пятая=5 шестой=6 седьмой=7 восьмой=8 девятый=9 десятый=10"),
        {"половина": F(1, 2), "половину": F(1, 2), "треть": F(1, 3), "четверть": F(1, 4)},
        frozenset(),
        frozenset(("один", "одна", "одно")),
    ),
}  # fmt: skip
# Words in these places are other words more often than numbers.
NOT_ALONE = {
    "en": frozenset(("second",)), "it": frozenset(("sei", "prima", "secondo", "primo")),
    "pt": frozenset(("segundo", "segunda", "nove")), "es": frozenset(("segundo", "once", "cuarto")),
    "de": frozenset(("acht",)), "fr": frozenset(("neuf",)),
}  # fmt: skip
NO_WORDS = NumberWords({}, {}, {}, {}, frozenset())

_WORD = re.compile(r"[ -]?([^\W\d_]{1,60})")
_PARTS_MAX = 24


def words_at(text: str, at: int, words: NumberWords) -> tuple[Fraction, int, bool] | None:
    """Number in words at the beginning of a word: value, end, whether an ordinal."""
    total = section = 0
    room = 10**15  # the next part has to be less than this
    end, started, joined = at, False, False
    position = at
    for _ in range(_PARTS_MAX):
        match = _WORD.match(text, position)
        if match is None or (not started and match.start(1) != at):
            break
        word = match[1].lower()
        value = words.values.get(word)
        if value is None and started and word in words.joins and not joined:
            joined, position = True, match.end()
            continue
        if value is not None:
            if word in ("vingt", "vingts") and section % 100 == 4:
                section += 76  # quatre-vingt
                room = 20
            elif value < room and (not started or value):
                section += value
                room = 10 if word == "dix" else _room_after(value)
            else:
                break
        elif (scale := words.scales.get(word)) is not None and (started or not joined):
            if joined:
                break
            if scale == 100:
                if section % 100 == 0 and section:
                    break
                section = (section or 1) * 100
                room = 100
            else:
                total += (section or 1) * scale
                section = 0
                room = min(scale, 1000)
        elif (ordinal := words.ordinals.get(word)) is not None and ordinal < room:
            return F(total + section + ordinal), match.end(), True
        else:
            break
        started, joined = True, False
        position = end = match.end()
    if not started:
        return None
    return F(total + section), end, False


def _room_after(value: int) -> int:
    if value < 20:
        return 0
    if value < 100:
        return (20 if value == 60 else 10) if value % 10 == 0 else 0
    return 100


# --- Han numerals --------------------------------------------------------------------------

HAN_DIGITS = {
    "〇": 0, "零": 0, "○": 0, "一": 1, "二": 2, "两": 2, "兩": 2, "三": 3, "四": 4, "五": 5,
    "六": 6, "七": 7, "八": 8, "九": 9, "壹": 1, "壱": 1, "贰": 2, "貳": 2, "弐": 2, "叁": 3,
    "參": 3, "参": 3, "肆": 4, "伍": 5, "陆": 6, "陸": 6, "柒": 7, "捌": 8, "玖": 9,
}  # fmt: skip
_HAN_TENS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
HAN_SCALES = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
HAN = "".join((*HAN_DIGITS, *_HAN_TENS, *HAN_SCALES))
HAN_RUN = re.compile(f"[{HAN}]{{1,40}}")


def han_at(text: str, at: int) -> tuple[Fraction, int] | None:
    """Number in Han numerals at a place: 二十三, 一万五千, 二〇二六, 壹佰, 三千五 (3500)."""
    match = HAN_RUN.match(text, at)
    if match is None:
        return None
    run = match.group()
    if all(sign in HAN_DIGITS for sign in run):
        return F(int("".join(str(HAN_DIGITS[sign]) for sign in run))), match.end()
    total = section = digit = 0
    unit = 0
    for sign in run:
        if sign in HAN_DIGITS:
            digit = digit * 10 + HAN_DIGITS[sign] if not unit and digit else HAN_DIGITS[sign]
            if HAN_DIGITS[sign] == 0:
                unit = 0
        elif sign in _HAN_TENS:
            unit = _HAN_TENS[sign]
            section += (digit or 1) * unit
            digit = 0
        else:
            unit = HAN_SCALES[sign]
            total = (
                (total + section + digit or 1) * unit
                if unit > total > 0
                else total + (section + digit or 1) * unit
            )
            section = digit = 0
    # 三千五 is 3500, 一万五 is 15000; after 十 the last sign is a one.
    if digit and unit > 10 and run[-2] not in "零〇○":
        digit *= unit // 10
    return F(total + section + digit), match.end()
