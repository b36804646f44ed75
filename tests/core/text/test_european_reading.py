"""European readings: values, names, quantifiers and simple negation; no false certainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.domain.calibration import SHIPPED
from totonoe_core.domain.records import Verdict
from totonoe_core.guard import verdict
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.european.read import read
from totonoe_core.text.reading.european.words import LANGUAGES
from totonoe_core.text.reading.model import PieceType

SAME = {
    "de": [
        ("Der Server läuft auf Port 8080.", "Server läuft auf dem Port 8080", "articles"),
        ("Die Sicherung dauert zwei Stunden", "Die Sicherung dauert 120 Minuten", "units"),
        ("Das Treffen ist am 3. März 2024", "Das Treffen ist am 03.03.2024", "dates"),
        ("Anna mag keine Katzen", "Anna mag Katzen nicht", "two ways to deny"),
        ("Das Backup-System ist nicht aktiv", "Das Backupsystem ist nicht aktiv", "hyphen"),
        ("Anna hat die alte Tabelle gelöscht", "Anna hat alte Tabellen gelöscht", "number"),
    ],
    "fr": [
        ("Le serveur écoute sur le port 8080.", "Serveur écoute sur port 8080", "articles"),
        ("La sauvegarde dure deux heures", "La sauvegarde dure 120 minutes", "units"),
        ("La réunion est le 3 mars 2024", "La réunion est le 03/03/2024 ", "dates"),
        ("L’utilisateur n’aime pas le café", "L'utilisateur n'aime pas café", "apostrophes"),
        ("Le service est désactivé", "Les services sont désactivés", "number"),
        ("Marie n'aime pas le thé", "Marie aime pas le thé.", "spoken denial"),
    ],
    "es": [
        ("El servidor usa el puerto 8080.", "Servidor usa puerto 8080", "articles"),
        ("La copia dura dos horas", "La copia dura 120 minutos", "units"),
        ("La reunión es el 3 de marzo de 2024", "La reunión es el 2024-03-03", "dates"),
        ("Ana come carne nunca", "Ana no come carne nunca", "one negation in two words"),
        ("El archivo activado", "Los archivos activados", "number"),
    ],
    "pt": [
        ("O servidor usa a porta 8080.", "Servidor usa porta 8080", "articles"),
        ("A cópia demora duas horas", "A cópia demora 120 minutos", "units"),
        ("A reunião é em 3 de março de 2024", "A reunião é em 2024-03-03", "dates"),
        ("O serviço não está ativado na rede", "Serviço não está ativado em rede", "contraction"),
    ],
    "it": [
        ("Il server usa la porta 8080.", "Server usa porta 8080", "articles"),
        ("La copia dura due ore", "La copia dura 120 minuti", "units"),
        ("La riunione è il 3 marzo 2024", "La riunione è il 2024-03-03", "dates"),
        ("L'utente non mangia mai carne", "Utente mangia mai carne", "one negation in two words"),
    ],
    "ru": [
        ("Копирование длится два часа", "Копирование длится 120 минут", "units"),
        ("Встреча будет 3 марта 2024 года", "Встреча будет 2024-03-03", "dates"),
        ("Служба ещё включена", "Служба еще включена.", "ё"),
        ("Никто не любит отчёты", "Никто не любит отчеты", "one negation in two words"),
    ],
}

OTHER = {
    "de": [
        ("Der Server läuft auf Port 8080", "Der Server läuft auf Port 8081", "number"),
        ("Das Treffen ist am 3. März 2024", "Das Treffen ist am 4. März 2024", "date"),
        ("Der Dienst läuft stabil", "Der Dienst läuft nicht stabil", "negation"),
        ("Anna mag Katzen", "Anna mag keine Katzen", "negated noun"),
        ("Anna aktiviert den Dienst", "Anna deaktiviert den Dienst", "opposites"),
        ("Anna schaltet den Dienst ein", "Anna schaltet den Dienst aus", "verb particle"),
        ("Anna leitet Bernd", "Bernd leitet Anna", "who to whom"),
        ("Alle Tests laufen", "Einige Tests laufen", "quantifier"),
        ("Der Dienst wurde gelöscht", "Der Dienst wird gelöscht", "past"),
        ("Anna liebte Katzen", "Anna liebt Katzen", "past of a verb"),
        ("Anna hat die Tabelle gelöscht", "Anna löscht die Tabelle", "perfect"),
        ("Der Server ist schneller", "Der Server ist schnell", "comparison"),
        ("Der Dienst läuft", "Läuft der Dienst?", "question"),
        ("Der Dienst läuft mit Cache", "Der Dienst läuft ohne Cache", "preposition"),
        ("Die Regel gilt immer", "Die Regel gilt nie", "always, never"),
    ],
    "fr": [
        ("Le serveur écoute sur le port 8080", "Le serveur écoute sur le port 8081", "number"),
        ("La réunion est le 3 mars 2024", "La réunion est le 4 mars 2024", "date"),
        ("Le service est disponible", "Le service n'est pas disponible", "negation"),
        ("Marie n'a aucun chat", "Marie a un chat", "negated noun"),
        ("Marie active le service", "Marie désactive le service", "opposites"),
        ("Le service est activé", "Le service est désactivé", "opposites, participles"),
        ("Marie dirige Paul", "Paul dirige Marie", "who to whom"),
        ("Tous les tests passent", "Certains tests passent", "quantifier"),
        ("Marie aimait le café", "Marie aime le café", "past"),
        ("Marie a fermé le dossier", "Marie ferme le dossier", "perfect"),
        ("Marie n'aime que le thé", "Marie aime le thé", "only"),
        ("Le serveur fonctionne", "Le serveur fonctionne-t-il ?", "question"),
        ("Il déjeune avant midi", "Il déjeune après midi", "preposition"),
    ],
    "es": [
        ("El servidor usa el puerto 8080", "El servidor usa el puerto 8081", "number"),
        ("La reunión es el 3 de marzo", "La reunión es el 4 de marzo", "date"),
        ("El servicio funciona", "El servicio no funciona", "negation"),
        ("Ana tiene gatos", "Ana no tiene ningún gato", "negated noun"),
        ("Ana abre la puerta", "Ana cierra la puerta", "opposites"),
        ("Ana dirige a Luis", "Luis dirige a Ana", "who to whom"),
        ("Todos los usuarios entran", "Algunos usuarios entran", "quantifier"),
        ("Trabajó en Madrid", "Trabaja en Madrid", "past"),
        ("Vivo en Madrid", "Vive en Madrid", "person in the ending"),
        ("Voy a Sevilla", "Va a Sevilla", "person of an irregular verb"),
        ("Soy vegetariano", "Es vegetariano", "person of the copula"),
        ("He borrado la tabla", "Ha borrado la tabla", "person of the auxiliary"),
        ("El archivo está abierto", "El archivo abre", "state and act"),
        ("Funciona con caché", "Funciona sin caché", "preposition"),
    ],
    "pt": [
        ("O servidor usa a porta 8080", "O servidor usa a porta 8081", "number"),
        ("A reunião é em 3 de março", "A reunião é em 4 de março", "date"),
        ("O serviço funciona", "O serviço não funciona", "negation"),
        ("Ana abre a porta", "Ana fecha a porta", "opposites"),
        ("Ana dirige Paulo", "Paulo dirige Ana", "who to whom"),
        ("Todos os testes passam", "Alguns testes passam", "quantifier"),
        ("Ela gostava de café", "Ela gosta de café", "past"),
        ("Moro em Lisboa", "Mora em Lisboa", "person in the ending"),
        ("Funciona com cache", "Funciona sem cache", "preposition"),
    ],
    "it": [
        ("Il server usa la porta 8080", "Il server usa la porta 8081", "number"),
        ("La riunione è il 3 marzo", "La riunione è il 4 marzo", "date"),
        ("Il servizio funziona", "Il servizio non funziona", "negation"),
        ("Anna apre la porta", "Anna chiude la porta", "opposites"),
        ("Anna dirige Paolo", "Paolo dirige Anna", "who to whom"),
        ("Tutti i test passano", "Alcuni test passano", "quantifier"),
        ("Anna amava il caffè", "Anna ama il caffè", "past"),
        ("Ho mangiato la pizza", "Ha mangiato la pizza", "person of the auxiliary"),
        ("Funziona con cache", "Funziona senza cache", "preposition"),
    ],
    "ru": [
        ("Сервер работает на порту 8080", "Сервер работает на порту 8081", "number"),
        ("Встреча 3 марта", "Встреча 4 марта", "date"),
        ("Сервер работает", "Сервер не работает", "negation"),
        ("Служба включена", "Служба отключена", "opposites"),
        ("Анна любит Бориса", "Борис любит Анну", "who to whom"),
        ("Все тесты проходят", "Некоторые тесты проходят", "quantifier"),
        ("Анна любила кофе", "Анна любит кофе", "past"),
        ("Люблю кофе", "Любит кофе", "person in the ending"),
        ("Сервер быстрее", "Сервер быстрый", "comparison"),
        ("Кофе с молоком", "Кофе без молока", "preposition"),
    ],
}


def _table(pairs: dict[str, list[tuple[str, str, str]]]) -> list[tuple[str, str, str, str]]:
    return [(language, *pair) for language, found in pairs.items() for pair in found]


def _said(text: str, language: str) -> list[tuple[str, bool, str]]:
    return [(piece.key, piece.negated, piece.tense) for piece in read(text, language).pieces]


@pytest.mark.parametrize(("language", "own", "other", "why"), _table(SAME))
def test_read_same_meaning_gives_the_same_keys(
    language: str, own: str, other: str, why: str
) -> None:
    assert sorted(_said(own, language)) == sorted(_said(other, language)), why


@pytest.mark.parametrize(("language", "own", "other", "why"), _table(OTHER))
def test_read_other_meaning_gives_other_pieces(
    language: str, own: str, other: str, why: str
) -> None:
    one, two = read(own, language), read(other, language)
    assert (_said(own, language), one.asks) != (_said(other, language), two.asks), why


@pytest.fixture
def read_as(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Telling the language of a text is not these tests' matter."""

    def take(language: str) -> None:
        monkeypatch.setattr(verdict, "common_language", lambda *_: language)

    verdict.forget_cached()
    yield take
    verdict.forget_cached()


