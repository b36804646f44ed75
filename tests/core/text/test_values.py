"""Values in texts: equal meaning gives an equal key, another meaning another key."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.text.reading.model import VALUES, PieceType
from totonoe_core.text.reading.values import numbers, units
from totonoe_core.text.reading.values.find import find_values


def keys(text: str, language: str) -> list[tuple[PieceType, str]]:
    return [(value.type, value.key) for value in find_values(text, language)]


SAME = {
    "en": [
        ("it weighs 2.50 kg", "it weighs 2.5 kg", "decimals of a quantity"),
        ("40 requests a minute", "40 requests per minute", "rates"),
        ("twenty-three files", "23 files", "numbers in words"),
        ("two hundred and fifty-one thousand rows", "251,000 rows", "long numbers in words"),
        ("a dozen eggs", "12 eggs", "dozen"),
        ("3 million users", "3,000,000 users", "scale words"),
        ("12k lines", "12,000 lines", "scale letters"),
        ("half of the disk", "1/2 of the disk", "fractions"),
        ("two thirds of the rows", "2/3 of the rows", "fractions in words"),
        ("1½ cups", "1.5 cups", "fraction signs"),
        ("the 3rd run", "the third run", "ordinals"),
        ("15% of all", "15 percent of all", "percent"),
        ("0.5 per cent", "0.50%", "decimals with a zero at the end"),
        ("3 to 5 users", "3-5 users", "ranges"),
        ("five to ten minutes", "5–10 min", "ranges with units"),
        ("1 kg", "1000 g", "mass"),
        ("90 min", "1.5 hours", "time spans"),
        ("1 hour 30 minutes", "1 h 30 min", "compound spans"),
        ("within an hour", "within 60 minutes", "article as one"),
        ("5-year-old cache", "60-month-old cache", "spans in hyphens"),
        ("grip force 12.5N", "grip force 12.5 newtons", "force"),
        ("60 km/h", "60 km per hour", "speed"),
        ("68 °F", "20 degrees Celsius", "temperature"),
        ("5GB", "5000 megabytes", "data"),
        ("$3 million", "3,000,000 dollars", "money"),
        ("€20", "20 euros", "money"),
        ("twice as fast", "2x as fast", "multiples"),
        ("once a week", "1 times per week", "frequencies"),
        ("$25 per month", "25 dollars a month", "rates"),
        ("USD 500", "500 USD", "money"),
        ("twice a day", "2 times per day", "frequencies"),
        ("Jan 10, 2026", "2026-01-10", "dates"),
        ("10th of January 2026", "January 10 2026", "dates"),
        ("13/02/2026", "2026-02-13", "a day beyond 12 is no month"),
        ("every Friday", "Fridays", "repeated days"),
        ("the day after tomorrow", "day after tomorrow", "relative days"),
        ("a week ago", "7 days ago", "relative days"),
        ("third quarter at 9", "third quarter at 9:00", "hours"),
        ("9:30 in the morning", "09:30", "times of day"),
        ("9.30 pm", "21:30", "times of day"),
        ("half past nine", "9:30", "spoken times"),
        ("quarter to ten", "9:45", "spoken times"),
        ("at noon", "at 12 pm", "named times"),
        ("5 o'clock", "5:00", "hours"),
        ("version 3", "v3", "versions"),
        ("SR-2023-052", "SR2023-052", "identifiers joined in another way"),
        ("GPT-4", "GPT4", "model names"),
        ("HTTPS://Example.org/A", "https://example.org/A", "hosts fold case"),
        ("He said “stop now.”", 'He said "stop now"', "quotations"),
        ("ＳＲ－２０２３", "SR-2023", "full width"),
    ],
    "ja": [
        ("3人の男性", "三人の男性", "counters"),
        ("3人の男性", "３名の男性", "counters"),
        ("三つの箱", "3個の箱", "counters"),
        ("ひとつ", "1つ", "kana numerals"),
        ("90分", "1時間半", "time spans"),
        ("2時間30分", "2.5時間", "time spans"),
        ("午後3時", "15時", "times of day"),
        ("9時半", "9:30", "times of day"),
        ("朝の9時30分", "9時半", "times of day"),
        ("令和8年1月10日", "2026年1月10日", "eras"),
        ("2026年1月10日", "2026-01-10", "dates"),
        ("来週の月曜日", "来週月曜", "relative weekdays"),
        ("今日の予定", "本日の予定", "relative days"),
        ("15パーセント", "15%", "percent"),
        ("3割", "30%", "percent"),
        ("1万5千円", "15,000円", "money"),
        ("3番目", "第3", "ordinals"),
        ("3分の1", "三分の一", "fractions"),
        ("3〜5人", "3-5名", "ranges"),
        ("１２３", "123", "full width"),
        ("1kg", "1000グラム", "mass"),
    ],
    "zh": [
        ("三个人", "3人", "counters"),
        ("三名男子", "3个男子", "counters"),
        ("两个", "二个", "两"),
        ("三百元", "¥300", "money"),
        ("300元", "三百块钱", "money"),
        ("壹佰元", "100元", "formal numerals"),
        ("一小时三十分钟", "1.5小时", "time spans"),
        ("下午三点半", "15:30", "times of day"),
        ("晚上8点一刻", "20点15分", "times of day"),
        ("百分之十五", "15%", "percent"),
        ("三分之一", "1/3", "fractions"),
        ("星期天", "周日", "weekdays"),
        ("上周三", "上个星期三", "relative weekdays"),
        ("二〇二六年三月", "2026年3月", "dates"),
        ("1月10号", "1月10日", "dates"),
        ("一万五千", "1.5万", "scales"),
        ("三到五个", "3-5个", "ranges"),
        ("五公里", "5000米", "length"),
        ("三天前", "3天前", "relative days"),
    ],
    "ko": [
        ("세 명", "3명", "counters"),
        ("두 시간", "120분", "time spans"),
        ("오후 3시 30분", "15시 30분", "times of day"),
        ("2026년 1월 10일", "2026-01-10", "dates"),
    ],
    "de": [
        ("dreiundzwanzig Dateien", "23 Dateien", "numbers in words"),
        ("1.000 Euro", "1000 €", "thousands"),
        ("1,5 Stunden", "90 Minuten", "decimal comma"),
        ("10.01.2026", "10. Januar 2026", "dates"),
        ("15.30 Uhr", "15:30", "times of day"),
    ],
    "fr": [
        ("quatre-vingt-dix-sept", "97", "numbers in words"),
        ("soixante et onze", "71", "numbers in words"),
        ("1 000 €", "1000 euros", "thousands"),
        ("15h30", "15:30", "times of day"),
        ("le 3 mars 2026", "2026-03-03", "dates"),
    ],
    "es": [
        ("treinta y tres años", "33 años", "numbers in words"),
        ("3 de mayo de 2026", "2026-05-03", "dates"),
        ("quince por ciento", "15 %", "percent"),
    ],
    "pt": [("vinte e três horas", "23 horas", "numbers in words")],
    "it": [("ventitré file", "23 file", "numbers in words")],
    "ru": [
        ("двадцать три рубля", "23 рубля", "numbers in words"),
        ("3 мая 2026 года", "2026-05-03", "dates"),
    ],
    "": [("2026/01/10", "2026-01-10", "ISO dates"), ("1000 g", "1 kg", "symbols")],
}
DIFFERENT = {
    "en": [
        ("the library is 2.30", "the library is 2.3", "a version without its word"),
        ("at 30 4 * * 2", "at 30 4 2 * *", "cron lines"),
        ("clean *.tmp", "clean **/*.tmp", "patterns of file names"),
        ("5", "5 years", "the unit"),
        ("5 years", "6 years", "the figure"),
        ("-5 °C", "5 °C", "the sign"),
        ("3rd", "3", "ordinals are no counts"),
        ("10²", "102", "powers"),
        ("10²", "10", "powers"),
        ("5 MB", "5 MiB", "binary prefixes"),
        ("5 Mb", "5 MB", "bit and byte"),
        ("5 mW", "5 MW", "case of a prefix"),
        ("$20", "€20", "the currency"),
        ("port 8080", "port 8081", "ports"),
        ("24, 25 and 26", "24, 25 and 27", "lists"),
        ("3-5", "3-6", "ranges"),
        ("2 to 4", "4 to 2", "direction"),
        ("v1.2", "v1.20", "versions"),
        ("1.2.0", "v1.2", "versions"),
        ("Python 3.10", "Python 3.1", "a decimal after a name is a version"),
        ("SR-2023-052", "SR-2023-053", "identifiers"),
        ("A1-1", "A11", "digits on both sides keep their joint"),
        ("mem_a1", "mem_a2", "identifiers"),
        ("CVE-2024-1234", "CVE-2024-1235", "identifiers"),
        ("#123", "#124", "tickets"),
        ("192.168.0.1", "192.168.0.10", "addresses"),
        ("Path=/A", "Path=/a", "case of paths"),
        ("https://example.org/A", "https://example.org/a", "case of URLs"),
        ("--force", "--no-force", "flags"),
        ("maxRetries", "minRetries", "camel case"),
        ("2026-01-10", "2026-10-01", "dates"),
        ("03/04/2026", "04/03/2026", "a date that can be read two ways"),
        ("03/04/2026", "2026-03-04", "a date that can be read two ways"),
        ("tomorrow", "yesterday", "relative days"),
        ("next Friday", "last Friday", "relative days"),
        ("Friday", "Fridays", "one and each"),
        ("3 days ago", "3 days", "relative and span"),
        ("meeting at 5", "meeting at 7", "hours"),
        ("5 am", "5 pm", "halves of the day"),
        ("9:30 UTC", "9:30 JST", "zones"),
        ("Q3 2026", "Q4 2026", "quarters"),
        ('"yes"', '"no"', "quotations"),
        ("once a day 007", "once a day 7", "leading zeros"),
        ("3/20 days", "3/20 hours", "units of odd fractions"),
    ],
    "ja": [
        ("明日", "昨日", "relative days"),
        ("3回", "3人", "measuring counters"),
        ("5歳", "5年", "age and span"),
        ("3日間", "3日前", "span and relative"),
        ("05分", "05秒", "units"),
        ("午前3時", "午後3時", "halves of the day"),
        ("第3回", "3回", "ordinals"),
        ("300円", "300ドル", "the currency"),
        ("「開始」", "「停止」", "quotations"),
    ],
    "zh": [
        ("明天", "昨天", "relative days"),
        ("上周三", "下周三", "relative weekdays"),
        ("第二次", "两次", "ordinals"),
        ("下周", "下下周", "relative weeks"),
        ("一百人", "二百人", "round numbers"),
        ("两三天", "三四天", "loose counts"),
        ("两三天", "两三秒", "loose counts"),
        ("上午9点", "晚上9点", "halves of the day"),
        ("3元", "3美元", "the currency"),
        ("《红楼梦》", "《西游记》", "titles"),
    ],
    "de": [("1.000", "1,000", "thousands and decimals")],
}


@pytest.mark.parametrize(
    ("language", "a", "b"),
    [(language, a, b) for language, rows in SAME.items() for a, b, _ in rows],
)
def test_find_values_same_meaning_same_keys(language: str, a: str, b: str) -> None:
    assert keys(a, language), a
    assert keys(a, language) == keys(b, language)


@pytest.mark.parametrize(
    ("language", "a", "b"),
    [(language, a, b) for language, rows in DIFFERENT.items() for a, b, _ in rows],
)
def test_find_values_other_meaning_other_keys(language: str, a: str, b: str) -> None:
    assert keys(a, language)
    assert keys(b, language)
    assert keys(a, language) != keys(b, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "This one is better than the other one, one of them works."),
        ("en", "It may march on, and/or wait a second."),
        ("en", "The servers' owners don't care about well-known third-party tools."),
        ("en", "PyTorch and the e-mail of the day"),
        ("ja", "一緒に一部を一般に一番見る。万一、三角の唯一の着陸"),
        ("ja", "参加して拾う人参"),
        ("zh", "一起一直一般一下，统一之一，万一，三角，进一步参加大陆"),
        ("zh", "有一点，千万不要"),
        ("de", "Er kommt und geht wieder."),
        ("fr", "un homme et une femme"),
        ("", "no values here"),
    ],
)
def test_find_values_words_that_look_like_numbers_nothing(language: str, text: str) -> None:
    assert find_values(text, language) == ()


@pytest.mark.parametrize(
    ("text", "language", "surface", "kind", "key"),
    [
        ("Use port 8080 now", "en", "8080", PieceType.NUMBER, "8080"),
        ("see /etc/Hosts.", "en", "/etc/Hosts", PieceType.PATH, "/etc/Hosts"),
        ("(https://example.org/a).", "en", "https://example.org/a", PieceType.PATH, None),
        ("mail Ann@Example.org!", "en", "Ann@Example.org", PieceType.PATH, "Ann@example.org"),
        ("set `--dry-run`", "en", "`--dry-run`", PieceType.QUOTE, "--dry-run"),
        ("edit src/app/main.py:", "en", "src/app/main.py", PieceType.PATH, "src/app/main.py"),
        ("メモリを16GB積む", "ja", "16GB", PieceType.QUANTITY, "16000000000 B"),
        ("男性が3人いる", "ja", "3人", PieceType.NUMBER, "3"),
        ("有三个人在跑", "zh", "三个", PieceType.NUMBER, "3"),
        ("明天下午三点开会", "zh", "明天", PieceType.DATE, "date:relative:+1d"),
        ("on April 23. Then", "en", "April 23", PieceType.DATE, "date:--04-23"),
    ],
)
def test_find_values_first_value_place_type_and_key(
    text: str, language: str, surface: str, kind: PieceType, key: str | None
) -> None:
    found = find_values(text, language)[0]
    assert text[found.start : found.end] == surface
    assert found.type is kind
    assert key is None or found.key == key


ATOMS = [
    *"a1-._/:@#$~+'\"`「」“”《》一十万百两第半点月日年分之の 3½%,(\\=é가한午周后前",
    *("one", "and", "half", "twenty", "january", "12:30", "km", " per ", " to ", " ago", "next "),
    *("version ", "no. ", "三个", "四半期", "百分之", "每小时", "令和", "00", "vingt", "https://"),
    *("US$", "오후", "시", "\n", "9", "時間", " °C", "the day "),
]
LANGUAGES = ["en", "ja", "zh", "ko", "de", "fr", "es", "pt", "it", "ru", "", "xx"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(ATOMS), max_size=12).map("".join)),
    st.sampled_from(LANGUAGES),
)
def test_find_values_any_text_ascending_in_range_deterministic(text: str, language: str) -> None:
    found = find_values(text, language)
    end = 0
    for value in found:
        assert end <= value.start < value.end <= len(text)
        assert value.type in VALUES
        assert value.key
        end = value.end
    assert find_values(text, language) == found


@pytest.mark.parametrize(
    "unit",
    ["1", "1-", "a.", "a/", "'a ", "“", "一", "三四", "one and ", "1 ", "1,", "-1", "第", "3年"],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_find_values_long_run_linear_number_of_calls(unit: str, language: str) -> None:
    find_values(unit, language)
    short, long = (calls(unit * count, language) for count in (150, 450))
    assert long <= 4 * short  # a square would be nine times


def calls(text: str, language: str) -> int:
    """Calls of functions, in Python or C, while a text is read: cost without a clock."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        find_values(text, language)
    finally:
        sys.setprofile(None)
    return count


