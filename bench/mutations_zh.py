"""Edits of Chinese sentences that change what they say (`bench.mutations`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

Edit = Callable[[str], Iterable[str]]
_NUMBER = re.compile(r"(?<![\w.:/-])[1-9][0-9]{0,3}(?![A-Za-z0-9_.:/%-])")
_X = r"[^，。；！？、,.;!?:：\s]"
_END = r"(?=[。.!！]?$)"
_NAMES = (
    "张伟|李娜|周婷|陈昊|张敏|老吴|小林|小陈|小杜|小何|薛阳|邓蓉|谢明|高洁|马克|索菲亚|郭霞|"
    "丁岩|卫东|赵敏|韩雪|冯涛|肖老师|潘老师|张医生|周女士|爸爸|妈妈|爷爷|奶奶|田中|甲方|乙方"
)


def _replaced(table: str) -> Edit:
    """Return an edit that exchanges one word or phrase for another: "和 > 或" lines.

    `<>` works in both directions. The left side of `>` is a pattern.
    """
    pairs = []
    for line in table.strip().splitlines():
        if "<>" in line:
            one, other = (side.strip() for side in line.split("<>"))
            pairs += [(one, other), (other, one)]
        else:
            one, _, other = (side.strip() for side in line.partition(" >"))
            pairs.append((one, other))
    patterns = [(re.compile(pair), other) for pair, other in pairs]

    def edit(text: str) -> Iterator[str]:
        for pattern, other in patterns:
            for match in pattern.finditer(text):
                yield text[: match.start()] + match.expand(other) + text[match.end() :]

    return edit


def _put_before(words: str, more: str) -> Edit:
    """Return an edit that puts words before the first of some words."""
    pattern = re.compile(words)

    def edit(text: str) -> Iterator[str]:
        if match := pattern.search(text):
            yield text[: match.start()] + more + text[match.start() :]

    return edit


def _states(text: str) -> bool:
    """Return whether a text is a Chinese statement, no question, order, label or fragment."""
    return (
        re.match(r"[一-鿿]", text) is not None
        and re.search(r"[？?:：]|吗[。！]?$|吧[。！]?$", text) is None
        and re.match(
            r"请|别|不要|记得|记住|注意|务必|千万|提醒|你好|如|供|众所|结论|经|卸载|给", text
        )
        is None
        and len(re.findall(r"[一-鿿]", text)) > 5
    )


def _begun(more: str, unless: str = "$^") -> Edit:
    """Return an edit that begins a statement with other words.

    `unless` finds texts that say the same already.
    """

    def edit(text: str) -> Iterator[str]:
        if _states(text) and not re.search(unless, text):
            yield more + text

    return edit


def _ended(more: str) -> Edit:
    """Return an edit that adds words at the end of a statement."""

    def edit(text: str) -> Iterator[str]:
        if _states(text):
            yield text.rstrip("。.!！") + more

    return edit


def _other_number(text: str) -> Iterator[str]:
    for match in _NUMBER.finditer(text):
        yield text[: match.start()] + str(int(match.group()) + 1) + text[match.end() :]


def _other_numeral(text: str) -> Iterator[str]:
    """Change a numeral before a measure word: 三次."""
    following = "三四五六七八九二"
    for match in re.finditer(r"[二三四五六七八九](?=[个次台天年周份人条岁层楼号块点级组])", text):
        other = following["二三四五六七八九".index(match.group())]
        yield text[: match.start()] + other + text[match.end() :]


def _last_digit(text: str) -> Iterator[str]:
    """Change the last digit of an identifier, version or path."""
    for match in re.finditer(r"(?<=[A-Za-z0-9_./:-])[0-9](?![A-Za-z0-9_])", text):
        yield text[: match.start()] + str((int(match.group()) + 1) % 10) + text[match.end() :]


def _exchanged_names(text: str) -> Iterator[str]:
    """Exchange two names around a verb: 张伟管理李娜."""
    pattern = rf"({_NAMES})({_X}{{1,12}}?)({_NAMES})"
    for match in re.finditer(pattern, text):
        one, middle, other = match.groups()
        if one != other and not re.search(r"^(和|与|跟|及|或|、)|一起|结婚", middle):
            yield text[: match.start()] + other + middle + one + text[match.end() :]


def _turned(pattern: str) -> Edit:
    """Return an edit that exchanges the first and third group of a pattern."""
    compiled = re.compile(pattern)

    def edit(text: str) -> Iterator[str]:
        for match in compiled.finditer(text):
            one, middle, other = match.groups()
            if one != other:
                yield text[: match.start()] + other + middle + one + text[match.end() :]

    return edit


# A common subject, and what begins what is said of it.
_SUBJECTS = (
    "用户|团队|机器人|系统|爸爸|妈妈|爷爷|奶奶|外婆|外公|夹爪|数据库|服务|接口|孩子|他|"
    "她|他们|我们|网关|公司|"
    f"缓存|模块|集群|底盘|老板|客户|{_NAMES}"
)
_VERBS = (
    "用|使用|吃|喝|住|养|去|学|带|采用|支持|监听|依赖|负责|维护|管理|调用|转发|保存|存在|"
    "部署在|运行|跑在|喜欢|"
    "偏爱|讨厌|怕|教|请|拒绝|坚持|每|在[^线场职]|把|给|对|从|由|需要"
)


_PEOPLE = f"用户|爸爸|妈妈|爷爷|奶奶|他|她|老板|客户|{_NAMES}"


def _adverb(word: str, unless: str = "$^") -> Edit:
    """Return an edit that puts an adverb between a common subject and its predicate.

    `unless` finds texts that say the same already.
    """
    put = _replaced(f"({_SUBJECTS})(?={_VERBS}) > \\1{word}")
    return lambda text: () if re.search(unless, text) else put(text)


_ALL = _replaced("(?<=[一-鿿])都(?=[一-鿿]) > ")

KINDS: dict[str, Edit] = {
    "number": _other_number,
    "numeral": _other_numeral,
    "last digit": _last_digit,
    "unit": _replaced(
        """
        MB <> GB
        毫秒 > 微秒
        (?<=[0-9一二三四五六七八九十半]个)小时 > 星期
        (?<![毫微])秒 > 分钟
        (?<=[0-9一二三四五六七八九十半])分钟 > 秒
        (?<=[0-9 二三四五六七八九十])小时 > 天
        (?<=[0-9 二三四五六七八九十])天 > 小时
        (?<=[一二三四五六七八九十0-9])周 > 个月
        公里 > 米
        千克 > 克
        kg > g
        公斤 > 克
        厘米 > 毫米
        毫米 > 厘米
        元 > 美元
        (?<=[半两三五六七八])年 > 个月
        ms > s
        """
    ),
    "weekday": _replaced("周([一二三四]) > 周五\n周五 <> 周六\n周日 > 周一\n每周二 > 每周四"),
    "month": _replaced(
        "一月 <> 二月\n三月 <> 四月\n五月 <> 六月\n七月 <> 八月\n九月 <> 十月\n十一月 > 十二月"
    ),
    "day": _replaced(
        "今天 <> 明天\n昨天 <> 前天\n上周 <> 下周\n本月 <> 下月\n今年 <> 明年\n上个月 > 下个月\n"
        "月底 <> 月初\n年初 <> 年底\n去年 > 前年"
    ),
    "part of the day": _replaced(
        "早上 <> 晚上\n上午 <> 下午\n中午 <> 半夜\n凌晨 > 下午\n每晚 > 每早\n"
        "晚上(?![一二三四五六七八九十两0-9 ]) > 傍晚\n"
        "早上(?![一二三四五六七八九十两0-9 ]) > 上午"
    ),
    "name": _replaced(
        "张伟 > 李娜\n李娜 > 张伟\n陈昊 <> 周婷\n老吴 <> 小林\n张敏 > 赵敏\n小陈 > 小杜\n"
        "薛阳 > 丁岩\n"
        "马克 > 汤姆\n谢明 > 高洁\n爸爸 <> 妈妈\n爷爷 <> 奶奶\n郭霞 > 郭敏\n外公 <> 外婆\n"
        "杭州 <> 苏州\n"
        "上海 <> 北京\n甲 > 乙\n女儿 <> 儿子"
    ),
    "exchanged names": _exchanged_names,
    "denied": _replaced(
        """
        (?<=[^不要])喜欢 > 不喜欢
        (?<=[^不正])使用(?!率|者|方) > 不使用
        (?<=[一-鿿])需要(?=[一-鿿]) > 不需要
        必须 > 不必
        可以 > 不可以
        (?<=[一-鿿])会(?=[重触限打自在降]) > 不会
        (?<=[户人器统们爪])能(?=[一-鿿]{2}) > 不能
        支持 > 不支持
        已经?(?=[修发签关部批完]) > 还没
        (?<=[户爸妈队他])有 > 没有
        (?<=[户人器件证匙本关网司])在(?=[一-鿿]{2,4}[。]?$) > 不在
        """
    ),
    "not denied": _replaced(
        """
        不喜欢 > 喜欢
        不使用 > 使用
        没有(?=[一-鿿]{2}) > 有
        不会(?=[一-鿿]) > 会
        不能(?=[一-鿿]) > 能
        不要(?=[一-鿿]) > 要
        不吃 > 吃
        不喝 > 喝
        从不 > 总是
        禁止 > 允许
        不支持 > 支持
        不需要 > 需要
        """
    ),
    "和, 或": _replaced(
        """
        (?<=[一-鿿A-Za-z0-9 ])和(?= ?[一-鿿A-Za-z0-9]) > 或
        或者? > 和
        以及 > 或者
        、(?=[一-鿿]{1,4}和) > 或
        """
    ),
    "因为, 虽然": _replaced(
        "(?<![是要])因为 > 虽然\n虽然 > 因为\n由于 > 尽管\n[，,]所以 > ，但是\n因此 > 却"
    ),
    "如果, 除非": _replaced(
        "如果 > 除非\n只要(?!求) > 除非\n除非(.*)否则 > 如果\\1那么\n如果 > 因为\n一旦 > 除非"
    ),
    "但是, 所以": _replaced("[，,]但是? > ，所以\n[，,]不过 > ，因此\n[，,]却 > ，所以"),
    "之前, 之后": _replaced(
        "之前 <> 之后\n以前 <> 以后\n(?<=[布署验启写])前 > 后\n(?<=[布署验启完])后 > 前\n"
        "前(?=必须) > 后\n"
        "时(?=[，先]) > 前"
    ),
    "期间, 之后": _replaced(
        "期间 > 之后\n的时候 > 之前\n(?<=[一-鿿])(?<!小)时([，,]) > 之前\\1\n"
        "直到(.*)为止 > 自从\\1之后"
    ),
    "从, 到": _replaced(
        rf"""
        从({_X}{{1,10}}?)(?=[迁搬改切]) > 往\1
        搬到 > 搬离
        改到 > 改自
        (?<=[0-9] )到(?= [0-9]) > 或
        到(?=[上北杭苏]) > 从
        """
    ),
    "在, 从": _replaced(
        rf"""
        (?<![现正存实所不])在(?={_X}{{1,6}}[里上]) > 从
        (?<![现正存实所不])在(?={_X}{{1,4}}(?:部署|运行|开会|登机)) > 离
        (?<![现正存实所不])在(?={_X}{{2,6}}$) > 往
        """
    ),
    "给, 替": _replaced(
        rf"""
        给(?={_X}{{1,6}}(?:发|打|回|写|送|买|寄|看)) > 替
        给(?=客户|用户|爸|妈|奶) > 向
        """
    ),
    "对, 跟": _replaced(
        rf"""
        对(?={_X}{{1,6}}(?:说|友好|负责)) > 跟
        (?<=[人户])跟 > 对
        跟(?=[一-鿿]{2}) > 替
        对(?=花生|海鲜|芒果|尘螨|客户|用户|孩子|外) > 跟
        向(?=[一-鿿]{1, 4}[要借汇申提报]) > 从
        向(?={_X}{{1,4}}汇报) > 替
        """
    ),
    "为, 被": _replaced(
        "由(?=[一-鿿A-Za-z ]{1,8}(?:负责|维护|保管|管理)) > 为\n"
        "(?<![急不])按(?!钮|下|键)(?=[一-鿿]) > 不按"
    ),
    "用, 给": _replaced(
        "用(?=[A-Z ][A-Za-z ]+(?:写|做|管|存|替)) > 给\n"
        "通过(?=[一-鿿A-Z ]{2,8}(?:连|发|传|访)) > 绕过"
    ),
    "上, 下": _replaced(
        """
        (?<=[桌架子板墙盘床柜椅])上 > 下
        (?<=[桌架子板墙盘床柜椅])下 > 上
        上面 <> 下面
        楼上 <> 楼下
        上方 <> 下方
        """
    ),
    "里, 外": _replaced(
        "(?<=[屉房库箱室厅家包盒柜城厨])里 > 外\n(?<=[一-鿿])里面 > 外面\n之内 <> 之外\n"
        "以内 > 以外\n"
        "内网 <> 外网\n室内 <> 室外"
    ),
    "旁, 上": _replaced("旁边 > 上面\n附近 > 里\n前面 <> 后面\n门口 > 门后\n对面 > 旁边"),
    "左, 右": _replaced("左 <> 右\n东 <> 西\n南 <> 北\n正面 <> 反面"),
    "已经, 将要": _replaced(
        "已经 > 将要\n已经?(?=[修发签关部批完废]) > 将\n"
        "已(?=[修发签关部批完处报被][一-鿿。]) > 即将"
    ),
    "已经": _adverb("已经", "已|了|过|早就|是.*的。?$"),
    "将要": _adverb("将要", "将|会"),
    "正在": _adverb("正在", "在"),
    "曾经": _adverb("曾经", "过"),
    "过": _replaced(
        "(?<=[他她户人们]去)(?=[一-鿿]{2}) > 过\n使用(?=[一-鿿A-Z ])(?!率) > 使用过\n"
        "(?<=[户他她]喜欢)(?=[一-鿿]) > 过\n"
        "住在 > 住过\n学(?=[法德日英]) > 学过\n养了 > 养过"
    ),
    "了, 要": _replaced(r"(?<![果为了])([修签买改搬关发换写装])了(?=[。一-鿿]) > 要\1"),
    "没有了": _replaced(r"(?<![果为了])([修签买改搬关发换写装养挪])了(?=[一-鿿]) > \1"),
    "没有完": _replaced("([跑写做喝吃看修])完(?=[一-鿿])(?!.*后) > \\1"),
    "开始, 停止": _replaced("开始 > 停止\n继续 > 停止\n保持 > 恢复"),
    "还, 已经": _replaced("还没(?!人) > 已经\n还在 > 已经不在\n刚刚? > 早就\n仍然?在? > 不再"),
    "可能": _adverb("可能"),
    "应该": _adverb("应该"),
    "想": _adverb("想"),
    "必须, 可以": _replaced(
        "必须 <> 可以\n应该 <> 可以\n必须 > 应该\n需要(?=[一-鿿]) > 可以\n"
        "要(?=[先经每提确]) > 可以\n"
        "可能 > 必须\n不能 > 不必\n打算 > 决定\n想 > 必须\n一定 > 也许"
    ),
    "未必": _replaced(
        "(?<=[一-鿿])会(?=[重触限打自在降]) > 未必会\n一定(?=[一-鿿]) > 不一定\n必须 > 没必要\n"
        "(?<=[户人器统们爪])能(?=[一-鿿]) > 难以"
    ),
    "似乎": _adverb("似乎"),
    "也许": _begun("也许", "可能|大概"),
    "所有, 有些": _replaced(
        "所有 > 有些\n全部 > 部分\n每个 > 某个\n(?<=[一-鿿])都(?=[一-鿿]) > 大都\n很多 <> 少数\n"
        "大部分 > 所有\n(?<![近少多])一些(?=[一-鿿]) > 所有\n有的 > 所有的\n任何 > 某些\n"
        "多数 > 所有\n每台 > 某台\n(?<=[一-鿿])都(?=[一-鿿]) > 几乎都"
    ),
    "没有都": lambda text: (
        ()
        if re.search("[所每全任各谁]|什么|大家|时刻|不管|无论|带不带|[和、].*都", text)
        else _ALL(text)
    ),
    "至少": _replaced(
        "(?<=[一-鿿])(?=[二两三四五六七八九十0-9]+ ?[个次台天年人](?![月号])) > 至少"
    ),
    "没有每天": _replaced(
        "(?<=[一-鿿])(?:每天|每周|每晚|每月|每年)(?![一二三四五六日下上早晚凌]) > \n"
        "^(?:明天|昨天|今年)(?![一-鿿]{0,1}[晨午上]) > "
    ),
    "只有": _replaced(f"^({_SUBJECTS})(?={_VERBS}) > 只有\\1"),
    "谁的": _replaced(f"^({_PEOPLE})(?={_VERBS}) > \\1的同事"),
    "只": _replaced(
        f"({_SUBJECTS})(?=用[^户]|吃|喝|喜欢|养|支持|监听|在[^线场]|使用|负责|管|对|给|需要|"
        f"带) > \\1只"
    ),
    "只, 也": _replaced(
        "(?<=[一-鿿 ])只(?=[在能用做写接支保]) > 也\n仅(?=[支对在]) > 也\n"
        "只有(?=[^一-鿿]*[一-鿿]{2,6}才?[可能]) > 就连"
    ),
    "也": _adverb("也"),
    "还": _adverb("还"),
    "又": _adverb("又"),
    "才": _adverb("才"),
    "再": _adverb("再"),
    "先": _adverb("先"),
    "主要": _adverb("主要"),
    "甚至": _adverb("甚至"),
    "自动": _adverb("自动"),
    "故意": _adverb("故意"),
    "一起": _replaced(f"(他们|我们|团队|孩子们)(?={_VERBS}) > \\1一起"),
    "各自": _adverb("各自"),
    "几乎": _replaced("(?<=[一-鿿])(?=每天|每周|每晚|所有|全部|都) > 几乎\n总是 > 几乎总是"),
    "一直, 有时": _replaced(
        "总是 <> 有时\n一直 <> 有时\n经常 <> 偶尔\n从不 > 很少\n(?<!的时候)很少 > 从不\n"
        "往往 > 总是\n通常 > 总是\n"
        "一般 > 总是\n"
        "常常? > 很少\n偶尔 > 一直\n持续 > 间歇"
    ),
    "一直": _adverb("一直"),
    "有时": _adverb("有时"),
    "经常": _adverb("经常"),
    "偶尔": _adverb("偶尔"),
    "通常": _adverb("通常"),
    "刚": _adverb("刚"),
    "马上": _adverb("马上"),
    "仍然": _adverb("仍然"),
    "以前": _adverb("以前"),
    "最近": _adverb("最近"),
    "暂时": _adverb("暂时"),
    "差点": _adverb("差点"),
    "再也不": _adverb("不再"),
    "每天, 每周": _replaced(
        "每天 <> 每周\n每晚 > 每周\n每月 <> 每年\n每小时 > 每分钟\n每两 > 每三\n每周 > 隔周\n"
        "每次 > 首次"
    ),
    "一次, 两次": _replaced("一次 > 两次\n第一 > 第二\n首次 > 再次\n两遍 > 一遍"),
    "至少, 至多": _replaced(
        "至少 <> 至多\n最多 <> 最少\n超过 <> 不到\n以上 <> 以下\n上限 <> 下限\n"
        "不超过 > 不少于\n高于 <> 低于"
    ),
    "大约": _replaced(
        "(?<=[设为是在约到隔] )(?=[0-9.]+ ?(?:[秒米元克天分厘毫公兆倍]|GB|MB|kg|s|m|N)) > 大约 \n"
        "(?<=[是为到])(?=[0-9]+[秒米元克天分厘毫公]) > 约"
    ),
    "比": _turned(
        rf"(?:^|(?<=[，。,]))([^，。,\s]{{2,10}})(比)((?:{_NAMES}|[一-鿿A-Za-z]{{2,8}}?))"
        r"(?= ?(?:更|还)?[快慢高低大小多少好长短贵重强])"
    ),
    "最, 更": _replaced(
        "最(?=[快慢高低好重强喜常爱]) > 更\n更(?=[快慢高低大小好重强喜]) > 最\n"
        "最喜欢 > 喜欢\n最爱 > 爱\n"
        "最大 > 较大\n最高 > 较高"
    ),
    "一样, 不同": _replaced("一样 > 不同\n相同 > 相近\n不同 > 相同\n一致 > 相近"),
    "更好, 更差": _replaced(
        "更好 <> 更差\n更快 <> 更慢\n提高 <> 降低\n增加 <> 减少\n变大 > 变小\n偏高 <> 偏低"
    ),
    "太": _replaced(
        "很(?=[快慢大小高低好吵忙]) > 太\n有点 > 太\n比较(?=[一-鿿]) > 最\n非常 > 有点"
    ),
    "被": _replaced(
        rf"""
        ^({_X}{{2,8}})把({_X}{{2,8}}?)(?=转|交|送|借|给|发|介绍) > \2把\1
        ^({_X}{{2,8}})被({_X}{{2,6}}?)(?=撞|删|打|杀|覆|取|替|咬|批) > \2被\1
        ^({_X}{{2,8}})把({_X}{{2,8}}?)(?=转|交|送|借|给|发|介绍) > \1被\2
        """
    ),
    "把": _turned(
        rf"^({_X}{{2,8}})(导致|引起|触发|取代|调用|依赖|监控|管理|通知|等待|同步到|"
        rf"转发给)了?({_X}{{2,8}}){_END}"
    ),
    "在, 到": _turned(
        r"(?<=从) ?([一-鿿A-Za-z0-9.]{1,8}?)((?: ?同步| ?迁移| ?搬| ?切换| ?改| ?降|"
        r" ?还)? ?到了? ?)"
        rf"([一-鿿A-Za-z0-9.]{{1,8}}?)(?:的|{_END})"
    ),
    "听说": _begun("听说"),
    "据说": _begun("据说，"),
    "我觉得": _begun("我觉得"),
    "有人说": _begun("有人说"),
    "文档": _begun("文档里写着，"),
    "老王说": _begun("老王说，"),
    "按计划": _begun("按计划，"),
    "希望": _begun("希望"),
    "假如": _begun("假如", "的话|如果|若|只要"),
    "除了": _ended("，除了周日。"),
    "测试环境": _ended("，只限测试环境。"),
    "条件": _ended("，如果测试通过的话。"),
    "吗": _ended("吗？"),
    "对吧": _ended("，是不是？"),
    "开, 关": _replaced(
        "启用 <> 禁用\n打开 <> 关闭\n开着 <> 关着\n上传 <> 下载\n升级 > 降级\n允许 <> 禁止\n"
        "成功 <> 失败\n"
        "添加 > 删除\n安装 > 卸载\n张开 <> 闭合\n公开 <> 私密\n登录 <> 登出"
    ),
    "来, 去": _replaced(
        "进(?=[入来]) > 退\n上升 <> 下降\n出发 <> 到达\n买 > 卖\n借给 > 借自\n起飞 <> 降落"
    ),
    "别的动作": _replaced(
        "部署 <> 测试\n安装 > 部署\n保存 > 记录\n检查 > 测试\n删除 > 清空\n"
        "审批(?=合|文|预|了) > 撰写\n(?<=[被已])修复 > 发现\n搜索(?!组) > 浏览\n"
        "启动 > 打开\n批准 > 讨论\n优化 > 重写\n迁移 > 复制"
    ),
    "别的东西": _replaced(
        "接口 <> 端口\n内存 <> 磁盘\n用户 > 客户\n客户 > 用户\n猫 <> 狗\n小说 > 书\n软件 <> 设备\n"
        "服务器 > 客户端\n日志 > 报告\n电影 > 电视剧\n同事 > 下属\n公司 > 部门\n"
        "密码 > 用户名\n前端 <> 后端\n"
        "测试环境 <> 生产环境\n早饭 > 晚饭\n咖啡 <> 茶\n医院 > 诊所\n自行车 > 摩托车\n"
        "手机 > 电话\n速度 > 温度"
    ),
    "谁": _replaced(
        "我们 > 他们\n他(?![们人的]) > 她\n我的 > 你的\n自己 > 别人\n大家 > 我\n他们 > 我们\n"
        "我(?!们|家) > 你"
    ),
    "这, 那": _replaced(
        "这个 <> 那个\n这里 > 那里\n其他 > 同样\n同一 > 另一\n上一 <> 下一\n新 <> 旧"
    ),
}