@pytest.mark.parametrize(("language", "own", "other", "why"), _table(OTHER))
def test_compare_other_meaning_is_no_duplicate(
    language: str, own: str, other: str, why: str, read_as: Callable[[str], None]
) -> None:
    read_as(language)
    for text, two in ((own, other), (other, own)):
        found = verdict.compare(text, two, 0.99, SHIPPED[0].weights).judgement.verdict
        assert found is not Verdict.DUPLICATE, why


_IN_ORDER = [row for row in _table(SAME) if row[3] not in ("two ways to deny", "number")]


@pytest.mark.parametrize(("language", "own", "other", "why"), _IN_ORDER)
def test_compare_same_meaning_is_a_duplicate(
    language: str, own: str, other: str, why: str, read_as: Callable[[str], None]
) -> None:
    read_as(language)
    found = verdict.compare(own, other, 0.95, SHIPPED[0].weights).judgement.verdict
    assert found is Verdict.DUPLICATE, why


@pytest.mark.parametrize(
    ("language", "own", "other"),
    [
        ("fr", "La lampe du couloir est cassée", "Les lampes du couloir sont cassées"),
        ("es", "La puerta del garaje está abierta", "Las puertas del garaje están abiertas"),
        ("pt", "A luz da sala está acesa", "As luzes da sala estão acesas"),
        ("it", "La porta del garage è aperta", "Le porte del garage sono aperte"),
        ("de", "Der Brunnen ist trocken", "Die Brunnen sind trocken"),
        ("de", "Der Vater ruft den Sohn", "Den Vater ruft der Sohn"),
        ("de", "Der Wagen rollt in die Scheune", "Der Wagen rollt in der Scheune"),
        ("de", "Das Fenster wird geöffnet", "Das Fenster ist geöffnet"),
        ("de", "Weniger Fenster sind offen", "Wenige Fenster sind offen"),
        ("de", "Beide Fenster sind offen", "Alle Fenster sind offen"),
    ],
)
def test_compare_other_number_case_or_passive_is_no_duplicate(
    language: str, own: str, other: str, read_as: Callable[[str], None]
) -> None:
    read_as(language)
    found = verdict.compare(own, other, 0.97, SHIPPED[0].weights).judgement.verdict
    assert found is not Verdict.DUPLICATE


