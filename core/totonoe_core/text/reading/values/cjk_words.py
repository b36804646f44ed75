"""Words of the grammar of values in Japanese, Chinese and Korean.

`SKIP` holds words that begin with a numeral and are no number (一緒, 一起, 三角); `TAILS` those in
which the numeral comes last (唯一, 统一).
"""

# Tables of words; a wide character counts as two columns.
# ruff: noqa: E501
from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from totonoe_core.text.reading.values import units
from totonoe_core.text.reading.values.numerals import HAN, pairs
from totonoe_core.text.reading.values.units import Unit

F = Fraction


@dataclass(frozen=True, slots=True)
class CjkGrammar:
    """What `cjk` needs of a language."""

    language: str
    skip: frozenset[str]
    tails: frozenset[str]
    numbers: dict[str, int]
    relative: dict[str, str]
    weekdays: dict[str, int]
    periods: dict[str, str]
    """Parts of the day before an hour -> am, pm, night."""
    counters: frozenset[str]
    """Generic counters: they carry the number alone."""
    units: dict[str, Unit]
    rates: dict[str, Unit]
    """Words before a quantity that make it a rate: 時速, 每秒."""
    heads: dict[str, str]
    """Every word above (counters, units and numbers apart) -> which table it is of."""
    starts: str
    """Every character with which a value may begin, Latin and figures apart."""


_SKIP = {
    "ja": """一部 一緒 一般 一番 一度 一切 一体 一方 一見 一応 一旦 一層 一種 一時的 一定 一致 一生 一瞬 一覧 一括
        一貫 一連 一律 一向 一気 一言 一面 一流 一同 一因 一環 一戸建 一目 一歩 一斉 一例 一概 一際 一段と 一挙
        万一 万が一 三角 三味線 四角 四季 五輪 十分 十字 十二支 百貨 百科 百合 千葉 千切 千鳥 万年筆 万能 万歳 八百屋
        八百長 九州 四国 六本木 三菱 三井 二酸化 七面鳥 一昔 二度と 二の次 一石二鳥 三脚 三輪車 三日月 四川 七夕
        八重 一等 一郎 二郎 三郎 四郎 五郎 三宅 三浦 三島 五十嵐 千代 一文字 一帯 一任 一理 一息 二次元 三次元
        一元 一夜 一家 一族 二重 三振 二塁 三塁 一塁 千歳 百姓 四方 八方 十勝 一礼 一式 一新 一掃 一変 一転 一員""",
    "zh": """一起 一直 一般 一下 一定 一样 一樣 一些 一点 一點 一边 一邊 一旦 一切 一致 一向 一律 一度 一共 一带 一生 一线
        一流 一面 一会 一會 一同 一并 一方 一系列 一贯 一时 一再 一味 一如 一概 一旁 一体 一本正经 一口气 一心 一手
        一次性 一来 一看 一到 一听 一想 一家人 一路 一举 一番 一连 一齐 一辈子 一阵 一应 一经 一代 一言 一步 一眼 一号
        十分 千万 三角 三明治 三星 三国 三亚 三峡 四川 四处 四周 四季 五金 五官 六安 七夕 八卦 九州 九江 百度 百货
        百科 百姓 百合 千里 千古 千克 千瓦 千米 千兆 万能 万科 万达 万岁 万事 万物 万一 万象 万圣 亿万 百分百 二手
        二维 二胡 二氧化 三文鱼 十字 两边 三维 三轮 三心二意 五花 七上八下 八宝 九宫 一一 百万富翁 陆地 陆续 陆军 伍德
        五一 一成语 一成不变 一日三餐 一路顺风 百事 三思 四平 五粮 五台山 六味 八达 十堰 千年 百年 两栖 零食 零件 零售 零钱 零碎 一元
        一无 一时间 三亚 一丝 一目 一股脑 三餐 五颜六色""",
    "ko": "",
}
_TAILS = {
    "ja": "唯一 統一 同一 単一 万一 随一 画一 均一 択一 世界一 日本一 真一 健一 浩一 純一 慎一",
    "zh": "统一 統一 唯一 之一 同一 单一 單一 不一 逐一 万一 专一 合一 进一 進一 归一 五一 大陆 登陆 着陆 参参",
    "ko": "",
}
_JA_RELATIVE = """今日=0d 本日=0d きょう=0d 明日=+1d あした=+1d 明後日=+2d あさって=+2d 昨日=-1d きのう=-1d 一昨日=-2d
    おととい=-2d 今週=0w 来週=+1w 先週=-1w 再来週=+2w 先々週=-2w 今月=0m 来月=+1m 先月=-1m 再来月=+2m 先々月=-2m
    今年=0y 来年=+1y 去年=-1y 昨年=-1y 再来年=+2y 一昨年=-2y 今朝=0d-morning 今晩=0d-night 今夜=0d-night
    昨夜=-1d-night 昨晩=-1d-night ゆうべ=-1d-night 今週末=0weekend 来週末=+1weekend 先週末=-1weekend 本年=0y 今年度=0fy
    来年度=+1fy 昨年度=-1fy 前日=-day 翌日=+day 翌週=+week 翌月=+month 翌年=+year 明朝=+1d-morning 明晩=+1d-night
    毎日=every-d 毎週=every-w 毎月=every-m 毎年=every-y 毎朝=every-morning 毎晩=every-night"""
