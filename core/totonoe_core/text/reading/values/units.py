"""Units of measure: what a surface names, and one key for every way to write a quantity.

An own table and not pint: the arithmetic has to be exact (90 min = 1.5 h, without floats), units are
written in words of ten languages, and pint does not find a quantity in a sentence. Measured:
`parse_expression("12.5 N").to_base_units()` with pint 0.25 takes 126 µs and 0.15 s to load;
`find_values("12.5 N", "en")`, which also looks for all else, takes 28 µs.

A unit is a factor to the base of its dimension. Base names are part of keys, so they are short
and shared by all languages: "5400 s", "1.5 kg", "12.5 N", "300 CNY".
"""

# Tables of words; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

F = Fraction
_ONE, _ZERO = F(1), F(0)


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `value * factor + offset` is the quantity in the base unit."""

    base: str
    factor: Fraction = _ONE
    offset: Fraction = _ZERO


def number_key(value: Fraction) -> str:
    """Canonical text of a number: decimal where it ends, else a fraction in lowest terms."""
    if value.denominator == 1:
        return str(value.numerator)
    twos_and_fives = value.denominator
    for prime in (2, 5):
        while twos_and_fives % prime == 0:
            twos_and_fives //= prime
    if twos_and_fives != 1:
        return f"{value.numerator}/{value.denominator}"
    digits, scale = abs(value.numerator), value.denominator
    places = 0
    while digits % scale:
        digits *= 10
        places += 1
    text = str(digits // scale).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{text[:-places]}.{text[-places:]}"


def quantity_key(value: Fraction, unit: Unit) -> str:
    """Key of a value in a unit."""
    return f"{number_key(value * unit.factor + unit.offset)} {unit.base}"


def per(unit: Unit, other: Unit) -> Unit:
    """The unit `unit/other`, such as km/h."""
    return Unit(f"{unit.base}/{other.base}", unit.factor / other.factor)


SECOND, MONTH = Unit("s"), Unit("month")
MINUTE, HOUR, DAY, WEEK = (Unit("s", F(n)) for n in (60, 3600, 86400, 604800))
YEAR, QUARTER, DECADE, CENTURY = (Unit("month", F(n)) for n in (12, 3, 120, 1200))
TIMES, FOLD, PERCENT, REQUEST = Unit("times"), Unit("x"), Unit("%"), Unit("req")
CELSIUS = Unit("°C")
FAHRENHEIT = Unit("°C", F(5, 9), F(-160, 9))
TIME_SPANS = frozenset({"s", "month"})

_PREFIXES = {
    "p": F(1, 10**12), "n": F(1, 10**9), "µ": F(1, 10**6), "μ": F(1, 10**6), "u": F(1, 10**6),
    "m": F(1, 1000), "c": F(1, 100), "d": F(1, 10), "": F(1), "h": F(100), "k": F(1000),
    "M": F(10**6), "G": F(10**9), "T": F(10**12), "P": F(10**15),
}  # fmt: skip
# Symbol -> base, factor, prefixes in use. Only those that are written: "5 G" and "3D" are names.
_SYMBOLS = {
    "m": ("m", F(1), ("n", "µ", "μ", "u", "m", "c", "d", "", "k")),
    "g": ("kg", F(1, 1000), ("µ", "μ", "m", "", "k")),
    "t": ("kg", F(1000), ("",)),
    "s": ("s", F(1), ("n", "µ", "μ", "u", "m", "")),
    "l": ("l", F(1), ("µ", "μ", "m", "c", "d", "")),
    "L": ("l", F(1), ("µ", "μ", "m", "c", "d", "")),
    "N": ("N", F(1), ("m", "", "k")),
    "Nm": ("Nm", F(1), ("m", "", "k")),
    "V": ("V", F(1), ("µ", "μ", "m", "", "k")),
    "A": ("A", F(1), ("µ", "μ", "m", "")),
    "Ah": ("Ah", F(1), ("m", "")),
    "W": ("W", F(1), ("µ", "μ", "m", "", "k", "M", "G")),
    "Wh": ("J", F(3600), ("m", "", "k", "M", "G")),
    "J": ("J", F(1), ("m", "", "k", "M")),
    "Hz": ("Hz", F(1), ("m", "", "k", "M", "G", "T")),
    "Pa": ("Pa", F(1), ("", "h", "k", "M")),
    "bar": ("Pa", F(100000), ("m", "")),
    "Ω": ("Ω", F(1), ("m", "", "k", "M")),
    "B": ("B", F(1), ("k", "M", "G", "T", "P")),
    "bps": ("bit/s", F(1), ("", "k", "M", "G")),
    "bit": ("bit", F(1), ("", "k", "M", "G")),
    "cal": ("cal", F(1), ("", "k")),
    "F": ("F", F(1), ("p", "n", "µ", "μ", "u")),
}

SYMBOLS: dict[str, Unit] = {
    prefix + symbol: Unit(base, factor * _PREFIXES[prefix])
    for symbol, (base, factor, prefixes) in _SYMBOLS.items()
    for prefix in prefixes
}
SYMBOLS |= {
    "KB": Unit("B", F(1000)), "kb": Unit("B", F(1000)), "mb": Unit("B", F(10**6)),
    "gb": Unit("B", F(10**9)), "tb": Unit("B", F(10**12)), "Mb": Unit("bit", F(10**6)),
    "Gb": Unit("bit", F(10**9)), "KiB": Unit("B", F(2**10)), "MiB": Unit("B", F(2**20)),
    "GiB": Unit("B", F(2**30)), "TiB": Unit("B", F(2**40)), "min": MINUTE, "mins": MINUTE,
    "sec": SECOND, "secs": SECOND, "msec": Unit("s", F(1, 1000)), "h": HOUR, "hr": HOUR,
    "hrs": HOUR, "d": DAY, "wk": WEEK, "wks": WEEK, "yr": YEAR, "yrs": YEAR,
    "kmh": Unit("m/s", F(5, 18)), "kph": Unit("m/s", F(5, 18)),
    "mph": Unit("m/s", F(1609344, 3600000)), "ha": Unit("m²", F(10000)), "m²": Unit("m²"),
    "m2": Unit("m²"), "km²": Unit("m²", F(10**6)), "km2": Unit("m²", F(10**6)),
    "cm²": Unit("m²", F(1, 10000)), "cm2": Unit("m²", F(1, 10000)), "m³": Unit("m³"),
    "m3": Unit("m³"), "cm³": Unit("m³", F(1, 10**6)), "cc": Unit("m³", F(1, 10**6)),
    "ft": Unit("m", F(3048, 10000)), "yd": Unit("m", F(9144, 10000)),
    "mi": Unit("m", F(1609344, 1000)), "inch": Unit("m", F(254, 10000)),
    "lb": Unit("kg", F(45359237, 10**8)), "lbs": Unit("kg", F(45359237, 10**8)),
    "oz": Unit("kg", F(45359237, 16 * 10**8)), "psi": Unit("psi"), "N·m": Unit("Nm"),
    "N*m": Unit("Nm"), "rpm": Unit("rpm"), "RPM": Unit("rpm"), "dB": Unit("dB"), "px": Unit("px"),
    "fps": Unit("frame/s"), "FPS": Unit("frame/s"), "rps": Unit("req/s"), "RPS": Unit("req/s"),
    "qps": Unit("req/s"), "QPS": Unit("req/s"), "°C": CELSIUS, "℃": CELSIUS, "°F": FAHRENHEIT,
    "℉": FAHRENHEIT, "°": Unit("°"), "deg": Unit("°"), "rad": Unit("rad"), "%": PERCENT,
    "％": PERCENT, "‰": Unit("%", F(1, 10)), "ppm": Unit("%", F(1, 10000)), "pp": Unit("pp"),
    "x": FOLD, "X": FOLD, "×": FOLD, "㎏": Unit("kg"), "㎞": Unit("m", F(1000)),
    "㎝": Unit("m", F(1, 100)), "㎜": Unit("m", F(1, 1000)), "㎡": Unit("m²"),
}  # fmt: skip

CURRENCY_SIGNS: dict[str, Unit] = {
    "$": Unit("USD"), "US$": Unit("USD"), "€": Unit("EUR"), "£": Unit("GBP"), "¥": Unit("JPY"),
    "￥": Unit("JPY"), "₩": Unit("KRW"), "₹": Unit("INR"), "₽": Unit("RUB"), "₿": Unit("BTC"),
    "₫": Unit("VND"), "฿": Unit("THB"),
}  # fmt: skip
_CODES = [
    "USD",
    "EUR",
    "GBP",
    "JPY",
    "CNY",
    "RMB",
    "KRW",
    "INR",
    "RUB",
    "CHF",
    "AUD",
    "CAD",
    "HKD",
    "TWD",
    "SGD",
    "BRL",
    "BTC",
    "ETH",
]
SYMBOLS |= CURRENCY_SIGNS
SYMBOLS |= {code: Unit("CNY" if code == "RMB" else code) for code in _CODES}

_KILO, _MILLI, _CENTI, _MEGA, _GIGA, _TERA = (
    F(1000), F(1, 1000), F(1, 100), F(10**6), F(10**9), F(10**12)
)  # fmt: skip


def _words(table: dict[str, Unit]) -> dict[str, Unit]:
    return {word: unit for words, unit in table.items() for word in words.split()}


WORDS: dict[str, dict[str, Unit]] = {
    "en": _words({
        "second seconds": SECOND, "millisecond milliseconds": Unit("s", _MILLI),
        "microsecond microseconds": Unit("s", F(1, 10**6)),
        "nanosecond nanoseconds": Unit("s", F(1, 10**9)), "minute minutes": MINUTE,
        "hour hours": HOUR, "day days": DAY, "week weeks": WEEK, "fortnight": Unit("s", F(1209600)),
        "month months": MONTH, "year years": YEAR, "decade decades": DECADE,
        "century centuries": CENTURY, "metre meter metres meters": Unit("m"),
        "kilometre kilometer kilometres kilometers": Unit("m", _KILO),
        "centimetre centimeter centimetres centimeters": Unit("m", _CENTI),
        "millimetre millimeter millimetres millimeters": Unit("m", _MILLI),
        "inch inches": SYMBOLS["inch"], "foot feet": SYMBOLS["ft"], "yard yards": SYMBOLS["yd"],
        "mile miles": SYMBOLS["mi"], "gram grams gramme grammes": Unit("kg", _MILLI),
        "kilogram kilograms kilo kilos": Unit("kg"),
        "milligram milligrams": Unit("kg", F(1, 10**6)), "tonne tonnes": Unit("kg", _KILO),
        "ounce ounces": SYMBOLS["oz"], "lb lbs": SYMBOLS["lb"], "litre liter litres liters": Unit("l"),
        "millilitre milliliter millilitres milliliters": Unit("l", _MILLI),
        "byte bytes": Unit("B"), "kilobyte kilobytes": Unit("B", _KILO),
        "megabyte megabytes": Unit("B", _MEGA), "gigabyte gigabytes": Unit("B", _GIGA),
        "terabyte terabytes": Unit("B", _TERA), "bit bits": Unit("bit"),
        "kibibyte kibibytes": SYMBOLS["KiB"], "mebibyte mebibytes": SYMBOLS["MiB"],
        "gibibyte gibibytes": SYMBOLS["GiB"], "megabit megabits": Unit("bit", _MEGA),
        "gigabit gigabits": Unit("bit", _GIGA), "hertz": Unit("Hz"), "kilohertz": Unit("Hz", _KILO),
        "megahertz": Unit("Hz", _MEGA), "gigahertz": Unit("Hz", _GIGA),
        "newton newtons": Unit("N"), "kilonewton kilonewtons": Unit("N", _KILO),
        "volt volts": Unit("V"), "millivolt millivolts": Unit("V", _MILLI),
        "amp amps ampere amperes": Unit("A"), "milliamp milliamps": Unit("A", _MILLI),
        "watt watts": Unit("W"), "kilowatt kilowatts": Unit("W", _KILO),
        "megawatt megawatts": Unit("W", _MEGA), "joule joules": Unit("J"),
        "kilojoule kilojoules": Unit("J", _KILO), "ohm ohms": Unit("Ω"),
        "pascal pascals": Unit("Pa"), "kilopascal kilopascals": Unit("Pa", _KILO),
        "calorie calories": Unit("cal"), "decibel decibels": Unit("dB"),
        "degree degrees": Unit("°"), "radian radians": Unit("rad"), "percent": PERCENT,
        "pixel pixels": Unit("px"), "acre acres": Unit("acre"), "hectare hectares": SYMBOLS["ha"],
        "dollar dollars bucks": Unit("USD"), "cent cents": Unit("cent"), "euro euros": Unit("EUR"),
        "yen": Unit("JPY"), "yuan renminbi": Unit("CNY"),         "rouble roubles ruble rubles": Unit("RUB"), "rupee rupees": Unit("INR"),
        "times": TIMES, "fold": FOLD, "req": REQUEST,
    }),
    "ja": _words({
        "秒 秒間": SECOND, "ミリ秒": Unit("s", _MILLI), "マイクロ秒": Unit("s", F(1, 10**6)),
        "ナノ秒": Unit("s", F(1, 10**9)), "分 分間": MINUTE, "時間": HOUR, "日間": DAY,
        "週 週間": WEEK, "ヶ月 か月 ヵ月 カ月 ケ月 箇月 ヶ月間 か月間 ヵ月間 カ月間": MONTH,
        "年 年間": YEAR, "世紀": Unit("century"), "歳 才": Unit("age"), "回 度目回": TIMES,
        "倍": FOLD, "割": Unit("%", F(10)), "パーセント パーセントポイント": PERCENT,
        "円": Unit("JPY"), "ドル 米ドル": Unit("USD"), "ユーロ": Unit("EUR"), "元": Unit("CNY"),
        "ウォン": Unit("KRW"), "ポンド": Unit("ポンド"), "メートル": Unit("m"),
        "キロメートル": Unit("m", _KILO), "センチメートル センチ": Unit("m", _CENTI),
        "ミリメートル": Unit("m", _MILLI), "インチ": SYMBOLS["inch"], "フィート": SYMBOLS["ft"],
        "マイル": SYMBOLS["mi"], "グラム": Unit("kg", _MILLI), "キログラム": Unit("kg"),
        "ミリグラム": Unit("kg", F(1, 10**6)), "トン": Unit("kg", _KILO), "キロ": Unit("キロ"),
        "リットル": Unit("l"), "ミリリットル": Unit("l", _MILLI), "バイト": Unit("B"),
        "キロバイト": Unit("B", _KILO), "メガバイト": Unit("B", _MEGA),
        "ギガバイト ギガ": Unit("B", _GIGA), "テラバイト": Unit("B", _TERA), "ビット": Unit("bit"),
        "ヘルツ": Unit("Hz"), "メガヘルツ": Unit("Hz", _MEGA), "ギガヘルツ": Unit("Hz", _GIGA),
        "ニュートン": Unit("N"), "ボルト": Unit("V"), "アンペア": Unit("A"), "ワット": Unit("W"),
        "キロワット": Unit("W", _KILO), "ジュール": Unit("J"), "オーム": Unit("Ω"),
        "パスカル": Unit("Pa"), "カロリー": Unit("cal"), "デシベル": Unit("dB"), "度": Unit("°"),
        "ピクセル 画素": Unit("px"), "平方メートル": Unit("m²"), "ヘクタール": SYMBOLS["ha"],
        "人時": Unit("person s", F(3600)), "人日": Unit("person day"), "人月": Unit("person month"),
        "階": Unit("floor"), "番線": Unit("番線"), "号室": Unit("号室"), "点": Unit("point"),
        "ページ": Unit("page"), "世代": Unit("generation"), "位": Unit("rank"),
        "段": Unit("段"), "周年": Unit("anniversary"), "年生": Unit("年生"), "泊": Unit("泊"), "列": Unit("列"), "組": Unit("pair"), "杯": Unit("杯"),
        "箱": Unit("箱"), "袋": Unit("袋"), "両": Unit("両"), "品": Unit("品"),
    }),
    "zh": _words({
        "秒 秒钟": SECOND, "毫秒": Unit("s", _MILLI), "微秒": Unit("s", F(1, 10**6)),
        "纳秒": Unit("s", F(1, 10**9)), "分钟": MINUTE, "小时 个小时 钟头 个钟头 个钟": HOUR,
        "刻钟": Unit("s", F(900)), "天 日间": DAY, "周 个星期 星期 个礼拜 礼拜": WEEK,
        "个月": MONTH, "年": YEAR, "个季度": QUARTER, "世纪 个世纪": CENTURY,
        "岁 周岁": Unit("age"), "次 回 遍 趟": TIMES, "倍": FOLD, "成": Unit("%", F(10)),
        "个百分点": Unit("pp"), "元 块 块钱 元钱 圆 元人民币 人民币": Unit("CNY"),
        "角 毛 毛钱": Unit("CNY", F(1, 10)), "美元 美金": Unit("USD"), "欧元": Unit("EUR"),
        "日元": Unit("JPY"), "英镑": Unit("GBP"), "港币 港元": Unit("HKD"), "韩元": Unit("KRW"),
        "卢布": Unit("RUB"), "米 公尺": Unit("m"), "千米 公里": Unit("m", _KILO),
        "厘米 公分": Unit("m", _CENTI), "毫米": Unit("m", _MILLI), "微米": Unit("m", F(1, 10**6)), "英寸": SYMBOLS["inch"],
        "寸": Unit("寸"), "英尺": SYMBOLS["ft"], "英里": SYMBOLS["mi"], "里": Unit("里"),
        "克": Unit("kg", _MILLI), "千克 公斤": Unit("kg"), "斤": Unit("kg", F(1, 2)),
        "毫克": Unit("kg", F(1, 10**6)), "两重": Unit("kg", F(1, 20)), "吨": Unit("kg", _KILO),
        "磅": SYMBOLS["lb"], "升": Unit("l"), "毫升": Unit("l", _MILLI), "亩": Unit("亩"),
        "字节": Unit("B"), "千字节": Unit("B", _KILO), "兆字节 兆": Unit("B", _MEGA),
        "比特": Unit("bit"), "赫兹": Unit("Hz"), "千赫": Unit("Hz", _KILO),
        "兆赫": Unit("Hz", _MEGA), "牛 牛顿": Unit("N"), "伏 伏特": Unit("V"),
        "安 安培": Unit("A"), "毫安": Unit("A", _MILLI), "瓦 瓦特": Unit("W"),
        "千瓦": Unit("W", _KILO), "焦耳": Unit("J"), "欧姆": Unit("Ω"), "帕": Unit("Pa"),
        "兆帕": Unit("Pa", _MEGA), "分贝": Unit("dB"), "度": Unit("°"), "摄氏度": CELSIUS,
        "华氏度": FAHRENHEIT, "像素": Unit("px"), "平方米 平米": Unit("m²"), "公顷": SYMBOLS["ha"],
        "平方公里": Unit("m²", F(10**6)), "人时": Unit("person s", F(3600)),
        "楼 层": Unit("floor"), "号楼": Unit("号楼"), "对 双": Unit("pair"), "群": Unit("群"),
        "套": Unit("套"), "杯": Unit("杯"), "瓶": Unit("瓶"), "碗": Unit("碗"), "箱": Unit("箱"),
        "袋": Unit("袋"), "桶": Unit("桶"), "页": Unit("page"), "代": Unit("generation"),
        "级": Unit("级"), "届": Unit("届"), "期": Unit("期"), "年级": Unit("年级"),
        "周年": Unit("anniversary"), "路": Unit("路"), "章": Unit("章"), "集": Unit("集"),
        "分": Unit("point"),
    }),
    "ko": _words({
        "초": SECOND, "분": MINUTE, "시간": HOUR, "일간": DAY, "주 주일 주간": WEEK,
        "개월 달": MONTH, "년 년간": YEAR, "살 세": Unit("age"), "번 회": TIMES, "배": FOLD,
        "퍼센트 프로": PERCENT, "원": Unit("KRW"), "달러": Unit("USD"), "엔": Unit("JPY"),
        "위안": Unit("CNY"), "유로": Unit("EUR"), "미터": Unit("m"), "킬로미터": Unit("m", _KILO),
        "센티미터": Unit("m", _CENTI), "그램": Unit("kg", _MILLI), "킬로그램": Unit("kg"),
        "톤": Unit("kg", _KILO), "리터": Unit("l"), "바이트": Unit("B"),
        "메가바이트": Unit("B", _MEGA), "기가바이트": Unit("B", _GIGA), "도": Unit("°"),
        "층": Unit("floor"), "페이지": Unit("page"),
    }),
    "de": _words({
        "sekunde sekunden": SECOND, "minute minuten": MINUTE, "stunde stunden std": HOUR,
        "tag tage tagen": DAY, "woche wochen": WEEK, "monat monate monaten": MONTH,
        "jahr jahre jahren": YEAR, "prozent": PERCENT, "mal": TIMES, "meter metern": Unit("m"),
        "kilometer": Unit("m", _KILO), "zentimeter": Unit("m", _CENTI), "gramm": Unit("kg", _MILLI),
        "kilogramm kilo": Unit("kg"), "tonne tonnen": Unit("kg", _KILO), "liter": Unit("l"),
        "grad": Unit("°"), "dollar": Unit("USD"), "pfund": Unit("kg", F(1, 2)),
    }),
    "fr": _words({
        "seconde secondes": SECOND, "minute minutes": MINUTE, "heure heures": HOUR,
        "jour jours": DAY, "semaine semaines": WEEK, "mois": MONTH, "an ans année années": YEAR,
        "pourcent": PERCENT, "fois": TIMES, "mètre mètres": Unit("m"),
        "kilomètre kilomètres": Unit("m", _KILO), "centimètres": Unit("m", _CENTI),
        "gramme grammes": Unit("kg", _MILLI), "kilogrammes kilo kilos": Unit("kg"),
        "tonne tonnes": Unit("kg", _KILO), "litre litres": Unit("l"), "octet octets": Unit("B"),
        "ko": Unit("B", _KILO), "mo": Unit("B", _MEGA), "go": Unit("B", _GIGA),
        "degré degrés": Unit("°"), "dollar dollars": Unit("USD"),
    }),
    "es": _words({
        "segundos": SECOND, "minuto minutos": MINUTE, "hora horas": HOUR, "día días": DAY,
        "semana semanas": WEEK, "mes meses": MONTH, "año años": YEAR, "vez veces": TIMES,
        "metro metros": Unit("m"), "kilómetro kilómetros": Unit("m", _KILO),
        "centímetros": Unit("m", _CENTI), "gramo gramos": Unit("kg", _MILLI),
        "kilogramos kilo kilos": Unit("kg"), "tonelada toneladas": Unit("kg", _KILO),
        "litro litros": Unit("l"), "grado grados": Unit("°"), "dólar dólares": Unit("USD"),
    }),
    "pt": _words({
        "segundos": SECOND, "minuto minutos": MINUTE, "hora horas": HOUR, "dia dias": DAY,
        "semana semanas": WEEK, "mês meses": MONTH, "ano anos": YEAR, "vez vezes": TIMES,
        "metro metros": Unit("m"), "quilómetros quilômetros": Unit("m", _KILO),
        "centímetros": Unit("m", _CENTI), "grama gramas": Unit("kg", _MILLI),
        "quilograma quilos quilo": Unit("kg"), "tonelada toneladas": Unit("kg", _KILO),
        "litro litros": Unit("l"), "grau graus": Unit("°"), "dólar dólares": Unit("USD"),
        "reais": Unit("BRL"),
    }),
    "it": _words({
        "secondi": SECOND, "minuto minuti": MINUTE, "ora ore": HOUR, "giorno giorni": DAY,
        "settimana settimane": WEEK, "mese mesi": MONTH, "anno anni": YEAR, "volta volte": TIMES,
        "metro metri": Unit("m"), "chilometro chilometri": Unit("m", _KILO),
        "centimetri": Unit("m", _CENTI), "grammo grammi": Unit("kg", _MILLI),
        "chilogrammi chilo chili": Unit("kg"), "tonnellata tonnellate": Unit("kg", _KILO),
        "litro litri": Unit("l"), "grado gradi": Unit("°"), "dollaro dollari": Unit("USD"),
    }),
    "ru": _words({
        "секунда секунды секунд секунду": SECOND, "минута минуты минут минуту мин": MINUTE,
        "час часа часов": HOUR, "день дня дней": DAY, "неделя недели недель неделю": WEEK,
        "месяц месяца месяцев": MONTH, "год года лет": YEAR, "процент процента процентов": PERCENT,
        "раз раза": TIMES, "метр метра метров м": Unit("m"),
        "километр километра километров км": Unit("m", _KILO), "см": Unit("m", _CENTI),
        "мм": Unit("m", _MILLI), "грамм грамма граммов г": Unit("kg", _MILLI),
        "килограмм килограмма килограммов кг": Unit("kg"), "тонна тонны тонн": Unit("kg", _KILO),
        "литр литра литров л": Unit("l"), "байт байта": Unit("B"), "гб": Unit("B", _GIGA),
        "мб": Unit("B", _MEGA), "градус градуса градусов": Unit("°"),
        "рубль рубля рублей руб": Unit("RUB"), "доллар доллара долларов": Unit("USD"),
    }),
}  # fmt: skip
"""Words for units by language; spaced languages in lower case."""
for _language in ("de", "fr", "es", "pt", "it"):
    WORDS[_language] |= _words({"euro euros": Unit("EUR"), "pixel": Unit("px"), "volt": Unit("V"),
                                "watt": Unit("W"), "byte bytes": Unit("B")})  # fmt: skip