@pytest.mark.parametrize(
    ("language", "text", "denied"),
    [
        ("de", "Der Dienst läuft nicht stabil", {"stabil"}),
        ("de", "Anna hat kein neues Auto", {"auto"}),
        ("de", "Anna mag Katzen nicht, aber Hunde", {"katze"}),
        ("fr", "Le serveur ne répond pas au client", {"répondre"}),
        ("fr", "Marie ne mange jamais de viande", set()),
        ("es", "No me gusta el café", {"gustar"}),
        ("pt", "O serviço não responde", {"responder"}),
        ("it", "Il server non risponde", {"rispondere"}),
        ("ru", "Сервер не отвечает", {"отвечать"}),
        ("de", "Der Dienst ist nicht nicht stabil", set()),
    ],
)
def test_read_negation_denies_its_word(language: str, text: str, denied: set[str]) -> None:
    assert {piece.key for piece in read(text, language).pieces if piece.negated} == denied


def test_read_names_inside_a_sentence_are_names() -> None:
    kinds = {
        piece.key: piece.type for piece in read("El equipo usa Grafana en Sevilla", "es").pieces
    }
    assert kinds["grafana"] is kinds["sevilla"] is PieceType.NAME
    german = {piece.key: piece.type for piece in read("Das Team nutzt Grafana", "de").pieces}
    assert german == {
        "team": PieceType.WORD, "nutzen": PieceType.WORD, "grafana": PieceType.NAME
    }  # fmt: skip


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_read_hardly_a_known_word_is_not_certain(language: str) -> None:
    assert not read("qwrtz brxlq vkkpf zzgrm", language).certain


