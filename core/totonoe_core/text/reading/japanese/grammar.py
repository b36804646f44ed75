"""Function words of Japanese and what they say about the word before them.

All in the base spelling of `words`: です is だ, ず and ん are ない, ます is left out.
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

_T = TypeVar("_T")


def words_of(text: str) -> frozenset[str]:
    """The words of a text that spaces separate."""
    return frozenset(text.split())


FLAGS: Final = words_of("passive causative lasting done receives no_more past asks orders")
"""Marks of an `Effect` that a phrase has a field for; the others are links."""


class Effect(NamedTuple):
    """What an expression behind a predicate says."""

    flips: bool = False
    """Denies what stands before it."""
    modality: str = ""
    mark: str = ""
    """past, passive, causative, lasting (ている), done (てある), receives (てもらう), no_more
    (なくなる), orders, asks, or a link to what follows: te, if, because, but, quote."""
    aspect: str = ""
    """How it goes on (ている, てしまう): the key of a function word."""


class Table(Generic[_T]):
    """Expressions of several function words, and what each means.

    Attributes
    ----------
    inside, final : dict of tuple of str
        By words: those that stand anywhere, and those that must end a sentence (END).
    sizes : dict of str
        Count of words of the longest expression that begins with a word.
    """

    def __init__(self, *rows: tuple[str, _T]) -> None:
        self.inside: dict[tuple[str, ...], _T] = {}
        self.final: dict[tuple[str, ...], _T] = {}
        self.sizes: dict[str, int] = {}
        for expressions, value in rows:
            for expression in expressions.split("|"):
                parts = tuple(expression.split())
                ends = parts[-1] == "END"
                parts = parts[:-1] if ends else parts
                (self.final if ends else self.inside).setdefault(parts, value)
                self.sizes[parts[0]] = max(self.sizes.get(parts[0], 0), len(parts))


_NOTHING = Effect()
_NOT = Effect(flips=True)
_MUST = Effect(modality="must")
_NEED_NOT = Effect(flips=True, modality="must")
_MAY = Effect(modality="may")
_MAY_NOT = Effect(flips=True, modality="may")
_CAN = Effect(modality="can")
_SOMETIMES = Effect(modality="sometimes")
_CANNOT = Effect(flips=True, modality="can")
_WANT = Effect(modality="want")
_SHOULD = Effect(modality="should")
_SHOULD_NOT = Effect(flips=True, modality="should")
_SEEM = Effect(modality="seem")
_HEARD = Effect(modality="hearsay")
_MAYBE = Effect(modality="maybe")
_GUESS = Effect(modality="guess")
_THINK = Effect(modality="think")
_PLAN = Effect(modality="plan")
_TRY = Effect(modality="try")
_TE = Effect(mark="te")
_ORDERS = Effect(mark="orders")

AFTER_PREDICATE: Final = Table(
    # must
    ("ない ば なる ない|ない ば いける ない|ない て は なる ない|ない て は いける ない", _MUST),
    ("ない と いける ない|ない と なる ない|ない ば だめ だ|ない と だめ だ|ない ば END", _MUST),
    ("ない を 得る ない|ない を える ない|しか ない|ない と END|ない て は だめ だ", _MUST),
    ("必要 が ある|必要 だ|べし だ ある|必要 性 が ある|ない て は END", _MUST),
    ("他 ない|ほか ない|以外 ない|外 ない|より ほか ない|ほか は ない", _MUST),
    ("ない わけ に は いく ない|ない 訳 に は いく ない|ない に は いる れる ない", _MUST),
    ("ない こと は ない|ない こと も ない|ない もの で も ない", _SOMETIMES),
    ("こと も ある|こと が ある|場合 が ある|場合 も ある|とき も ある", _SOMETIMES),
    ("必要 が ない|必要 は ない|必要 だ は ない|必要 で は ない|ない て も いい", _NEED_NOT),
    (
        "ない て も よい|ない て いい|ない て よい|ない て も 構う ない|ない て も かまう ない",
        _NEED_NOT,
    ),
    # may
    ("て も いい|て も よい|て いい|て よい|て も 構う ない|て も かまう ない|て 構う ない", _MAY),
    ("て は いける ない|て は なる ない|て は だめ だ|て は だめ|て だめ だ|て は 困る", _MAY_NOT),
    ("わけ に は いく ない|訳 に は いく ない", _MAY_NOT),
    # can
    ("こと が できる|こと は できる|こと も できる|こと が 出来る|こと が 可能 だ", _CAN),
    ("こと が 可能|こと は 可能|得る|うる", _CAN),
    ("こと が できる ない|こと は できる ない|かねる|こと が 出来る ない", _CANNOT),
    # want, should, plan, try
    ("たい|て ほしい|て 欲しい|たがる", _WANT),
    ("べし だ は ない|べし で は ない|ない 方 が いい|ない ほう が いい", _SHOULD_NOT),
    (
        "べし だ|べし|た 方 が いい|た ほう が いい|た ほう が よい|た 方 が よい|方 が いい",
        _SHOULD,
    ),
    ("と いい|ば いい|ば よい|た いい", _SHOULD),
    ("つもり は ない|予定 は ない|予定 だ は ない|予定 で は ない", Effect(True, "plan")),
    ("つもり だ|つもり|予定 だ|予定|こと に する|こと に なる|こと と する", _PLAN),
    ("て みる|う と する|て 見る", _TRY),
    # seem
    ("か も しれる ない|か も しれる|か も 知れる ない|か も ね|可能 性 が ある", _MAYBE),
    ("に 違い ない|に 相違 ない|に ちがい ない", Effect(modality="surely")),
    ("よう だ|みたい だ|みたい|の よう だ END|様子 だ|と みる れる|と 見る れる", _SEEM),
    ("そう だ|そう", _SEEM),
    ("伝聞 だ|伝聞|らしい|と の こと|と の こと だ|と いう こと だ", _HEARD),
    ("だ と の こと|だ と の こと だ", _HEARD),
    ("と 聞く た|と 聞く て いる|だ と 聞く た|だ と 聞く て いる", _HEARD),
    ("だろう", _GUESS),
    ("はず だ|筈 だ|はず|筈|の はず だ|の 筈 だ", Effect(modality="expect")),
    ("と 思う て いる|と 思う|と 考える|と 思う れる|と 考える れる", _THINK),
    ("だ と 思う て いる|だ と 思う|だ と 考える|だ と 思う れる|だ と 考える れる", _THINK),
    ("はず が ない|はず は ない|筈 が ない|筈 は ない", Effect(True, "expect")),
    ("まい", Effect(True, "guess")),
    # denied
    ("だ は ない|で は ない|だ は ある ない|で は ある ない|だ ない|だ も ない", _NOT),
    ("わけ だ は ない|わけ で は ない|訳 で は ない|こと は ない|こと が ない|は ない", _NOT),
    ("ない なる", Effect(True, mark="no_more")),
    ("ない て|ない だ いる|ない に いる|ない で いる|ない|無い|は ある ない", _NOT),
    ("ない だ|ない で|ない に", Effect(True, mark="te")),
    ("て なる ない|だ ある ない", _NOT),
    # orders
    (
        "て くださる END|て 下さる END|なさる END|て ほしい です|ましょう|て くれる END",
        Effect(mark="orders"),
    ),
    ("ない で くださる|ない だ くださる|ない て くださる", Effect(True, mark="orders")),
    ("な END", Effect(True, mark="orders")),
    ("よう だ 願う いたす|よう 願う いたす|よう だ 願う|よう 願う|て 願う|よう だ 頼む", _ORDERS),
    ("よう だ END|よう に END", _ORDERS),
    (
        "ない こと END|ない よう に END|ない よう だ END|ない よう に する て くださる",
        Effect(True, mark="orders"),
    ),
    ("ない よう だ する て くださる", Effect(True, mark="orders")),
    ("よう だ する て くださる", _ORDERS),
    ("こと END|て おく こと END|よう に する て くださる|よう に くださる", Effect(mark="orders")),
    # voice
    ("れる|られる", Effect(mark="passive")),
    ("せる|させる|しめる", Effect(mark="causative", aspect="させる")),
    ("て ある", Effect(mark="done", aspect="てある")),
    ("て もらう|て 貰う|て いただく|て 頂く", Effect(mark="receives", aspect="てもらう")),
    # aspect
    ("て いる|て おる|てる", Effect(mark="lasting", aspect="ている")),
    ("て おく|とく", Effect(aspect="ておく")),
    ("て しまう|ちゃう", Effect(aspect="てしまう")),
    ("て くる", Effect(aspect="てくる")),
    ("て いく", Effect(aspect="ていく")),
    ("て くれる|て くださる|て 下さる", Effect(aspect="てくれる")),
    ("て あげる|て やる|て 差し上げる", Effect(aspect="てあげる")),
    ("よう だ する て いる|よう だ する|よう に する", Effect(aspect="ようにする")),
    ("よう だ なる|よう に なる", Effect(aspect="ようになる")),
    ("ところ だ|ところ だ ある", Effect(aspect="ところだ")),
    ("た ところ だ|た ばかり だ|た ばかり", Effect(mark="past", aspect="たばかりだ")),
    # Closed list of what another wording may leave out. Politeness and tone:
    ("ます|だ|です|で ある|だ ある|だ いる|よ|ね|ぞ|さ|わ", _NOTHING),
    # Explains why it is said:
    ("の だ|ん だ|もの だ|わけ だ|こと だ", _NOTHING),
    # A rule, which the plain form says as well:
    ("もの と する|こと に なる て いる|と いう もの だ|こと と する て いる", _NOTHING),
    # Makes a noun of the clause:
    ("状態 だ", _NOTHING),
    ("と する て いる", _TRY),
    ("た こと が ある|た こと も ある", Effect(mark="past", aspect="たことがある")),
    ("た", Effect(mark="past")),
    # links
    ("て|つつ|て は", _TE),
    ("ながら", Effect(mark="ながら")),
    ("たり|し", Effect(mark="and")),
    ("て から", Effect(mark="から")),
    ("て も|と も", Effect(mark="even")),
    ("ば|たら|なら", Effect(mark="if")),
    ("ので|から|ため|ため に", Effect(mark="because")),
    ("が|けど|けれど|けれども", Effect(mark="but")),
    ("のに|ものの|もの の|くせに|にもかかわらず", Effect(mark="although")),
    ("か", Effect(mark="asks")),
)

# Several particles and bleached verbs that together are one case particle.
CASES: Final = Table(
    (
        "に ついて|に つく て|に 関する て|に 関する|に かんする て|を めぐる て|に まつわる",
        "について",
    ),
    ("に よる て|に よる|による", "によって"),
    ("に おく て|に 於く て|に おける|に おき", "で"),
    ("に 対する て|に 対する|に たいする て", "に"),
    ("に 向ける て|に 向かう て|に むける て|に むかう て", "に"),
    ("と 一緒 に|と とも に|と 共 に|と いっしょ に", "と"),
    ("を 通じる て|を 通す て|を 使う て|を 使用 する て|を 用いる て|を 利用 する て", "で"),
    ("を つかう て|を もちいる て|を 介する て|を 経由 する て", "で"),
    ("と する て", "として"),
    ("に とる て", "にとって"),
    ("に くらべる て|に 比べる て|と くらべる て|と 比べる て|に 比する て", "より"),
    ("の ため に|の ため|の 為 に|の 為|の 目的 で", "ため"),
    ("から の", "から"),
    ("まで に", "までに"),
    ("の 方 が|の ほう が", "が"),
    ("の 方 を|の ほう を", "を"),
    ("の 方 は|の ほう は", "は"),
    ("の 方 に|の ほう に|の 方 へ|の ほう へ", "に"),
    ("と いう", "という"),
    ("に て", "で"),
    ("だけ だ ない|だけ で ない|だけ だ は ない|のみ だ ない|ばかり だ ない", "や"),
)

SAME_CASE: Final = {"へ": "に", "にて": "で", "の": "の"}

# Verbs that only make a verb of the noun before を or が.
MAKING: Final = words_of("為る 出来る 致す 為さる 下さる")
"""Verbs that make a verb of the action they stand behind."""

LIGHT_VERBS: Final = words_of("為る する 行う 実施 実行 遣る やる 為す 致す いたす なさる")

HONORIFICS: Final = words_of(
    "さん 様 さま 氏 くん 君 ちゃん 殿 先生 先輩 選手 教授 博士 部長 課長 社長 監督 議員"
)

DEMONSTRATIVES: Final = words_of(
    "この その あの こんな そんな あんな 此の 其の 彼の 或る ある とある 当該 こういう"
)
"""Stand where other languages have an article."""

EMPTY_NOUNS: Final = words_of("こと 事 所 ところ 様子 姿 の もの 物 場面 光景 状態 ため")
"""Nouns that only make a noun of the clause before them."""

NO_OBJECT: Final = words_of(
    "好き 嫌い 大好き 大嫌い 得意 苦手 上手 下手 欲しい ほしい 分かる 出来る 必要 要る"
)
"""Predicates whose が marks what, and whose は marks who."""

# A goal or place, not an agent, even in a passive clause.
PLACING: Final = words_of(
    "置く 書く 飾る 積む 積もる 設置 表示 含む 含める 保存 配置 記載 登録 並べる 並ぶ"
    " 入れる 載せる 乗せる 貼る 張る 掛ける 掲げる 掲示 記録 格納 出力 展示 送る 送信 転送"
    " 移す 移動 取り付ける 建てる 停める 止める 駐車 植える 敷く 付ける 結ぶ 繋ぐ 接続 追加"
    " 出荷 渡す 使う 使用 利用 用いる 変更 変える 分ける 分割 設定 埋める 描く 印刷 公開"
    " 投稿 保管 収納"
)

MODAL_NOUNS: Final = {
    "禁止": (True, "may"),
    "厳禁": (True, "may"),
    "許可": (False, "may"),
    "可能": (False, "can"),
    "不可能": (True, "can"),
    "不可": (True, "can"),
    "必要": (False, "must"),
    "必須": (False, "must"),
    "不要": (True, "must"),
    "不必要": (True, "must"),
    "推奨": (False, "should"),
    "予定": (False, "plan"),
}
"""What is said of the action before them: whether it is denied, and its modality."""

ASPECTS: Final = words_of(
    "始める 続ける 終わる 終える 過ぎる 直す 出す 掛ける 切る 忘れる 易い 難い 辛い"
)
"""Verbs that say of the verb before them how it goes on."""

GIVING: Final = words_of(
    "渡す 与える 教える 贈る 送る 見せる 届ける 返す 貸す 売る 知らせる 伝える 話す 尋ねる"
    " 任せる 頼む"
)
"""Verbs of which the subject of a passive clause with を is who gets it."""

STANDING: Final = words_of("有る 並ぶ 載る 乗る 掛かる 付く 写る 映る 見える 存在")
"""Verbs whose subject is where somebody put it."""

PEOPLE: Final = words_of(
    "人 者 男性 女性 男 女 男の子 女の子 子供 少年 少女 人物 人々 大人 老人 若者 赤ん坊 母"
    " 父 兄 姉 弟 妹 夫 妻 息子 娘 友人 家族 教師 学生 生徒 医者 看護師 客 利用者 社員 選手"
    " 警察官 誰 私 彼 彼女 犬 猫 馬 鳥 動物 猿 熊 蛇 ライオン 象 牛 管理者 開発者 担当者"
    " 作家 画家 監督 社長 部長 上司"
)
"""Who acts, wherever it stands in a passive clause."""

PEOPLE_END: Final = words_of("者 人 員 家 手 師 生 長 官 達 さん 氏")
"""What ends a word for somebody."""

AROUND: Final = words_of("前 後 直前 直後 最中 途中")
"""Nouns that say when, of the clause or action before them."""

PLACES: Final = words_of(
    "上 下 中 外 前 後ろ 裏 表 隣 近く 間 奥 手前 周り 左 右 先 内部 内側 外側 向こう 下部"
    " 上部 側面"
)
"""Nouns that say where at a thing: 机の上に is 机に, with 上 said of the desk."""

TIMES: Final = words_of(
    "朝 昼 夜 晩 夕方 深夜 早朝 午前 午後 正午 夜中 日中 春 夏 秋 冬 月末 月初 年末 年始 年度末"
    " 週末 平日 休日 祝日 夏休み 冬休み 春休み 朝一 毎晩 毎朝 毎日 毎週 毎月 毎年 年度初め"
)
"""Nouns that say when, with に or without."""

RELATIONS: Final = words_of(
    "担当者 担当 趣味 特技 専門 専攻 目標 目的 日課 原因 理由 出身 強み 弱み 長所 短所 好物 夢"
    " 仕事 職業 責任者 代表 窓口 本業 副業 習慣 条件 前提 方針 得意先 上限 下限 既定 定位置"
)
"""Nouns of which somebody or something is the one: 写真が趣味だ is 趣味は写真だ."""

ORGANISATIONS_END: Final = words_of("部 課 室 係 隊 社 局 省 庁 班 会 団 チーム グループ 委員会")

TRANSITIVE: Final = words_of(
    "担当者 確認 承認 管理 作成 開発 設計 実装 レビュー 修正 使う 変える 決める 書く 読む 選ぶ"
    " 作る 買う 食べる 飲む 準備 提出 監視 検証 分析 保存 送る 削除 追加 設定 インストール 払う"
    " 運営 編集 翻訳 公開 リリース 直す 洗う 捨てる 運ぶ 売る 受け持つ 引き受ける 用意 手配"
    " アップデート 実行 閉じる 承認 禁じる 止める 使用 記録 ログ 書き込む 読み込む 入れる 出す 送信"
    " 置く 渡す 捨てる 集める 入力 出力 起動 再起動 マージ デプロイ バックアップ 復元 圧縮 暗号化"
    " 検索 探す 測る 計算 検出 評価 整理 分類 共有 連絡 報告 説明 登録 変換 置換 移動 複製 選定"
    " 支払う 洗濯 着る 借りる 貸す 返す 受け取る 配る 飼う 育てる 撮影 描く 弾く 覚える 学ぶ"
    " 信じる 好む 望む 避ける 守る 延期 続ける 始める 終える 実施 開催 行う 採用 廃止 導入 締結"
    " 処理 負担 発注 注文 予約 調べる 教える 持つ 保管 交換 校正 点検 掃除 開ける 見る"
)
"""Keys of verbs that have an object: in 車は兄が洗う the car is washed."""

SAYING: Final = words_of(
    "言う 思う 考える 述べる 話す 聞く 伝える 書く 答える 呼ぶ 信じる 感じる 判断 報告 発表 見る"
    " 主張 説明 予想 予測 期待 見なす 決める 記す 記載 表示 尋ねる 約束 宣言 語る 叫ぶ 知る 提案"
    " 指摘 認める 言える 教える 推定 理解 誤解 定義 警告 注意 回答 願う 推奨 連絡 名付ける"
)
"""Verbs behind と that quote; before others it is a condition."""

ONE: Final = words_of("人 匹 頭 台 つ 個 本 枚 羽 冊 軒 件 名 艘 隻 機 両 杯 棟 足 着 輪")
"""Counters that after 1 stand where other languages have an article."""
