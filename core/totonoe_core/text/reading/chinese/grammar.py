"""The function words of Chinese: what a word does in a sentence when it carries no content.

`GRAMMAR` maps a word to its kind and, where the kind needs one, a value. Content words are the
lexicon's (`text/lexicon/zh`), not this module's.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a token is to the grammar."""

    NOUN = "noun"
    PERSON = "person"
    """A pronoun or a human being's name: the likely doer where order alone does not tell."""
    TIME = "time"
    VALUE = "value"
    ASK = "ask"
    """A question word."""
    DETERMINER = "determiner"
    """This, that, each, all: stands before a noun."""
    VERB = "verb"
    COPULA = "copula"
    ADJECTIVE = "adjective"
    ADVERB = "adverb"
    PREPOSITION = "preposition"
    LOCALIZER = "localizer"
    """Follows a noun: in, on, before."""
    OF = "of"
    """的, which binds what is before it to the noun behind it."""
    DEGREE = "degree"
    """得, which binds a manner behind it to the verb before it."""
    MEASURE = "measure"
    AND = "and"
    LINK = "link"
    """A connective between clauses."""
    NOT = "not"
    MODAL = "modal"
    TENSE = "tense"
    PASSIVE = "passive"
    OBJECT = "object"
    """把, 将: the patient follows, before its verb."""
    COMPLEMENT = "complement"
    """What a verb led to: 到, 完, 好."""
    EMPTY = "empty"
    """Particles and politeness; nothing is kept of them."""
    QUESTION = "question"
    """吗 and its like: nothing is kept but that it asks."""
    BREAK = "break"
    LIST = "list"
    """、 between items."""


def words(text: str) -> frozenset[str]:
    """The words of a text, apart by spaces."""
    return frozenset(text.split())


def _table(*groups: tuple[Kind, str, str]) -> dict[str, tuple[Kind, str]]:
    found: dict[str, tuple[Kind, str]] = {}
    for kind, value, words in groups:
        for word in words.split():
            found[word] = (kind, value)
    return found


