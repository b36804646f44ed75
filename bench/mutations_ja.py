"""Edits of Japanese sentences that change what they say (`bench.mutations`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bench.mutations_ja_forms import NOMINAL, Edit, end_of, ended

_PEOPLE = (
    "田中|佐藤|渡辺|山本|加藤|中村|小林|清水|松田|石井|小川|岡田|前田|長谷川|村上|石田|橋本|井上|坂本"
    "|木村|三浦|馬場|安藤|近藤|西村|野口|山口|健太|由美|冨田|西尾|三輪|及川|藤巻|戸塚|早川|柏木|桐谷"
    "|朝倉|平井|坂口|大野|香川|佐伯|平川|アリス|ボブ|キャロル|先生|生徒|猫|犬|父|母"
)
_KANJI_DIGITS = "一二三四五六七八九"


def _replaced(table: str) -> Edit:
    """Return an edit that exchanges one expression for another: "ので > のに" lines.

    The left side is a pattern. `<>` works in both directions, and takes both sides as they are.
    """
    pairs = []
    for line in table.strip().splitlines():
        if "<>" in line:
            one, other = (side.strip() for side in line.split("<>"))
            pairs += [(re.escape(one), other), (re.escape(other), one)]
        else:
            one, other = (side.strip() for side in line.split(" > "))
            pairs.append((one, other))
    patterns = [(re.compile(pair), other) for pair, other in pairs]

    def edit(text: str) -> Iterator[str]:
        if not re.search("[ぁ-ん]", text):
            return
        for pattern, other in patterns:
            for match in pattern.finditer(text):
                yield text[: match.start()] + match.expand(other) + text[match.end() :]

    return edit


def _begun(before: str) -> Edit:
    """Return an edit that begins a statement with other words."""

    def edit(text: str) -> Iterator[str]:
        if end_of(text) is not None and re.match(rf"{NOMINAL}|この|その|[ぁ-ん]", text):
            yield before + text

    return edit


def _put_behind_topic(word: str, but: str = "") -> Edit:
    """Return an edit that puts a word behind the topic of a statement, if `but` is not in it."""
    pattern = re.compile(rf"(?<={NOMINAL})は(?=[^、 ])")

    def edit(text: str) -> Iterator[str]:
        match = pattern.search(text)
        if match and end_of(text) is not None and not (but and re.search(but, text)):
            yield text[: match.end()] + word + text[match.end() :]

    return edit


def _if(needed: str, edit: Edit, but: str = "(?!)") -> Edit:
    """Return an edit of the sentences that have one pattern and not another."""

    def applied(text: str) -> Iterable[str]:
        return edit(text) if re.search(needed, text) and not re.search(but, text) else ()

    return applied


_HABITS = "毎|常に|いつも|時々|たまに|たび|ごと|度に|定期|よう|管理|担当|対応"
_STATES = "(好む|持てる|備える|担う|使用する|利用する|持つ|住む|含む|望む|要る|思う|保つ|使う)。?$"
_SAME_WITH_TEIRU = f"{_HABITS}|{_STATES}"
"""What is done again and again, or is a state, is said with ている as without."""


def _said(word: str, before_noun: str = "") -> Edit:
    """Return an edit that adds an expression to the end of any statement."""
    return ended("{}" + word, "{}" + word, "{}い" + word, "{}" + before_noun + word)


# -- Numbers and names


def _other_number(text: str) -> Iterator[str]:
    for match in re.finditer(r"(?<![\w.:/-])[1-9][0-9]{0,3}(?![0-9.:/%-])", text):
        yield text[: match.start()] + str(int(match.group()) + 1) + text[match.end() :]


def _last_digit(text: str) -> Iterator[str]:
    """Change the last digit of an identifier, version or path."""
    for match in re.finditer(r"(?<=[A-Za-z./:-])[0-9](?![A-Za-z0-9])", text):
        yield text[: match.start()] + str((int(match.group()) + 1) % 10) + text[match.end() :]


def _other_kanji_number(text: str) -> Iterator[str]:
    for match in re.finditer(
        rf"(?<![{_KANJI_DIGITS}十百第])[二三四五六七八](?=[回人名日時分枚個台本か度年月週秒つ割])",
        text,
    ):
        other = _KANJI_DIGITS[_KANJI_DIGITS.index(match.group()) + 1]
        yield text[: match.start()] + other + text[match.end() :]


def _next_of(pattern: str, last: int) -> Edit:
    """Return an edit that counts a figure one on, and from the last one to the first."""

    def edit(text: str) -> Iterator[str]:
        for match in re.finditer(pattern, text):
            other = int(match.group()) % last + 1
            yield text[: match.start()] + str(other) + text[match.end() :]

    return edit


def _exchanged_names(text: str) -> Iterator[str]:
    """Exchange two people around a particle: 猫が犬を追いかけた."""
    for match in re.finditer(rf"({_PEOPLE})([^。、]{{1,12}}?)({_PEOPLE})", text):
        one, middle, other = match.groups()
        if one != other and re.match("(さん)?[はがをにからのもへ]", middle):
            yield text[: match.start()] + other + middle + one + text[match.end() :]


def _exchanged(pattern: str) -> Edit:
    """Return an edit that exchanges the groups 1 and 3 of a pattern."""

    def edit(text: str) -> Iterator[str]:
        for match in re.finditer(pattern, text):
            one, middle, other = match.groups()
            if one != other:
                yield text[: match.start()] + other + middle + one + text[match.end() :]

    return edit


_PLACE = r"([一-龠ァ-ヴーA-Za-z0-9]+)"
_TIME = r"(?<=[0-9一二三四五六七八九十末初正][時分日月年末初午])"

KINDS: dict[str, Edit] = {
    "number": _other_number,
    "kanji number": _other_kanji_number,
    "last digit": _last_digit,
    "unit": _replaced(
        r"""
        MB <> GB
        ミリ秒 > 秒
        (?<=[0-9一二三四五六七八九十])秒 > 分
        (?<=[0-9一二三四五六七八九十])分(?!の|以) > 時間
        (?<=[0-9一二三四五六七八九十])時間 > 日間
        (?<=[0-9一二三四五六七八九十])日間 > 週間
        (?<=[0-9一二三四五六七八九十])週間 > か月
        (?<=[0-9])kg > g
        (?<=[0-9])km > m
        円 > ドル
        cm > mm
        """
    ),
    "weekday": _replaced("月曜 <> 火曜\n水曜 <> 木曜\n金曜 <> 土曜\n日曜 > 月曜\n平日 <> 週末"),
    "month": _next_of(r"(?<![0-9])[0-9]{1,2}(?=月)", 12),
    "day": _next_of(r"(?<=月)[0-9]{1,2}(?=日)", 28),
    "hour": _next_of(r"(?<![0-9])[0-9]{1,2}(?=時(?!間))", 23),
    "relative day": _replaced(
        """
        今日 <> 明日
        昨日 <> 今日
        来週 <> 先週
        今週 <> 来週
        来月 <> 先月
        今月 <> 来月
        来年 <> 昨年
        去年 > 来年
        """
    ),
    "part of the day": _replaced("午前 <> 午後\n朝 <> 夜\n正午 > 深夜\n夕方 > 早朝\n昼(?!休) > 夜"),
    "name": _replaced("田中 <> 佐藤\n加藤 > 中村\n石井 > 小川\n森さん > 林さん\n木村 > 坂本"),
    "exchanged names": _exchanged_names,
    "exchanged ends": _exchanged(rf"{_PLACE}(から){_PLACE}(?=[にへ])"),
    "denied": ended("{a}ない", "", "{}くない", "{}ではない"),
    "not denied": _replaced(
        """
        していない > している
        しない(?=。|$) > する
        ではない > である
        られない > られる
        できない > できる
        てはいけない > てもよい
        てはならない > てもよい
        ていない > ている
        がない(?=。|$) > がある
        """
    ),
    "から, まで": _replaced(
        rf"""
        {_TIME}から > まで
        {_TIME}まで(?!に) > から
        {_TIME}に(?![わよつ対]|[^。]*(?:始|スタート|開|起動|実行|出発|適用)) > から
        {_TIME}に(?![わよつ対]) > まで
        {_TIME}まで(?!に) > までに
        以降 <> 以前
        """
    ),
    "date without a particle": _replaced(f"{_TIME}(?=[。]|$) > から\n{_TIME}(?=[。]|$) > まで"),
    "で, が": _replaced(
        f"(?<={NOMINAL})で(?= ?[一-龠]) > が\n(?<={NOMINAL})(?<!曜)が(?= ?[一-龠]) > で"
    ),
    "に, から": _replaced(
        rf"""
        (?<={NOMINAL})に(?=(戻|送|移|置(?!き換え)|書|渡|行|届|飛|予算|入れ|手紙|保存)) > から
        (?<={NOMINAL})から(?=(取得|引き落|届|送|読み|コピー|値|認証)) > に
        """
    ),
    "へ, から": _replaced(
        f"(?<={NOMINAL})へ(?!の) > から\n(?<={NOMINAL})から(?={NOMINAL}+[へに]) > まで"
    ),
    "を, が": _replaced(rf"(?<={NOMINAL})が([^。、はがをか0-9]{{1,12}})を(?= ?[一-龠]) > を\1が"),
    "を, に": _replaced(rf"(?<={NOMINAL})を(?= ?(守|追|呼|選|話|変|紹介)) > に"),
    "に, で": _replaced(rf"(?<={NOMINAL})(?<![前後])に(?= ?(置|保存|書|登|送|移|勤|入れ)) > で"),
    "と, か": _replaced(
        f"(?<={NOMINAL})と(?={NOMINAL}+[をがはにで]) > か\n"
        f"(?<={NOMINAL})と(?={NOMINAL}+[をがはにで]) > より\n"
        f"(?<=[一-龠ァ-ヴー])、(?=[一-龠ァ-ヴー]+を) > か"
    ),
    "と, や": _replaced(rf"(?<={NOMINAL})と(?={NOMINAL}+[をがはにで]) > や"),
    "together, against": _replaced(
        "と一緒に > の代わりに\nと合同で > とは別に\nとともに > なしに\n"
        "なしで > ありで\n付き > なし"
    ),
    "ので, のに": _replaced(
        """
        ので > のに
        のに > ので
        (?<=[るたいう])ため、 > のに、
        (?<=[るたいう])から、 > のに、
        (?<=[るたい])が、 > ので、
        (?<=[るたい])ため、 > ものの、
        """
    ),
    "ても, たら": _replaced(
        """
        ったら > っても
        したら > しても
        れたら > れても
        ときは、?  > ときも
        きたら > きても
        きれば > きても
        ければ > くても
        (?<=る)と、 > が、
        """
    ),
    "before, after": _replaced(
        """
        (?<=る)前に > まで
        の前に <> の後に
        てから(?!は) > ながら
        てから(?!は) > ないで
        後に > 前に
        食前 <> 食後
        (?<=る)まで(?=[^にの。]) > 前に
        """
    ),
    "for, against": _replaced(
        "のために > のせいで\nについて > に対して\nによって > のために\nとして > について"
    ),
    "tense": ended("{ta}", "", "{}かった", "{}だった"),
    "not past": _replaced(
        "した(?=。|$) > する\nしました > します\nだった(?=。|$) > だ\nでした > です"
    ),
    "lasting": _if("", ended("{te}いる"), but=_SAME_WITH_TEIRU),
    "done": _if("を", ended("{te}ある")),
    "ended up": ended("{te}しまう", "", "", ""),
    "just did": ended("{ta}ばかりだ", "{}ばかりだ"),
    "beginning": ended("{i}始める"),
    "going on": ended("{i}続ける"),
    "too much": ended("{i}すぎる"),
    "for a test": ended("{te}みる"),
    "in advance": ended("{te}おく"),
    "about to": ended("{}ところだ"),
    "no longer": ended("{a}なくなる"),
    "to become": ended("{}ようになる", "", "{}くなる"),
    "intention": ended("{}つもりだ"),
    "plan": ended("{}予定だ"),
    "volition": ended("{i}たい"),
    "wish": ended("{te}ほしい"),
    "may be": _said("かもしれない"),
    "expected": _said("はずだ", "の"),
    "surely": _said("に違いない"),
    "probably": _said("だろう"),
    "should": ended("{}べきだ"),
    "may": ended("{te}もいい"),
    "must": ended("{a}なければならない"),
    "need not": ended("{a}なくてもいい"),
    "can": _if("", ended("{}ことができる"), but="[えけせてねべめれ]る。?$"),
    "sometimes": ended("{}ことがある", "{}ことがある"),
    "not always": _said("わけではない", "という"),
    "modality": _replaced(
        """
        かもしれない > はずだ
        べきだ > てもいい
        なければならない <> なくてもいい
        必要がある > ことがある
        必須 <> 任意
        必要 > 可能
        予定 > 可能性
        禁止 > 不要
        """
    ),
    "hearsay そうだ": _said("そうだ", "だ"),
    "hearsay らしい": _said("らしい"),
    "hearsay とのこと": _said("とのことだ"),
    "hearsay という": _said("という", "だ"),
    "seems": _said("ようだ", "の"),
    "only a rumour": _said("という噂だ", "だ"),
    "opinion": _said("と思う", "だ"),
    "said by": _said("と田中さんが言っていた", "だ"),
    "supposed to": _said("と思われる", "だ"),
    "attribution": _begun("田中さんによると、"),
    "apparently": _begun("どうやら"),
    "doubt": _begun("おそらく"),
    "condition": _begun("雨が降ったら"),
    "exception": _begun("日曜以外は"),
    "limited to": _begun("ステージングでは"),
    "question": ended("{}か？", "{}か？", "{}いか？", "{}か？"),
    "why": ended("なぜ{}のか？", "なぜ{}のか？"),
    "passive": _if("を[^は、]+$", ended("{p}れる")),
    "passive turned round": _replaced(
        """
        を叱った > に叱られた
        を追いかけた > に追いかけられた
        を紹介した > に紹介された
        を呼び出す > に呼び出される
        に叱られた > を叱った
        に追いかけられた > を追いかけた
        """
    ),
    "causative": _replaced(
        """
        する(?=。|$) > させる
        使う(?=。|$) > 使わせる
        飲む(?=。|$) > 飲ませる
        食べる(?=。|$) > 食べさせる
        書く(?=。|$) > 書かせる
        """
    ),
    "favour": ended("{te}もらう"),
    "giving": _replaced("貸し > 借り\nもらった > あげた\n借りた > 貸した\n渡した > 受け取った"),
    "all, some": _replaced(
        """
        すべて > 一部
        全て > 一部
        全員 > 誰か
        全員 > 数人
        全件 > 数件
        誰も > 全員
        すべて > ほとんど
        ほとんど > すべて
        各 > 一部の
        多くの > 少数の
        """
    ),
    "all": _replaced(f"(?<={NOMINAL})は(?=[^、 ]) > はすべて\n(?<={NOMINAL})を > をほとんど"),
    "frequency word": _replaced(
        """
        いつも > ときどき
        常に > ときどき
        時々 > いつも
        ときどき > いつも
        必ず > たまに
        たいてい > めったに
        よく(?=[一-龠]) > たまに
        """
    ),
    "always": _put_behind_topic("いつも"),
    "now and then": _put_behind_topic("ときどき"),
    "often": _put_behind_topic("よく"),
    "frequency": _replaced(
        """
        毎日 <> 毎週
        毎朝 <> 毎晩
        毎月 <> 毎年
        毎週 > 隔週
        毎時 > 毎分
        月に一度 > 年に一度
        週に一度 > 月に一度
        たびに > 前に
        """
    ),
    "already, yet": _put_behind_topic("まだ"),
    "already": _put_behind_topic("もう"),
    "again": _put_behind_topic("再び"),
    "almost": _put_behind_topic("ほぼ", "ほぼ|全|すべて"),
    "for the time being": _put_behind_topic("当面"),
    "without fail": _put_behind_topic("必ず", "必ず|常に|いつも|ない"),
    "comparison": _exchanged(rf"{_PLACE}([はが]){_PLACE}(?=より)"),
    "comparison turned": _replaced("より高い <> より低い\nより速い <> より遅い\nより上 <> より下"),
    "most": _replaced(
        "(?<=[はが])(?=(高い|速い|重い|大きい|安い|広い|新しい|古い|長い|短い|好き)) > 最も\n"
        "(?<=[はが])(?=(高い|速い|重い|大きい|安い|広い|新しい|古い|長い|短い)) > より"
    ),
    "only": _replaced(
        f"(?<={NOMINAL})を > だけを\n(?<={NOMINAL})が > だけが\n(?<={NOMINAL})に(?!は) > だけに"
    ),
    "also": _replaced(
        f"(?<={NOMINAL})は(?=[^、]) > も\n(?<={NOMINAL})を > も\n(?<={NOMINAL})が > も"
    ),
    "even": _replaced(f"(?<={NOMINAL})は(?=[^、]) > さえ\n(?<={NOMINAL})が > すら"),
    "not only": _replaced("だけを > も\nだけが > も\nのみ(?=[をがは]) > 以外"),
    "such as": _replaced(f"(?<={NOMINAL})を > などを\n(?<={NOMINAL})が > などが"),
    "at least, at most": _replaced(
        """
        以上 <> 以下
        以内 > 以上
        最大 <> 最小
        少なくとも > 多くとも
        最低 > 最高
        超え > 下回っ
        上限 <> 下限
        """
    ),
    "at least": _replaced(
        r"(?<![最約])(?<![0-9年月日])([0-9]+(?:回|人|名|件|台|個|本|枚)) > \1以上"
    ),
    "at least, before a figure": _replaced(
        r"(?<![約0-9.])([0-9]+(?:回|人|名|件|台|個|本|枚|秒|分|%)) > 少なくとも\1"
    ),
    "first, last": _replaced(
        "最初 <> 最後\n先頭 <> 末尾\n最新 > 最古\n次の > 前の\n新しい <> 古い"
    ),
    "more, less": _replaced(
        "多い <> 少ない\n速い <> 遅い\n高い <> 低い\n大きい <> 小さい\n長い <> 短い\n"
        "重い <> 軽い\n増え > 減っ"
    ),
    "opposite": _replaced(
        """
        有効 <> 無効
        許可 <> 禁止
        成功 <> 失敗
        開始 <> 終了
        (?<!再)起動 > 停止
        追加 <> 削除
        開く > 閉じる
        好き <> 嫌い
        好む > 嫌う
        承認 <> 却下
        公開 <> 非公開
        安全 <> 危険
        """
    ),
    "direction": _replaced(
        "左 <> 右\nの上に <> の下に\n内側 <> 外側\n東(?!京) > 西\n前方 > 後方\n"
        "の中に > の前に\n入口 <> 出口"
    ),
    "place": _replaced(
        "の中に > のそばに\nの上に > の近くに\n階段 > 廊下\n部屋 > 建物\n駅 > 空港\n"
        "海 > 川\n山 > 丘\n庭 > 畑\n"
        "東京 <> 大阪\n京都 > 神戸\n家 > 会社\n窓 > 扉\n道(?=を|は) > 線路"
    ),
    "animal": _replaced("犬 <> 猫\n魚 > 肉\n肉(?!じゃが) > 魚\n馬(?!場) > 牛\n犬 > 動物"),
    "vehicle": _replaced(
        "自転車 > バイク\n(?<![転動電])車(?=[はをがで]) > 自転車\n新幹線 > 飛行機\n"
        "船 > 車\n(?<![転動電])車(?=[はをがで]) > トラック"
    ),
    "thing": _replaced(
        "コーヒー > 紅茶\n紅茶 > コーヒー\n本(?=を|は) > 雑誌\n薬 > 酒\n鍵 > 財布\n"
        "上着 > 帽子\nメール > 電話\n"
        "サーバー > データベース\nテスト > ビルド\nログ > エラー\nレビュー > テスト\n"
        "会議 > 面談\n設定 > 記録"
    ),
    "action": _replaced(
        "保存 > 削除\n再起動 > 停止\n確認 > 修正\n読み込む > 書き込む\n修理 > 交換\n"
        "更新 > 削除\n担当 > 確認\n"
        "開発 > テスト\n実行 > 停止\n買っ > 借り\n歩 > 走\n使う > 作る\n走る > 歩く\n"
        "移行 > コピー\n作成 > 更新"
    ),
    "person": _replaced(
        "彼女 > 彼\n彼(?!女) > 彼女\n父 <> 母\n姉 <> 妹\n兄(?!弟) > 弟\n夫 <> 妻\n"
        "息子 <> 娘\nユーザー > 開発者\n社長 > 部長"
    ),
    "same, other": _replaced(
        "同じ > 別の\n自分の > 他人の\n(?<!非)同期 > 非同期\n専用 > 共用\n以外 > だけ"
    ),
}