def test_find_values_very_long_figure_no_error() -> None:
    """Python refuses to make an integer of more than 4300 figures."""
    assert find_values("9" * 32_000, "en") is not None
    assert find_values("九" * 32_000, "zh") is not None


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (Fraction(5), "5"),
        (Fraction(-5, 2), "-2.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 8), "0.125"),
        (Fraction(1, 10**6), "0.000001"),
        (Fraction(0), "0"),
    ],
)
def test_number_key_exact_and_canonical(value: Fraction, key: str) -> None:
    assert units.number_key(value) == key


@given(st.integers(0, 99_999_999))
def test_han_numeral_of_a_number_reads_back(number: int) -> None:
    assert numbers.han_at(_to_han(number), 0) == (number, len(_to_han(number)))


def _to_han(number: int) -> str:
    """Twin: the standard way to write a number below 10^8."""
    if number >= 10_000:
        high, low = divmod(number, 10_000)
        zero = "零" if 0 < low < 1000 else ""
        return _to_han(high) + "万" + zero + (_to_han(low) if low else "")
    digits = "零一二三四五六七八九"
    if number == 0:
        return "零"
    parts, rest, gap = "", number, False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, rest = divmod(rest, unit)
        if digit:
            parts += ("零" if gap else "") + digits[digit] + name
            gap = False
        elif parts:
            gap = True
    return parts