GRAMMAR: dict[str, tuple[Kind, str]] = _table(
    (
        Kind.NOT,
        "",
        "不 没 没有 无 非 别 未 勿 甭 莫 毋 未曾 尚未 并不 并非 并没有 并未 绝不 决不 毫不 毫无 "
        "不予 不曾 从没有过 不是",
    ),
    (Kind.NOT, "never", "从不 从未 从来不 从来没 从来没有 永不 从没 从没有 未曾 永远不 再也不"),
    (Kind.NOT, "longer", "不再 再不"),
    (Kind.NOT, "hardly", "几乎不 几乎没有 几乎没 很少 极少 难以 难得"),
    (
        Kind.NOT,
        "ban",
        "不准 不许 不得 不可 禁止 严禁 不要 请勿 切勿 "
        "千万别 千万不要 千万不能 绝不能 不能 不可以 不允许 不宜",
    ),
    (Kind.NOT, "cannot", "没法 无法 没办法 没能 未能 不能够"),
    (Kind.NOT, "need", "不必 不用 无需 无须 不需要 没必要 不须 毋须 用不着"),
    (Kind.NOT, "yes", "不得不 不能不 不可不 不会不 没有不 无不 无非 非得 不无 未必不"),
    (
        Kind.VERB,
        "remember",
        "千万别忘 千万别忘了 千万不要忘 别忘了 别忘记 别忘 "
        "不要忘记 不要忘了 不要忘 勿忘 请勿忘记 莫忘",
    ),
    (Kind.MODAL, "want", "想 想要 要 愿 愿意 希望 渴望 想着 乐意 肯"),
    (
        Kind.MODAL,
        "can",
        "能 能够 可以 可 会不会 能否 可否 是否可以 有办法 得以 能不能 可不可以 足以",
    ),
    (Kind.MODAL, "must", "必须 必需 务必 应当 应  一定要 必 须 需要 需 非得 得要 只得 只好 务须"),
    (Kind.MODAL, "should", "应该 该 理应 最好是 要不要 该不该 应不应该"),
    (Kind.MODAL, "may", "可能 也许 或许 大概 恐怕 兴许 说不定 没准 有可能"),
    (Kind.MODAL, "seem", "似乎 好像 貌似 仿佛 看起来 看来 看上去 好象"),
    (Kind.MODAL, "plan", "打算 计划 准备 预计 拟"),
    (Kind.MODAL, "try", "试图 尝试 努力 试着 尽量"),
    (Kind.MODAL, "if", "如果 假如 要是 若 假设 倘若 如若 若是 万一 假若"),
    (Kind.MODAL, "unless", "除非"),
    (Kind.MODAL, "dare", "敢 敢于"),
    (Kind.TENSE, "past", "过 曾经 曾 刚才 刚刚 刚"),
    (Kind.TENSE, "done", "已经 已 早已 早就"),
    (Kind.TENSE, "future", "将 将要 将会 即将 会 快要 就要 快"),
    (Kind.TENSE, "done", "了"),
    (Kind.TENSE, "", "着 正在 正 在在"),
    (Kind.COPULA, "", "是 就是 即是 即 乃 便是 为的是 算是 算 属于 真是 还是 是的"),
    (Kind.PASSIVE, "", "被 遭 遭到 受到 被人 为所 让人"),
    (Kind.PASSIVE, "by", "由 归 经由"),
    (Kind.OBJECT, "", "把"),
    (Kind.PREPOSITION, "在", "在 于 位于"),
    (Kind.PREPOSITION, "从", "从 自 自从 打从 来自"),
    (Kind.PREPOSITION, "到", "到 至 往"),
    (Kind.PREPOSITION, "给", "给"),
    (Kind.PREPOSITION, "替", "替"),
    (Kind.PREPOSITION, "对", "对 对于 针对"),
    (Kind.PREPOSITION, "关于", "关于 至于"),
    (Kind.PREPOSITION, "向", "向 朝 朝着 向着"),
    (Kind.PREPOSITION, "跟", "跟 同"),
    (Kind.PREPOSITION, "用", "用 以 拿 通过 凭 靠 经过 经由 使用"),
    (Kind.PREPOSITION, "为", "为 为了"),
    (Kind.PREPOSITION, "比", "比 比起 相比"),
    (Kind.PREPOSITION, "按", "按 按照 根据 依据 依照 据 照"),
    (Kind.PREPOSITION, "除", "除 除了 除去"),
    (Kind.PREPOSITION, "因", "因 因为 由于"),
    (Kind.PREPOSITION, "当", "当"),
    (Kind.PREPOSITION, "作为", "作为"),
    (Kind.PREPOSITION, "离", "离 距 距离"),
    (Kind.PREPOSITION, "沿", "沿 沿着"),
    (Kind.AND, "", "和 与 及 以及 并且 和与 暨 且"),
    (Kind.AND, "or", "或 或者 或是"),
    (Kind.LIST, "", "、"),
    (Kind.LINK, "因为", "因为 由于"),
    (Kind.LINK, "所以", "所以 因此 因而 于是 从而"),
    (Kind.LINK, "但是", "但是 但 可是 不过 然而 却 只是"),
    (Kind.LINK, "虽然", "虽然 尽管 虽 虽说"),
    (Kind.LINK, "然后", "然后 接着 随后 之后再 再然后"),
    (Kind.LINK, "无论", "无论 不论 不管"),
    (Kind.EMPTY, "", "而 则 而且 并 那么 那就 就 便 所 之 等 等等 的话 不仅 不但 不光 既 又"),
    (Kind.OF, "", "的 之"),
    (Kind.DEGREE, "", "得"),
    (
        Kind.EMPTY,
        "",
        "呢 地 啊 呀 哦 哟 哈 嘛 哇 呐 喽 啦 咯 吖 诶 哎 唉 嗯 噢 喔 嘿 额 呃 滴 哩",
    ),
    (
        Kind.EMPTY,
        "",
        "请 麻烦 劳驾 拜托 一下 下儿 一下下 谢谢 谢了 谢谢了 多谢 感谢 请问 您好 你好 嗨",
    ),
    (
        Kind.EMPTY,
        "",
        "亲 各位 大神 大侠 高手 大师 一点 一点儿 点儿 些许 其实 反正 到底 究竟 毕竟 竟然 居然",
    ),
    (Kind.EMPTY, "", "请教 求助 求解 急求 跪求 急急急 在线等 吧 罢了 而已 似的 般 来着 求教 求问"),
    (
        Kind.QUESTION,
        "",
        "吗 么 是不是 是否 有没有 会不会 好不好 行不行 对不对 可不可以 能不能 能否 可否",
    ),
    (
        Kind.QUESTION,
        "",
        "要不要 该不该 行吗 好吗 可以吗 对吗 难道 莫非 是吗 对吧 好么 应不应该 想不想 难道说",
    ),
    (Kind.LOCALIZER, "里", "里 里面 里边 里头 中 内 之中 当中 之内 中间 其中 以内 内部"),
    (Kind.LOCALIZER, "上", "上 上面 上边 之上 上头"),
    (Kind.LOCALIZER, "下", "下 下面 下边 之下 底下 以下"),
    (Kind.LOCALIZER, "前", "前 前面 之前 以前 前边"),
    (Kind.LOCALIZER, "后", "后 后面 之后 以后 后边"),
    (Kind.LOCALIZER, "外", "外 外面 之外 以外 外边 外部"),
    (Kind.LOCALIZER, "旁", "旁 旁边 附近 边上 身边"),
    (Kind.LOCALIZER, "间", "之间 间"),
    (Kind.LOCALIZER, "时", "时 时候 的时候 之时 期间 时期"),
    (Kind.LOCALIZER, "以上", "以上"),
    (Kind.LOCALIZER, "左", "左边 左侧 左面 左"),
    (Kind.LOCALIZER, "右", "右边 右侧 右面 右"),
    (Kind.LOCALIZER, "东", "以东 东部 东边 东面"),
    (Kind.LOCALIZER, "西", "以西 西部 西边 西面"),
    (Kind.LOCALIZER, "南", "以南 南部 南边 南面"),
    (Kind.LOCALIZER, "北", "以北 北部 北边 北面"),
)
"""Of several groups with a word the last one wins; `place` decides again by place."""

