"""What two Chinese texts share or do not share when they are read.

A pair is the "same" if the readings have the same heavy pieces with the same part, denial,
modality and tense; else it differs. Each line says why.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.text.reading import read as reading
from totonoe_core.text.reading.chinese.function_words import IGNORED
from totonoe_core.text.reading.chinese.grammar import GRAMMAR, Kind
from totonoe_core.text.reading.model import Piece, PieceType, Reading
from totonoe_core.text.reading.wrapping import inner

_LIGHT = 0.5


def read(text: str) -> Reading:
    """Return the reading of a Chinese text, without its wrappers."""
    return reading.read(text, "zh")


def _parts(reading: Reading) -> list[tuple[object, ...]]:
    """What is said, without its order where every part is known, and the function words."""
    heavy = [piece for piece in reading.pieces if piece.weight > _LIGHT]
    found = [(p.key, p.role, p.head, p.negated, p.modality, p.tense) for p in heavy]
    known = all(p.role and (p.head or p.role == "predicate") for p in heavy)
    counted = sorted((word.key,) for word in reading.function_words)
    return [*(sorted(found) if known else found), *counted]


def _piece(text: str, surface: str) -> Piece:
    [piece] = [p for p in read(text).pieces if text[p.start : p.end] == surface]
    return piece


SAME = [
    ("passive", "苹果被小狗吃了", "小狗吃了苹果"),
    ("把", "他把苹果吃了", "他吃了苹果"),
    ("由 names the doer", "数据库由张伟维护", "张伟维护数据库"),
    ("question words", "如何安装这个软件", "咋安装这个软件"),
    ("what is X", "什么是微服务", "微服务是什么"),
    ("的 left out", "日本人口", "日本的人口"),
    ("a row has no order", "苹果和香蕉都很好吃", "香蕉与苹果都很好吃"),
    ("A不A asks like 吗", "他是不是老师", "他是老师吗"),
    ("double denial", "不得不重启服务器", "必须重启服务器"),
    ("do not forget", "别忘了备份数据库", "记得备份数据库"),
    ("不断 denies nothing", "不断改进产品", "持续改进产品"),
    ("没 is 没有", "他没有手机", "他没手机"),
    ("cannot be achieved", "手机打不开", "手机无法打开"),
    ("synonyms", "我妈妈买了一台电脑", "我母亲购买了一台计算机"),
    ("politeness", "请问怎么去机场？", "怎么去机场"),
    ("一下 and reduplication", "看一看这份报告", "看看这份报告"),
    ("traditional script", "用戶喜歡深色模式", "用户喜欢深色模式"),
    ("width and spaces", "ＡＰＩ　端口 ８０８０", "API端口8080"),
    ("particles and marks", "今天好冷啊！！", "今天好冷"),
    ("where a thing happens", "他在上海出生", "他出生在上海"),
    ("by whom", "法务审查这份协议", "这份协议由法务审查"),
    ("what is used", "小组用的是飞书", "小组用飞书"),
    ("fronted time", "十月我的侄子开始工作", "我的侄子十月开始工作"),
    ("already done", "车票已经买了", "车票买了"),
    ("a part of a whole", "五分之二的门店盈利", "40% 的门店盈利"),
    ("every week", "每个礼拜备份", "每周备份"),
    ("every day, all", "他每天都跑步", "他天天跑步"),
    ("and by a comma", "他抽烟，而且喝酒", "他抽烟，喝酒"),
    ("at the end", "他喝咖啡啊", "他喝咖啡"),
    ("I, and nobody else", "我喜欢咖啡", "喜欢咖啡"),
    ("the present", "他目前住在天津", "他住在天津"),
]
WRAPPED = [
    ("label", "备注：网关每月重启"),
    ("label of two words", "工作记录：网关每月重启"),
    ("numbered label", "约定 12：网关每月重启"),
    ("brackets", "【运维备忘】网关每月重启"),
    ("two brackets", "[memory][项目备注] 网关每月重启"),
    ("heading", "## 注意事项\n网关每月重启"),
    ("hashtags", "网关每月重启 #运维备忘 #备忘"),
    ("element", "<note>网关每月重启</note>"),
    ("by the way", "顺便提一下，网关每月重启"),
    ("as discussed", "正如之前讨论的，网关每月重启"),
    ("greeting and thanks", "大家好，提醒一下，网关每月重启，谢谢"),
    ("source", "据用户所说：网关每月重启"),
    ("sign", "📌 网关每月重启"),
    ("closing", "网关每月重启，特此通知。"),
    ("traditional", "備註：網關每月重啟"),
]
DIFFERENT = [
    ("allowed or done", "家属可陪同检查", "家属陪同检查"),
    ("who manages whom", "张伟管理李娜", "李娜管理张伟"),
    ("passive turned", "张伟打败了王强", "张伟被王强打败了"),
    ("by whom", "李娜由张伟管理", "张伟由李娜管理"),
    ("compared with what", "北京比上海大", "上海比北京大"),
    ("from and to", "他从北京搬到了上海", "他从上海搬到了北京"),
    ("into what", "把语音转换成文字", "把文字转换成语音"),
    ("for whom", "妈妈给爸爸买了礼物", "爸爸给妈妈买了礼物"),
    ("where it is put", "机器人把箱子放在桌子上", "机器人把桌子放在箱子上"),
    ("whose teacher", "小明的爸爸的老师", "小明的老师的爸爸"),
    ("foreign names", "约翰·史密斯是玛丽·布朗的老师", "玛丽·布朗是约翰·史密斯的老师"),
    ("nationalities", "美国作家汤姆和英国画家杰克", "英国作家汤姆和美国画家杰克"),
    ("respectively", "张三和李四分别住在北京和上海", "张三和李四分别住在上海和北京"),
    ("years", "1912年他去了巴黎,1920年去了柏林", "1920年他去了巴黎,1912年去了柏林"),
    ("order of events", "他先吃饭后洗澡", "他先洗澡后吃饭"),
    ("whose", "我的手机坏了", "手机坏了"),
    ("whose, beside another's", "我的手机坏了", "他的手机坏了"),
    ("to where it ships", "发货到哪里", "哪里发货"),
    ("to where it ships, from where", "发货到哪儿？", "从哪儿发货？"),
    ("denied", "我喜欢咖啡", "我不喜欢咖啡"),
    ("denied existence", "他有手机", "他没有手机"),
    ("allowed, forbidden", "允许部署", "禁止部署"),
    ("must, need not", "必须重启服务器", "不必重启服务器"),
    ("wish and past", "他想去北京", "他去过北京"),
    ("no longer", "用户使用深色模式", "用户不再使用深色模式"),
    ("all, some", "所有用户都有权限", "一些用户有权限"),
    ("only", "只有管理员可以删除", "管理员可以删除"),
    ("before, after", "部署前测试", "部署后测试"),
    ("back up, delete", "备份数据库", "删除数据库"),
    ("always, never", "总是使用缓存", "从不使用缓存"),
    ("ports", "端口是8080", "端口是8081"),
    ("a question", "他是老师吗", "他是老师"),
    ("which is asked", "他什么时候来", "他为什么来"),
    ("direction", "公司位于北京东部", "公司位于北京西部"),
    ("tool and object", "用Python调用Java", "用Java调用Python"),
    ("who wore what", "戴红帽子的人修车，戴白帽子的人看书", "戴白帽子的人修车，戴红帽子的人看书"),
    ("comparison turned", "小何比小杜高", "小杜比小何高"),
    ("superior turned", "冯涛是韩雪的上司", "韩雪是冯涛的上司"),
    ("marriage turned", "何平嫁给了宋佳", "宋佳嫁给了何平"),
    ("cause turned", "断电导致死机", "死机导致断电"),
    ("numbered things turned", "机器人甲等机器人乙", "机器人乙等机器人甲"),
    ("not yet", "协议已经签了", "协议还没签"),
    ("not lost", "收据丢了", "收据没丢"),
    ("can be understood", "他听得懂粤语", "他听不懂粤语"),
    ("not refunded", "这笔费用可以退还", "这笔费用不予退还"),
    ("不住 is no adverb", "张伟不住在天津", "张伟持续在天津"),
    ("not cut off", "机房不断电", "机房持续电"),
    ("not married", "何平没娶宋佳", "宋佳嫁给了何平"),
    ("did not cause", "升级没有导致故障", "升级导致故障"),
    ("no hobby", "钓鱼不是张伟的爱好", "张伟喜欢钓鱼"),
    ("escapes", r"用 \w+ 匹配", r"用 \W+ 匹配"),
    ("maximum", "取最大值", "取最小值"),
    ("done or to be done", "重启了网关", "重启网关"),
    ("always, sometimes", "服务一直超时", "服务有时超时"),
    ("usually, always", "构建通常很慢", "构建总是很慢"),
    ("not always", "服务一直超时", "服务超时"),
    ("already, about to", "系统已经升级", "系统将要升级"),
    ("already, with somebody who does it", "团队已经用飞书", "团队用飞书"),
    ("being done", "团队正在用飞书", "团队用飞书"),
    ("once, no more", "团队曾经用飞书", "团队用了飞书"),
    ("did, does", "张伟维护了网关", "张伟维护网关"),
    ("and, or", "登录用密码和短信", "登录用密码或短信"),
    ("because, although", "因为下雨，他来了", "虽然下雨，他来了"),
    ("a cause or a row", "下雨，所以他迟到", "下雨，他迟到"),
    ("hearsay", "据说，网关每月重启", "网关每月重启"),
    ("hearsay without a comma", "听说网关每月重启", "网关每月重启"),
    ("opinion", "我觉得网关每月重启", "网关每月重启"),
    ("perhaps", "也许这是老问题", "这是老问题"),
    ("perhaps forbidden", "也许禁止部署", "禁止部署"),
    ("also", "他也喝咖啡", "他喝咖啡"),
    ("still", "他还喝咖啡", "他喝咖啡"),
    ("only then", "他才喝咖啡", "他喝咖啡"),
    ("lately", "他最近喝咖啡", "他喝咖啡"),
    ("all of them", "他们都喝咖啡", "他们喝咖啡"),
    ("nearly, almost did", "服务几乎停止", "服务差点停止"),
    ("too, very", "照片太大", "照片很大"),
    ("best, good", "什么手机最好", "什么手机好"),
    ("on behalf of", "他给客户写信", "他替客户写信"),
    ("once it is", "一旦断电就报警", "断电就报警"),
    ("label that says something", "端口：8080", "备注：8080"),
    ("brackets that say something", "【生产】开启调试日志", "【测试】开启调试日志"),
]


def _ids(rows: list[tuple[str, str, str]]) -> list[str]:
    return [row[0] for row in rows]


@pytest.mark.parametrize(("_why", "one", "two"), SAME, ids=_ids(SAME))
def test_read_same_statement_in_other_words_gives_same_parts(_why: str, one: str, two: str) -> None:
    assert _parts(read(one)) == _parts(read(two))
    assert read(one).asks == read(two).asks


@pytest.mark.parametrize(("_why", "text"), WRAPPED, ids=[row[0] for row in WRAPPED])
def test_read_wrapped_statement_gives_the_parts_of_the_bare_one(_why: str, text: str) -> None:
    assert _parts(read(text)) == _parts(read("网关每月重启"))


@pytest.mark.parametrize(
    "text",
    [
        "那几个库已经关了",
        "谁都看不到机器人的日志",
        "不管多少，都由租客先垫",
        "没有哪一次用户晚上回消息",
        "虽然换了编译器，构建还是很慢",
        "最多重试三次",
        "单子上写的还是旧地址",
        "我们这个团队呢，用看板管理任务",
        "机修工没发现刹车有什么问题。",
        "孩子上哪门课，由他自己决定。",
    ],
)
def test_read_statement_with_an_interrogative_inside_asks_nothing(text: str) -> None:
    assert not read(text).asks
    assert read(f"{text}吗").asks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("张伟和李娜喝茶或咖啡", [("或", "conjunction")]),
        ("因为断电，所以服务中断", [("因", "conjunction")]),
        ("正在备份数据库", [("正", "relation")]),
        ("周五在北京开会", [("在", "relation")]),
        ("我喝茶吧", []),
    ],
)
def test_read_lists_the_function_words_that_count(
    text: str, expected: list[tuple[str, str]]
) -> None:
    found = [(text[w.start], w.kind.value) for w in read(text).function_words]
    assert found == expected


def test_every_ignored_word_has_a_reason_and_no_piece_is_made_of_it() -> None:
    assert all(reason for reason in IGNORED.values())
    ignored = set(IGNORED) & set(GRAMMAR)
    assert {GRAMMAR[word][0] for word in ignored}.isdisjoint(
        {Kind.NOT, Kind.PREPOSITION, Kind.PASSIVE, Kind.OBJECT}
    )


@pytest.mark.parametrize("text", ["备注：", "你好", "谢谢", "## 备注"])
def test_inner_of_a_mere_wrapper_is_all_of_it(text: str) -> None:
    assert inner(text, "zh") == (0, len(text))


@pytest.mark.parametrize(("_why", "one", "two"), DIFFERENT, ids=_ids(DIFFERENT))
def test_read_other_statement_gives_other_parts(_why: str, one: str, two: str) -> None:
    assert (_parts(read(one)), read(one).asks) != (_parts(read(two)), read(two).asks)


@pytest.mark.parametrize(
    "word", ["不断", "不仅", "不过", "不同", "不久", "无论", "非常", "特别", "没收", "未来", "别人"]
)
def test_read_word_with_a_negative_character_denies_nothing(word: str) -> None:
    assert not any(piece.negated for piece in read(f"{word}喜欢音乐").pieces)


def test_read_negation_reaches_the_verb_over_adverbs_and_prepositions() -> None:
    assert _piece("他不在公司抽烟", "抽烟").negated
    assert _piece("我们没有马上把结果发给客户", "发").negated
    assert not _piece("他不抽烟但是喝酒", "喝酒").negated


@pytest.mark.parametrize(
    ("text", "surface", "modality", "tense"),
    [
        ("他想学画画", "学", "want", ""),
        ("用户可以删除文件", "删除", "can", ""),
        ("用户必须登录", "登录", "must", ""),
        ("他应该休息", "休息", "should", ""),
        ("明天可能下雨", "下雨", "may", ""),
        ("他打算辞职", "辞职", "plan", ""),
        ("他去过日本", "去", "", "past"),
        ("已经毕业", "毕业", "", "past"),
        ("系统将升级", "升级", "", "future"),
        ("他很少抽烟", "抽烟", "hardly", ""),
    ],
)
def test_read_auxiliaries_become_modality_and_tense(
    text: str, surface: str, modality: str, tense: str
) -> None:
    found = _piece(text, surface)
    assert (found.modality, found.tense) == (modality, tense)


def test_read_figure_inside_a_name_is_no_figure() -> None:
    assert not any(p.type is PieceType.NUMBER for p in read("张三和李四分别发言").pieces)


def test_read_mention_is_compared_by_its_characters() -> None:
    one, two = read("啊西吧是什么意思"), read("西吧是什么意思")
    assert one.pieces[0].key != two.pieces[0].key


def test_read_opposites_and_loose_synonyms_are_named() -> None:
    assert "关闭" in _piece("打开空调", "打开").opposites
    assert _piece("他是男人", "男人").near


def test_read_empty_text_is_not_certain() -> None:
    assert read("") == Reading("zh", (), certain=False)
    assert not read("！！！").certain


@pytest.mark.parametrize("text", ["我想说的是", "我想说的是。", "我的生日是"])
def test_text_that_breaks_off_behind_a_copula_is_not_certain(text: str) -> None:
    assert not read(text).certain
    assert read(text + "五月").certain


@settings(max_examples=60, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("我不没的是有什么吗把被给在了过好得看打开关《》·，。？1年a张李"),
        max_size=40,
    )
)
def test_read_of_likely_text_keeps_its_promises(text: str) -> None:
    _check(text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_read_of_any_text_keeps_its_promises(text: str) -> None:
    _check(text)


def _check(text: str) -> None:
    found = read(text)
    starts = [piece.start for piece in found.pieces]
    assert starts == sorted(starts)
    assert all(0 <= piece.start < piece.end <= len(text) for piece in found.pieces)
    assert all(piece.key for piece in found.pieces)
    assert read(text) == found


@pytest.mark.parametrize("unit", ["好不好", "有什么", "还是", "《", "·", "的", "意思"])
def test_read_of_a_long_repetition_ends(unit: str) -> None:
    text = unit * (2000 // len(unit))
    assert all(piece.end <= len(text) for piece in read(text).pieces)