_ZH_RELATIVE = """今天=0d 今日=0d 明天=+1d 明日=+1d 后天=+2d 後天=+2d 大后天=+3d 昨天=-1d 昨日=-1d 前天=-2d 大前天=-3d
    今晚=0d-night 昨晚=-1d-night 明晚=+1d-night 今早=0d-morning 明早=+1d-morning 今年=0y 明年=+1y 后年=+2y 後年=+2y 去年=-1y 前年=-2y
    上周=-1w 下周=+1w 本周=0w 这周=0w 這週=0w 上週=-1w 下週=+1w 上星期=-1w 下星期=+1w 这星期=0w 这个星期=0w 上个礼拜=-1w 下个礼拜=+1w 上礼拜=-1w 下礼拜=+1w 这礼拜=0w 上个星期=-1w
    下个星期=+1w 上个月=-1m 下个月=+1m 这个月=0m 上個月=-1m 下個月=+1m 這個月=0m 本月=0m 上月=-1m 下月=+1m 次日=+day
    上周末=-1weekend 下周末=+1weekend 这周末=0weekend 本周末=0weekend 下下周=+2w 上上周=-2w 下下个月=+2m 上上个月=-2m 当天=0day 当日=0day 第二天=+day
    每天=every-d 天天=every-d 每日=every-d 每周=every-w 每星期=every-w 每个星期=every-w 每礼拜=every-w 每个礼拜=every-w 每週=every-w 每月=every-m 每个月=every-m 每年=every-y 每晚=every-night"""
_KO_RELATIVE = """오늘=0d 내일=+1d 모레=+2d 어제=-1d 그저께=-2d 그제=-2d 이번주=0w 다음주=+1w 지난주=-1w 이번_주=0w
    다음_주=+1w 지난_주=-1w 이번_달=0m 이번달=0m 다음_달=+1m 다음달=+1m 지난달=-1m 지난_달=-1m 올해=0y 내년=+1y 작년=-1y
    매일=every-d 매주=every-w 매월=every-m 매달=every-m 매년=every-y"""


def _relative(text: str) -> dict[str, str]:
    found = {}
    for pair in text.split():
        word, _, key = pair.partition("=")
        found[word.replace("_", " ")] = key
    return found