MODAL_QUESTIONS = {
    "能不能": "can",
    "能否": "can",
    "可否": "can",
    "可不可以": "can",
    "会不会": "",
    "要不要": "want",
    "该不该": "should",
    "应不应该": "should",
    "想不想": "want",
}
QUESTIONS: dict[str, str] = {
    word: line.split()[0]
    for line in """
怎么 怎样 如何 咋 怎 怎么着 咋个 怎么才能 怎样才能 怎么才 如何才能 怎地 咋么
怎么样 咋样 如何样 怎样的 怎么样的
怎么办 咋办 怎么弄 怎么搞 怎办 咋整 怎么处理 如何处理 怎么解决 如何解决
什么 啥 什麽 甚么 啥子 神马
哪些 哪几
什么样 啥样 什么样的 何种 哪种 怎样的
哪
哪里 哪儿 在哪 在哪里 在哪儿 何处 什么地方 啥地方 哪边 那里有
哪个 哪一个 哪一种 哪一部 哪一本 哪一首 哪款 哪家 哪部 哪位 哪本 哪首 哪支 哪只 哪条 哪座 哪所
为什么 为啥 为何 干嘛 干吗 凭什么 何以 为什么会 怎么会 怎么回事 咋回事 为毛 缘何
什么时候 何时 啥时候 几时 什么时间 啥时 哪天
谁 何人 哪个人 什么人
多少钱 什么价格 什么价 啥价 几钱 几块钱
多少 多少个 几多
几 几个
多久 多长时间 多少时间 几久
多大 多少岁 几岁
多高 多长 多远 多重 多深 多宽
第几
""".strip().splitlines()
    for word in line.split()
}
"""Question words to the one that stands for them."""
QUESTIONS |= {word: word for word in ("多长", "多远", "多重", "多深", "多宽")}

PRONOUNS: dict[str, str] = {
    word: line.split()[0]
    for line in """
我 俺 本人 咱 人家
你 您
他
她
它
我们 咱们 俺们 我俩
你们 您们
他们
她们
它们
自己 自个儿 自身 本身
大家 大伙 大家伙
这 这个 此 该个 这款 这种 这部 这样 这位 这件 这首 这些
那 那个 那款 那种 那部 那样 那位 那些
这里 这儿 这边
那里 那儿 那边
""".strip().splitlines()
    for word in line.split()
}
PERSONS = words(
    "我 你 他 她 我们 你们 他们 她们 自己 大家 谁 人 别人 有人 人们 用户 老师 学生 孩子 妈妈 爸爸 "
    "朋友 客户 医生 同事 老板 先生 女士 司机 女生 男生 宝宝 老婆 老公 女人 男人 经理"
)