@pytest.mark.parametrize("language", [*sorted(LANGUAGES), "ko"])
def test_lexicon_loads_and_no_word_contradicts_itself(language: str) -> None:
    lists = lexicon(language)
    assert len(lists.opposite_keys) >= 60
    assert all(lists.key(word) == word for word in lists.opposite_keys)


def test_read_unknown_language_raises() -> None:
    with pytest.raises(ValueError, match="no European language"):
        read("text", "xx")


@pytest.fixture(scope="module", autouse=True)
def _dictionaries_are_loaded() -> None:
    for language in LANGUAGES:
        read("qwrtz", language)


@given(text=st.text(max_size=200), language=st.sampled_from(sorted(LANGUAGES)))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_read_any_text_gives_ordered_places_and_the_same_again(text: str, language: str) -> None:
    reading = read(text, language)
    assert reading == read(text, language)
    starts = [piece.start for piece in reading.pieces]
    assert starts == sorted(starts)
    assert all(0 <= piece.start < piece.end <= len(text) for piece in reading.pieces)


_PARTS = [
    "Der",
    "nicht",
    "kein",
    "ne",
    "pas",
    "n'",
    "que",
    "No",
    "nunca",
    "não",
    "non",
    "mai",
    "не",
    "никто",
    "8080",
    "3 mars",
    ",",
    ".",
    "?",
    "a-t-il",
    "Anna",
    "è",
    "a",
    "wurde",
    "hat",
    "l'été",
    "ein",
    "il",
]


@given(
    words=st.lists(st.sampled_from(_PARTS), max_size=14),
    language=st.sampled_from(sorted(LANGUAGES)),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_read_words_of_grammar_in_any_order_never_raise(words: list[str], language: str) -> None:
    text = " ".join(words)
    pieces = read(text, language).pieces
    assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)


@pytest.mark.parametrize("sign", ["a", "'", "-", "n'", "не ", "é", "?", "A", "1", "ge"])
def test_read_long_runs_end(sign: str) -> None:
    text = sign * 1_000
    assert read(text, "fr") == read(text, "fr")
