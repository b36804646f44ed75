"""Grammar words and endings of German, French, Spanish, Portuguese, Italian and Russian.

Forms in lower case. Russian is written with е for ё.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tongue:
    """What the reader of European languages knows of one of them."""

    articles: frozenset[str]
    kept: frozenset[str]
    """Prepositions, pronouns, conjunctions: pieces as they stand, which no negation denies."""
    contracted: dict[str, str]
    """Preposition and article in one word, elided forms: the word they stand for."""
    auxiliaries: dict[str, str]
    """Forms of "to be" and the like: what they say of the next verb, "past", "1", "past 3p"."""
    have: dict[str, str]
    """Auxiliaries of the perfect: they make the next participle past; alone they are verbs."""
    not_: frozenset[str]
    none: frozenset[str]
    """Negating determiners: they deny their noun."""
    quantifiers: dict[str, str]
    asking: frozenset[str]
    """Words with which only a question begins."""
    infinitive: re.Pattern[str]
    participle: re.Pattern[str]
    past: re.Pattern[str]
    future: re.Pattern[str]
    persons: re.Pattern[str]
    """Ending of a finite verb; the name of the group that matches is the person. Only where
    the subject may be left out."""


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _map(text: str) -> dict[str, str]:
    """From "key: form form; key: form"."""
    groups = (group.partition(":") for group in text.split(";"))
    return {form: key.strip() for key, _, forms in groups for form in forms.split()}


_NEVER = re.compile(r"(?!)")

ARTICLE_FORMS = {
    # The case too, which tells who does it: "den Kunden informiert der Lieferant".
    "de": {article: article for article in ("der", "die", "das", "den", "dem", "des")},
    "fr": _map("one: le la l; many: les"),
    "es": _map("one: el la lo; many: los las"),
    "pt": _map("one: o a; many: os as"),
    "it": _map("one: il lo la l; many: i gli le"),
    "ru": _map(""),
}
"""What an article says of its noun (`Piece.form`), by language."""

TONGUES = {
    "de": Tongue(
        _split("der die das den dem des ein eine einen einem einer eines"),
        _split(
            "in an auf aus bei bis durch für gegen mit nach ohne seit um unter über von vor zu "
            "zwischen hinter neben während wegen trotz statt und oder aber denn sondern dass ob "
            "wenn falls weil als wie bevor nachdem ich du er sie es wir ihr mich dich ihn uns euch "
            "mir dir ihm ihnen sich man mein dein sein unser euer"
        ),
        _map(
            "in: im ins; an: am ans; zu: zum zur; von: vom; bei: beim; für: fürs; auf: aufs; "
            "mein: meine meinen meinem meiner meines; dein: deine deinen deinem deiner deines; "
            "sein: seine seinen seinem seiner seines; ihr: ihre ihren ihrem ihrer ihres; "
            "unser: unsere unseren unserem unserer unseres; nicht: nich nichtmal"
        ),
        _map(
            ": bin bist ist sind seid gewesen worden; being: werde wirst wird werden werdet; "
            "past: war warst waren wart wurde wurdest wurden wurdet"
        ),
        _map(": habe hast hat haben habt; past: hatte hattest hatten hattet"),
        _split("nicht"),
        _split("kein keine keinen keinem keiner keines"),
        _map(
            "all: alle allen aller alles jede jeder jedes jeden jedem sämtliche; "
            "some: einige einigen einiger manche manchen etwas; only: nur bloß lediglich "
            "ausschließlich; never: nie niemals; always: immer stets; often: oft häufig; "
            "rarely: selten; sometimes: manchmal; mostly: meist meistens; many: viele vielen; "
            "both: beide beiden; less: weniger; few: wenige wenigen; "
            "almost: fast beinahe; hardly: kaum; "
            "at least: mindestens wenigstens; at most: höchstens; nothing: nichts; "
            "nobody: niemand niemanden niemandem"
        ),
        _split("wer wen wem wessen warum wieso weshalb wohin woher wann welcher welche welches"),
        re.compile(r".{2,}(?:en|ern|eln)\Z"),
        re.compile(r".{0,12}ge.{1,20}(?:t|en)\Z|.+iert\Z|(?:be|ver|er|ent|zer|miss).{2,20}(?:t|en)\Z"),
        re.compile(
            r"(?!(?:möch|könn|müss|dürf|wür).?te).{2,}te(?:n|st|t)?\Z|(?:ging|kam|gab|nahm|sah|fand|"
            r"lief|stand|hielt|schrieb|blieb|ließ|begann|sprach|trug|fuhr|wuss?te|kannte|aß|trank|"
            r"las|fiel|schloss|schlief|gewann|verlor|zog|brach|traf|verließ|bekam|rief|half)"
            r"(?:en|st|t)?\Z"
        ),
        _NEVER,
        _NEVER,
    ),
    "fr": Tongue(
        _split("le la les un une"),
        _split(
            "à de en dans sur sous avec sans pour par contre vers chez entre avant après depuis "
            "pendant jusque et ou mais donc car que qui quand si comme lorsque parce je tu il elle "
            "on nous vous ils elles me te se lui leur y ce cet cette ces mon ton son notre votre"
        ),
        _map(
            "de: du des d; à: au aux; le: l; ne: n; je: j; que: qu; se: s; me: m; te: t; ce: c; "
            "jusque: jusqu; mon: ma mes; ton: ta tes; son: sa ses; notre: nos; votre: vos; "
            "leur: leurs"
        ),
        _map(
            ": suis es est sommes êtes sont été être; past: étais était étions étiez étaient fut "
            "furent; future: sera serai seras serons serez seront; if: serait serais seraient"
        ),
        _map(": ai as a avons avez ont; past: avais avait avions aviez avaient eut eurent"),
        _split("ne pas non"),
        _split("aucun aucune nul nulle"),
        _map(
            "all: tout toute tous toutes chaque; some: quelques certains certaines plusieurs; "
            "only: seulement uniquement exclusivement seul seule; never: jamais; "
            "always: toujours; often: souvent; rarely: rarement; sometimes: parfois quelquefois; "
            "mostly: surtout; many: beaucoup; few: peu; almost: presque; hardly: guère; nothing: "
            "rien; nobody: personne"
        ),
        _split("pourquoi combien comment où quel quelle quels quelles"),
        re.compile(r".+(?:er|ir|re|oir)\Z"),
        re.compile(r".+(?:é|ée|és|ées)\Z|.{2,}(?:i|u|is|ert)(?:e|s|es)?\Z|.*(?:fa|écr|d)it(?:e|s|es)?\Z"),
        re.compile(r".{2,}(?:ais|ait|aient|ions|iez|a|èrent|irent|urent)\Z"),
        re.compile(r".+r(?:ai|as|a|ons|ez|ont)\Z"),
        _NEVER,
    ),
    "es": Tongue(
        _split("el la los las un una unos unas lo"),
        _split(
            "a de en con sin para por contra hacia entre sobre bajo desde hasta durante tras según "
            "antes después y e o u pero sino que si cuando como porque aunque yo tú él ella ello "
            "nosotros nosotras ellos ellas usted ustedes me te se nos le les mi tu su nuestro este "
            "ese aquel"
        ),
        _map(
            "a: al; de: del; mi: mis; tu: tus; su: sus; nuestro: nuestra nuestros nuestras; "
            "este: esta estos estas esto; ese: esa esos esas eso; él: mí"
        ),
        _map(
            ": es está ser estar sido siendo; 3p: son están; 1: soy estoy; 2: eres estás; "
            "1p: somos estamos; past: era fue estaba estuvo; past 3p: eran fueron estaban "
            "estuvieron; past 1: fui estuve; future: será estará; future 3p: serán estarán"
        ),
        _map(": ha; 3p: han; 1: he; 2: has; 1p: hemos; past: había; past 3p: habían"),
        _split("no"),
        _split("ningún ninguna ninguno ningunos ningunas"),
        _map(
            "all: todo toda todos todas cada; some: algún alguna algunos algunas varios varias; "
            "only: solo sólo solamente únicamente; never: nunca jamás; always: siempre; "
            "often: frecuentemente; many: mucho mucha muchos muchas; "
            "few: poco poca pocos pocas; almost: casi; hardly: apenas; nothing: nada; nobody: nadie"
        ),
        _split("qué quién quiénes cuándo cuánto cuánta cuántos cuántas dónde cómo cuál cuáles"),
        re.compile(r".*[aeií]r(?:se)?\Z"),
        re.compile(r".+[aií]d[oa]s?\Z|(?:.*(?:abier|escri|pues|vis|muer|vuel|ro|cubier)t|"
                   r".*(?:di|he)ch)[oa]s?\Z"),
        re.compile(
            r".+(?:aba[ns]?|ábamos|ía[ns]?|íamos|ó|[aeé]ron|aste|iste|é|í)\Z|"
            r".*(?:tuv|pus|quis|hic|hiz|dij|traj|vin|pud|sup)(?:e|o|imos)\Z"
        ),
        re.compile(r".+r(?:á|án|ás|é|emos)\Z"),
        re.compile(
            r".+(?:(?P<p1p>mos)|(?P<p3p>n)|(?P<p2>s|ste)|"
            r"(?P<p1>(?<!tuv)(?<!pus)(?<!quis)(?<!hiz)(?<!dij)(?<!traj)(?<!vin)(?<!pud)(?<!sup)o|oy|é|í|"
            r"(?:tuv|pus|quis|hic|dij|traj|vin|pud|sup)e))\Z"
        ),
    ),
    "pt": Tongue(
        _split("o a os as um uma uns umas"),
        _split(
            "à de em com sem para por contra entre sobre sob desde até durante após antes depois e "
            "ou mas que se quando como porque embora eu tu ele ela você nós eles elas vocês me te "
            "lhe nos lhes meu teu seu nosso este esse aquele"
        ),
        _map(
            "de: do da dos das; em: no na nos nas num numa; à: ao aos às; por: pelo pela pelos "
            "pelas; meu: minha meus minhas; seu: sua seus suas; nosso: nossa nossos nossas; "
            "este: esta estes estas isto; esse: essa esses essas isso; para: pra"
        ),
        _map(
            ": é está ser estar sido sendo; 3p: são estão; 1: sou estou; 2: és estás; 1p: somos "
            "estamos; past: era foi estava esteve; past 3p: eram foram estavam estiveram; "
            "past 1: fui estive; future: será estará; future 3p: serão estarão"
        ),
        _map("past: tinha havia; past 3p: tinham haviam"),
        _split("não nao"),
        _split("nenhum nenhuma nenhuns nenhumas"),
        _map(
            "all: todo toda todos todas cada tudo; some: algum alguma alguns algumas vários; "
            "only: só apenas somente unicamente; never: nunca jamais; always: sempre; "
            "often: frequentemente; rarely: raramente; many: muito muita muitos muitas; "
            "few: pouco pouca poucos poucas; almost: quase; nothing: nada; nobody: ninguém"
        ),
        _split("quem onde quanto quantos quantas qual quais"),
        re.compile(r".*[aeiíôo]r(?:-se)?\Z"),
        re.compile(r".+[aií]d[oa]s?\Z|(?:.*(?:aber|escri|pos|vis|mor|fei|di)t|.*post)[oa]s?\Z"),
        re.compile(r".+(?:ava[ms]?|ávamos|ia[ms]?|íamos|ou|[aei]ram|eu|iu|ei|aste|este|iste|"
                   r"eve|ôde|ôs|isse|ez|is)\Z"),
        re.compile(r".+r(?:á|ão|ás|ei|emos)\Z"),
        re.compile(r".+(?:(?P<p1p>mos)|(?P<p3p>m|ão)|(?P<p1>o|ei)|(?P<p2>s|ste))\Z"),
    ),
    "it": Tongue(
        _split("il lo la i gli le un uno una"),
        _split(
            "a di da in con su per tra fra senza contro verso sotto sopra dopo prima durante e ed "
            "o ma che se quando come perché io tu lui lei noi voi loro mi ti si ci vi ne mio tuo "
            "suo nostro questo quello"
        ),
        _map(
            "di: del dello della dei degli delle dell d; a: al allo alla ai agli alle all ad; "
            "da: dal dallo dalla dai dagli dalle dall; in: nel nello nella nei negli nelle nell; "
            "su: sul sullo sulla sui sugli sulle sull; con: col coi; il: l; mio: mia miei mie; "
            "tuo: tua tuoi tue; suo: sua suoi sue; nostro: nostra nostri nostre; ci: c; "
            "questo: questa questi queste quest; quello: quella quelli quelle quel quei quell"
        ),
        _map(
            ": è sta essere stato stata stati state; 3p: sono stanno; 1: sto; 2: sei stai; "
            "1p: siamo stiamo; 2p: siete; past: era fu stava; past 3p: erano furono stavano; "
            "past 1: ero fui; future: sarà; future 3p: saranno"
        ),
        _map(": ha; 3p: hanno; 1: ho; 2: hai; 1p: abbiamo; 2p: avete; past: aveva; "
             "past 3p: avevano; past 1: avevo"),
        _split("non"),
        _split("nessun nessuna"),
        _map(
            "all: tutto tutta tutti tutte ogni; some: alcuni alcune qualche; "
            "only: solo soltanto solamente unicamente; never: mai; always: sempre; often: spesso; "
            "rarely: raramente; sometimes: talvolta; many: molto molta molti molte; "
            "few: poco poca pochi poche; almost: quasi; hardly: appena; nothing: niente nulla; "
            "nobody: nessuno"
        ),
        _split("chi cosa dove quanto quanti quante quale quali"),
        re.compile(r".+(?:[aeio]re|r?rsi)\Z"),
        re.compile(r".+[aiu]t[oaie]\Z|.*(?:aper|chius|scri|fat|det|let|vis|mess|pres|rot|cor|spen|"
                   r"vin|mor)[tso]?[oaie]\Z"),
        re.compile(r".+(?:[aei]v[ao](?:no)?|[aei]vamo|ò|[aei]rono|é|ì|etti|ette|ettero)\Z"),
        re.compile(r".+r(?:à|anno|ò|ai|emo)\Z"),
        re.compile(r".+(?:(?P<p1p>[aei]mo)|(?P<p3p>no)|(?P<p2p>te)|(?P<p1>o)|(?P<p2>i))\Z"),
    ),
    "ru": Tongue(
        frozenset(),
        _split(
            "в во на с со к ко о об обо от до из у за под над перед через без для про при по между "
            "после и или а но что чтобы если когда как потому хотя я ты он она оно мы вы они меня "
            "тебя его ее нас вас их мне тебе ему ей нам вам им себя мой твой свой наш ваш это этот"
        ),
        _map(
            "в: во; с: со; к: ко; о: об обо; мой: моя мое мои моего моей моих моем моим мою; "
            "наш: наша наше наши нашего нашей наших; свой: своя свое свои своего своей своих; "
            "этот: эта эти этого этой этих этом эту"
        ),
        _map(": есть быть; past: был была было были; future: будет будут буду будешь будем"),
        {},
        _split("не нет"),
        _split("никакой никакая никакого никаких никакие никакую"),
        _map(
            "all: все всех всем всеми каждый каждая каждое каждого каждую каждые; "
            "some: некоторые некоторых несколько; only: только лишь исключительно; "
            "never: никогда; always: всегда; often: часто; rarely: редко; sometimes: иногда; "
            "many: много многие многих; few: мало немногие; almost: почти; hardly: едва; "
            "nothing: ничего ничто; nobody: никто никого никому"
        ),
        _split("кто почему зачем где куда откуда сколько какой какая какое какие ли"),
        re.compile(r".+(?:ть|ти|чь)(?:ся|сь)?\Z"),
        re.compile(r".+[еая]н(?:а|о|ы|ный|ная|ное|ные|ного|ной|ных|ным)?\Z|.+[иыоу]т[аоы]?\Z"),
        re.compile(r".+л[аои]?(?:ся|сь)?\Z"),
        _NEVER,
        re.compile(r".+(?:(?P<p1>[юу])|(?P<p2>шь)|(?P<p1p>[еи]м)|(?P<p2p>[еи]те)|(?P<p3p>[уюая]т))"
                   r"(?:ся|сь)?\Z"),
    ),
}  # fmt: skip