QUANTIFIERS: dict[str, str] = {
    word: line.split()[0]
    for line in """
所有 全部 一切 全体 所有的 全都 通通 统统 凡是 任何
每 每个 每一个 每位 各个 各 每一
一些 有些 某些 有的 若干 一部分
某个 某
很多 许多 大量 不少 好多 众多 诸多 大批 好些 好几 不少的
大多数 多数 绝大多数 大部分 多半 绝大部分 大都 大多
只 仅 仅仅 只有 唯一 光 单单 只能 唯有 不过是 只是
至少 最少 不少于 起码 最低
至多 最多 不超过 顶多 不多于
超过 多于 大于 高于 超出
不到 少于 小于 低于 不足 不满
大约 约 左右 大概 差不多 上下 约莫
将近 接近 近
几乎
差点 差一点
总是 老是 总 每次
一直 始终 时刻
永远
向来 一向 从来
经常 常常 常 时常 频繁
通常 往往 一般 一般来说
有时 有时候 时而
偶尔 间或 不时 时不时
少数 个别 极少数
都 均 皆 一律
再 又 再次 重新 再度 重
唯独
尤其
双方 彼此 互相 相互
第一 首
首先 最先
最后 最终 末
多次 屡次 反复 一再
几 数 几个 数个
""".strip().splitlines()
    for word in line.split()
}
"""How much and how often, without a figure."""
HOW_OFTEN = words("再 总是 一直 永远 向来 经常 通常 有时 偶尔 多次")
"""Those that stand before a verb, never before a noun."""

ADVERBS = words(
    "很 太 挺 蛮 颇 极 超 更 最 非常 特别 比较 十分 相当 稍 稍微 略 极其 极度 极为 自动 突然 "
    "免费 互相 直接 主动 亲自 逐渐 "
    "持续 不断 连续 首次 共同 分别 单独 同时 经常 完全 立刻 全面 公开 永久 临时 手动 默认 尽快 "
    "赶紧 一起 先 "
    "再 还 就 才 都 也 又 好好 依次 "
    "各自 先后 大约 约 绝对 根本 长期 定期 每天 天天 当场 亲手 正式 最终 重新"
)
"""Before a verb these say how it is done, whatever class the segmenter gives them."""

MEASURES = words(
    "个 只 条 张 件 部 首 款 种 位 名 本 台 辆 家 座 支 间 项 份 场 次 遍 回 对 双 套 朵 棵 颗 "
    "粒 篇 则 "
    "幅 句 段 块 片 头 匹 把 杯 瓶 碗 盒 袋 包 根 扇 门 所 艘 架 群 批 些 点 样 枚 期 届 集 层 "
    "顿 阵 道 "
    "滴 串 团 排 列 组 伙 起 宗 桩 笔 幢 栋 口 封 盏 面 根 股 声 番 趟 轮 类 代 级 号"
)

NEGATION_FREE = words(
    "不时 "
    "不断 不仅 不但 不过 不同 不少 不错 不久 不光 不管 不论 不如 不安 不满 不禁 不妨 不料 不幸 "
    "不愧 不齿 "
    "不足 不良 不利 不止 不只 不惜 不免 不由得 不约而同 不可思议 不得了 不好意思 不动产 不锈钢 "
    "不倒翁 "
    "对不起 差不多 了不起 来不及 要不 要不然 忍不住 巴不得 恨不得 说不定 不见得 不知不觉 不等式 "
    "无论 无线 无数 无聊 无限 无名 无锡 无意 无人机 无人驾驶 无所谓 无比 无疑 无非 无奈 无辜 "
    "无花果 "
    "非常 非洲 非法 非凡 非得 除非 是非 北非 南非 东非 西非 非遗 "
    "别人 特别 别墅 区别 个别 性别 级别 分别 告别 识别 类别 别名 别的 别处 辨别 差别 派别 离别 "
    "别针 "
    "没收 没落 埋没 沉没 出没 淹没 未来 未婚 未婚夫 未婚妻 未央 未必 未免 未知数"
)
"""Words with 不 没 无 非 别 未 in them that deny nothing."""