NAMED = [
    ("PR 412 was merged by Ann", "en", "#412"),
    ("pull request 412 was merged", "en", "#412"),
    ("ticket number 88 is open", "en", "#88"),
    ("Build no. 812 failed", "en", "#812"),
    ("Build 812 fails on arm", "en", "#812"),
    ("See line 40 of the file", "en", "#40"),
    ("lines 40–45 are unused", "en", "#40-45"),
    ("工单 4312 已关闭", "zh", "#4312"),
    ("工单号：4312", "zh", "#4312"),
    ("812号构建失败", "zh", "#812"),
    ("ビルド812が失敗した", "ja", "#812"),
    ("チケット412は完了", "ja", "#412"),
    ("40行目にエラー", "ja", "#40"),
    ("PR 412 をマージした", "ja", "#412"),
]
COUNTED = [
    ("Use port 8080 now", "en"),
    ("Build 3 images for arm", "en"),
    ("Please order 20 new chairs", "en"),
    ("Progress: page 88 of 412", "en"),
    ("Open bugs: 64", "en"),
    ("40行のコード", "ja"),
    ("ジョブ 3 件", "ja"),
    ("代码有40行", "zh"),
    ("问题3个", "zh"),
]


@pytest.mark.parametrize(("text", "language", "key"), NAMED)
def test_number_behind_the_noun_that_it_names_is_an_identifier(
    text: str, language: str, key: str
) -> None:
    assert (PieceType.IDENTIFIER, key) in keys(text, language)


@pytest.mark.parametrize(("text", "language"), COUNTED)
def test_number_that_counts_or_measures_is_no_identifier(text: str, language: str) -> None:
    assert PieceType.IDENTIFIER not in {kind for kind, _ in keys(text, language)}