_RELATIVE = {
    "ja": _relative(_JA_RELATIVE), "zh": _relative(_ZH_RELATIVE), "ko": _relative(_KO_RELATIVE)
}  # fmt: skip
_WEEKDAYS = {
    "ja": {
        f"{name}曜{end}": at for at, name in enumerate("月火水木金土日", 1) for end in ("", "日")
    },
    "zh": {
        f"{week}{name}": min(at, 7)
        for week in ("星期", "周", "礼拜", "週", "禮拜")
        for at, name in enumerate("一二三四五六日天", 1)
        if week not in ("周", "週") or name != "天"
    },
    "ko": {f"{name}요일": at for at, name in enumerate("월화수목금토일", 1)},
}
_PERIODS = {
    "ja": {"午前": "am", "朝": "am", "朝の": "am", "午前の": "am", "午後": "pm", "午後の": "pm", "夜": "pm",
           "夜の": "pm", "夕方": "pm", "夕方の": "pm", "深夜": "night", "未明": "night", "早朝": "am"},
    "zh": {"上午": "am", "早上": "am", "早晨": "am", "清晨": "am", "凌晨": "night", "下午": "pm", "晚上": "pm",
           "傍晚": "pm", "中午": "noon", "夜里": "pm", "晚": "pm", "早": "am", "半夜": "night"},
    "ko": {"오전": "am", "오후": "pm", "아침": "am", "저녁": "pm", "밤": "pm", "새벽": "night"},
}  # fmt: skip
_COUNTERS = {
    "ja": "つ 個 箇 名 人 匹 頭 台 本 枚 羽 冊 件 軒 着 足 通 隻 機 艘 輪 挺 箇所 か所 ヶ所 カ所 コ ヶ か ケ 名様 人分 種類 種",
    "zh": "个 個 只 隻 位 名 辆 輛 张 張 条 條 件 本 台 部 头 頭 匹 根 支 枝 把 家 间 間 座 棵 朵 种 種 项 項 "
    "句 篇 艘 架 颗 顆 粒 片 扇 幅 股 滴 封 门 顶 盏 款 所 枚 首 场 道 则 栋",
    "ko": "개 명 사람 마리 대 장 권 그루 분 자루 채 송이",
}
_NUMBERS = {
    "ja": pairs(
        "ひとつ/ひとり=1 ふたつ/ふたり=2 みっつ=3 よっつ=4 いつつ=5 むっつ=6 ななつ=7 やっつ=8 ここのつ=9"
    ),
    "zh": {"俩": 2, "仨": 3},
    "ko": pairs(
        "하나=1 둘=2 셋=3 넷=4 다섯=5 여섯=6 일곱=7 여덟=8 아홉=9 열=10 스물=20 서른=30 마흔=40 쉰=50"
    ),
}
KO_COUNTED = pairs("한=1 두=2 세=3 네=4 스무=20 열한=11 열두=12")
"""Korean numbers that stand only before a counter."""
_RATES = {
    "ja": {"時速": units.HOUR, "毎時": units.HOUR, "秒速": units.SECOND, "毎秒": units.SECOND,
           "分速": units.MINUTE, "毎分": units.MINUTE, "1秒あたり": units.SECOND, "秒間": units.SECOND},
    "zh": {"每小时": units.HOUR, "每秒": units.SECOND, "每秒钟": units.SECOND, "每分钟": units.MINUTE,
           "时速": units.HOUR, "每个小时": units.HOUR},
    "ko": {"시속": units.HOUR, "초당": units.SECOND, "분당": units.MINUTE},
}  # fmt: skip
ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}


@cache
def cjk_grammar(language: str) -> CjkGrammar:
    """Grammar of ja, zh or ko."""
    relative, weekdays = _RELATIVE[language], _WEEKDAYS[language]
    tables = (relative, weekdays, _PERIODS[language], _RATES[language], _NUMBERS[language])
    starts = {word[0] for table in tables for word in table}
    starts |= {*HAN} - {"○"} if language != "ko" else {*"한두세네스열"}
    starts |= {*"第半正"} if language != "ko" else {*"제반정자"}
    if language == "ja":
        starts |= {word[0] for word in ERAS}
    skip = frozenset(_SKIP[language].split())
    heads = dict.fromkeys(_PERIODS[language], "period") | dict.fromkeys(_RATES[language], "rate")
    heads |= dict.fromkeys(weekdays, "weekday") | dict.fromkeys(skip, "skip")
    heads |= dict.fromkeys(relative, "relative")
    heads |= dict.fromkeys(ERAS, "era") if language == "ja" else {}
    return CjkGrammar(
        language, skip, frozenset(_TAILS[language].split()),
        _NUMBERS[language], relative, weekdays, _PERIODS[language],
        frozenset(_COUNTERS[language].split()), units.words_of(language), _RATES[language],
        heads, "".join(sorted(starts)),
    )  # fmt: skip
