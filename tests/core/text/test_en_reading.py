"""English: what says the same must read the same, what does not must not.

Judged by the verdict with a high cosine, because that is what a reading is for: DUPLICATE means
that no difference was found.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from totonoe_core.domain.records import Verdict
from totonoe_core.guard.calibrate import HAND
from totonoe_core.guard.verdict import compare
from totonoe_core.text.lexicon import lexicon
from totonoe_core.text.reading.english.read import read
from totonoe_core.text.reading.model import PieceType, Role

COSINE = 0.97

SAME = {
    "no duty": [
        ("Residents need not feed the birds", "Residents don't have to feed the birds"),
        ("Residents need not feed the birds", "Residents are not required to feed the birds"),
    ],
    "able": [
        ("Mia can open the safe", "Mia is able to open the safe"),
        ("Mia can open the safe", "Mia is allowed to open the safe"),
    ],
    "fronted condition": [
        ("If the tank is full, stop pumping", "Stop pumping if the tank is full"),
    ],
    "perfect and past": [
        ("The parcel has arrived", "The parcel arrived"),
        ("The offer has been withdrawn", "The offer was withdrawn"),
    ],
    "fronted time": [
        ("In April our lease ends", "Our lease ends in April"),
        ("Every evening the pump runs", "The pump runs each evening"),
        ("On Tuesdays the library closes at 8", "The library closes at 8 on Tuesdays"),
        ("Tomorrow the painter calls", "The painter calls tomorrow"),
        ("At midnight Nora waters the garden", "Nora waters the garden at midnight"),
    ],
    "fronted place": [
        ("Under the bench the fan gets stuck", "The fan gets stuck under the bench"),
    ],
    "report without a subject": [
        ("Fixed the leak", "The leak was fixed"),
        ("Merged the branch yesterday", "The branch was merged yesterday"),
    ],
    "get passive": [
        ("Olga got elected in May", "Olga was elected in May"),
        ("The parcel gets delivered by drone", "The parcel is delivered by drone"),
    ],
    "needed by": [
        ("Unit R-14 needs a fuse", "A fuse is needed by unit R-14"),
    ],
    "idiom of denial": [
        ("He never fails to greet the guard", "He always greets the guard"),
        ("Nobody but Ines has the key", "Only Ines has the key"),
        ("Not a single job failed", "No job failed"),
        ("Crashes are not uncommon here", "Crashes are common here"),
        ("The form is due no later than Friday", "The form is due by Friday at the latest"),
        ("It is impossible to repair the lid", "The lid cannot be repaired"),
    ],
    "support verb with an article": [
        ("Anna made the decision to move", "Anna decided to move"),
    ],
    "articles": [
        ("A user opened the ticket", "The user opened a ticket"),
        ("User likes coffee", "The user likes coffee."),
    ],
    "passive": [
        ("Ann manages Bob", "Bob is managed by Ann"),
        ("The script deletes the cache", "The cache is deleted by the script"),
        ("A guard is closing the gate", "The gate is being closed by a guard"),
    ],
    "dative": [
        ("She gave the key to Peter", "She gave Peter the key"),
        ("Max sent the report to Ann", "Max sent Ann the report"),
    ],
    "genitive": [
        ("The owner's truck is red", "The truck of the owner is red"),
        ("a cup for coffee is clean", "a cup for coffee is clean!"),
    ],
    "relative clause": [
        ("The cat, which is grey, sleeps", "The grey cat sleeps"),
    ],
    "order of what is joined": [
        ("Blue and yellow flags hang in the hall", "Yellow and blue flags hang in the hall"),
        ("Tom and Eva sing", "Eva and Tom sing"),
    ],
    "fronted phrase": [
        ("In the evening, Ann plays chess", "Ann plays chess in the evening"),
        (
            "During the meeting, the client asked for a discount",
            "The client asked for a discount during the meeting",
        ),
    ],
    "there is": [
        ("There is a dog sleeping in the yard", "A dog is sleeping in the yard"),
    ],
    "one or several in general": [
        ("A valve needs oil", "Valves need oil"),
        ("The glass of the lamp is thin", "The lamp's glass is thin"),
    ],
    "bundles": [
        ("It raises a kind of warning", "It raises a warning"),
        ("The disk is for backup purposes", "The disk is for backups"),
        ("The door is red coloured", "The door is red"),
    ],
    "synonyms": [
        ("The user likes tea", "The user enjoys tea"),
        ("Start the server", "Launch the server"),
        ("The build requires a token", "The build needs a token"),
        ("Delete the old logs", "Remove the old logs"),
    ],
    "spelling": [
        ("The colour of the logo is grey", "The color of the logo is gray"),
        ("We organise the files", "We organize the files"),
        ("The front-end is slow", "The frontend is slow"),
        ("The config is in the repo", "The configuration is in the repository"),
    ],
    "case and marks": [
        ("Ann lives in Oslo", "ann lives in oslo"),
        ("The server is down!", "THE SERVER IS DOWN"),
        ("User prefers tabs", "User prefers tabs :)"),
    ],
    "contractions": [
        ("It doesn't work on Linux", "It does not work on Linux"),
        ("She's reading", "She is reading"),
        ("We can't deploy", "We cannot deploy"),
    ],
    "denying prefix": [
        ("The service is unavailable", "The service is not available"),
        ("That is impossible", "That is not possible"),
        ("The claim is untrue", "The claim is not true"),
    ],
    "denied subject": [
        ("Nobody is riding the horse", "No person is riding the horse"),
        ("There is no man cooking", "No man is cooking"),
    ],
    "other denials": [
        ("The box has no lid", "The box does not have a lid"),
        ("The job failed to start", "The job did not start"),
        ("Neither Ann nor Bob smokes", "Ann and Bob do not smoke"),
        ("Turn off the light", "Turn the light off"),
    ],
    "filler": [
        ("Please restart the server", "Restart the server"),
        ("Note that the key expires in June", "The key expires in June"),
        ("Do not forget to run the tests", "Remember to run the tests"),
        ("Don't hesitate to ask", "Feel free to ask"),
    ],
    "light verbs": [
        ("The team made a decision", "The team decided"),
        ("She takes a shower", "She showers"),
    ],
    "future": [
        ("We are going to migrate the database", "We will migrate the database"),
    ],
    "wishes": [
        ("User wants to learn Rust", "The user would like to learn Rust"),
        ("The user no longer wants to use vim", "User doesn't want to use vim anymore"),
    ],
}

DIFFERENT = {
    "no duty is no ban": [
        ("Residents must not feed the birds", "Residents do not have to feed the birds"),
        ("You must not seal the lid", "You need not seal the lid"),
        ("Pilots must not log the noise", "Pilots are not required to log the noise"),
        ("Nobody must call the desk", "Nobody has to call the desk"),
    ],
    "some, both": [
        ("Some visitors park behind the barn", "Visitors park behind the barn"),
        ("Both ovens are cold", "The ovens are cold"),
    ],
    "barely": [
        ("The lamp barely lights the stairs", "The lamp does not light the stairs"),
        ("The lamp barely lights the stairs", "The lamp lights the stairs"),
    ],
    "why it was not done, or could be": [
        ("Tom refused to sign the lease", "Tom forgot to sign the lease"),
        ("Mia is able to open the safe", "Mia is allowed to open the safe"),
        ("Mia managed to open the safe", "Mia was allowed to open the safe"),
    ],
    "in a time and within it": [
        ("Call Ben back in two hours", "Call Ben back within two hours"),
    ],
    "degree": [
        ("Use the small screw", "Use the smaller screw"),
        ("Use the small screw", "Use the smallest screw"),
        ("The left lane is quick", "The left lane is quicker"),
    ],
    "participle before its noun": [
        ("Report the failing units", "Report the failed units"),
        ("Greet the paying guests", "Greet the paid guests"),
    ],
    "done, being done, has been done": [
        ("The roof is being repaired", "The roof is repaired"),
        ("The roof has been repaired", "The roof is being repaired"),
        ("Lena has moved out", "Lena moves out"),
        ("Lena has moved out", "Lena had moved out"),
    ],
    "a thing and its kind, or one beside it": [
        ("Dinner is served on the terrace", "Lunch is served on the terrace"),
        ("She parked the truck outside", "She parked the car outside"),
        ("Each order has a client number", "Each order has a customer number"),
        ("The import confirms the rows", "The import checks the rows"),
    ],
    "one or several": [
        ("The valve leaks", "The valves leak"),
        ("Our branch in Rome is closed", "Our branches in Rome are closed"),
        ("Feed the mouse of Ann", "Feed the mice of Ann"),
    ],
    "what of a thing": [
        ("Print the number of open tickets", "Print the open tickets"),
        ("Save the type of the sensor", "Save the sensor"),
        ("The sensor's type is saved", "The sensor is saved"),
        ("Sort the second row of the sheet", "Sort the second sheet"),
        ("Members may leave their own groups", "Members may leave groups"),
        ("A part of the garden is flooded", "The garden is flooded"),
        ("The colour of the door matters", "The door matters"),
        ("The purpose of this flag is odd", "This flag is odd"),
        ("Explain it clearly to Bob", "Explain it to Bob"),
    ],
    "opinion and hearsay": [
        ("I think the API is stable", "The API is stable"),
        ("In my opinion the API is stable", "The API is stable"),
        ("The user said that the API is stable", "The API is stable"),
        ("The API is stable, so they say", "The API is stable"),
        ("As far as I know the API is stable", "The API is stable"),
    ],
    "whose": [
        ("My phone is broken", "The phone is broken"),
        ("The pipeline lost our key", "The pipeline lost the key"),
    ],
    "another": [
        ("Bob put on another coat", "Bob put on a coat"),
    ],
    "modality and tense of a value": [
        ("The port may be 5433", "The port is 5433"),
        ("The limit was 30 seconds", "The limit is 30 seconds"),
    ],
    "have and have no": [
        ("Ann has a car", "Ann has no car"),
        ("The switch has an effect on speed", "The switch has no effect on speed"),
        ("Mia has a nut allergy", "Mia is not allergic to nuts"),
    ],
    "the verb like": [
        ("The user likes olives", "The user does not like olives"),
        ("I like jazz", "I do not like jazz"),
    ],
    "one that stands for a noun": [
        (
            "The old pump in the hall was sold and the new one in the yard was kept",
            "The new pump in the hall was sold and the old one in the yard was kept",
        ),
        ("The new one is faster than the old one", "The old one is faster than the new one"),
    ],
    "times of two deeds": [
        ("The report for April was sent in March", "The report for March was sent in April"),
        ("Ann met Bob on Monday and Eva on Tuesday", "Ann met Bob on Tuesday and Eva on Monday"),
    ],
    "unless": [
        ("Deploy unless the tests fail", "Deploy if the tests fail"),
    ],
    "sides of a comparison": [
        ("Lucas is older than Emil", "Lucas is younger than Emil"),
        ("Lucas is older than Emil", "Emil is older than Lucas"),
    ],
    "agent of a passive": [
        ("Olga got fired", "Olga fired Tom"),
        ("Mia works as a nurse", "Mia works with a nurse"),
        ("You found the ladder in the shed", "The ladder is in the shed"),
        ("Deleting the cache fixed the crash", "The crash deleted the cache"),
    ],
    "denial": [
        ("The user likes coffee", "The user does not like coffee"),
        ("Deployment is allowed", "Deployment is not allowed"),
        ("A woman is knitting", "There is no woman knitting"),
        ("A man is riding the bike", "Nobody is riding the bike"),
        ("The user wants to move", "The user no longer wants to move"),
        ("He can see it", "He can hardly see it"),
        ("The test passes with the flag", "The test passes without the flag"),
        ("She managed to log in", "She failed to log in"),
        ("The port is open", "The port is not open"),
        ("Use global variables", "Avoid using global variables"),
        ("Use the async runtime", "Do not use the async runtime"),
        ("The server was restarted", "The server has yet to be restarted"),
    ],
    "denial of another clause": [
        (
            "The server is up and the cache is not full",
            "The server is not up and the cache is full",
        ),
        ("He said that he did not pay", "He did not say that he paid"),
    ],
    "opposites": [
        ("Enable the cache", "Disable the cache"),
        ("Always rebase", "Never rebase"),
        ("Run the linter before the tests", "Run the linter after the tests"),
        ("Set the maximum size", "Set the minimum size"),
        ("The gate is open", "The gate is closed"),
        ("Turn on the light", "Turn off the light"),
        ("The vote was in favour of the plan", "The vote was against the plan"),
        ("The repo is public", "The repo is private"),
        ("The user loves jazz", "The user hates jazz"),
    ],
    "roles": [
        ("Ann manages Bob", "Bob manages Ann"),
        ("The dog chased the cat", "The cat chased the dog"),
        ("Bob reports to Ann", "Ann reports to Bob"),
        ("Ann introduced Bob to Carol", "Ann introduced Carol to Bob"),
        ("The train goes from Rome to Milan", "The train goes from Milan to Rome"),
        ("User prefers tea over coffee", "User prefers coffee over tea"),
        ("Use yarn instead of npm", "Use npm instead of yarn"),
        ("We switched from Slack to Teams", "We switched from Teams to Slack"),
        ("Module a depends on module b", "Module b depends on module a"),
        ("Ann is managed by Bob", "Bob is managed by Ann"),
        ("Tom is taller than Eva", "Eva is taller than Tom"),
    ],
    "who has what": [
        ("A white dog and a red car", "A red dog and a white car"),
        ("The old man met the young woman", "The young man met the old woman"),
        ("Ann's brother met Bob's sister", "Bob's brother met Ann's sister"),
        ("He was born in Bonn and died in Kiel", "He was born in Kiel and died in Bonn"),
        ("The king of Spain met the queen of Norway", "The king of Norway met the queen of Spain"),
        (
            "In 1990 he moved to Lima and in 1995 to Quito",
            "In 1995 he moved to Lima and in 1990 to Quito",
        ),
        ("Ann likes tea and Bob likes coffee", "Ann likes coffee and Bob likes tea"),
    ],
    "compounds": [
        ("The coffee cup is new", "The cup coffee is new"),
        ("police dog training", "dog police training"),
    ],
    "quantity words": [
        ("All tests pass", "Some tests pass"),
        ("Few users complained", "A few users complained"),
        ("Only admins may deploy", "Admins may deploy"),
        ("At least five nodes are up", "At most five nodes are up"),
        ("He usually works at home", "He rarely works at home"),
        ("Both servers failed", "Neither server failed"),
        ("Many users left", "All users left"),
    ],
    "modality and tense": [
        ("He wants to learn Go", "He learns Go"),
        ("You may deploy on Friday", "You must deploy on Friday"),
        ("If the disk is full, the job stops", "The disk is full, the job stops"),
        ("Ann lived in Rome", "Ann lives in Rome"),
        ("User used to smoke", "User smokes"),
        ("He tries to sleep", "He sleeps"),
    ],
    "questions": [("Is the server up?", "The server is up"), ("Does Ann smoke?", "Ann smokes")],
    "names": [
        ("Ann likes tea", "Eve likes tea"),
        ("Mr Smith called", "Mr Jones called"),
        ("Paul Adams called", "Paul Adam called"),
    ],
    "titles": [("Mr Smith called Bob", "Mrs Smith called Bob")],
    "pronouns": [("He sold her car", "She sold her car"), ("I like tea", "You like tea")],
    "one more thing": [
        ("The user likes tea", "The user likes tea and coffee"),
        ("A dog is barking", "A black dog is barking"),
    ],
    "weaker than said": [("He is happy", "He is not happy")],
}


def _cases(groups: dict[str, list[tuple[str, str]]]) -> list[object]:
    return [
        pytest.param(own, other, id=f"{why}: {own[:30]}")
        for why, pairs in groups.items()
        for own, other in pairs
    ]


@pytest.mark.parametrize(("own", "other"), _cases(SAME))
def test_reading_of_another_wording_is_a_duplicate(own: str, other: str) -> None:
    for text, two in ((own, other), (other, own)):
        judged = compare(text, two, COSINE, HAND).judgement
        assert judged.verdict is Verdict.DUPLICATE, (read(text), read(two))


@pytest.mark.parametrize(("own", "other"), _cases(DIFFERENT))
def test_reading_of_another_statement_is_no_duplicate(own: str, other: str) -> None:
    for text, two in ((own, other), (other, own)):
        judged = compare(text, two, 1.0, HAND).judgement
        assert judged.verdict is not Verdict.DUPLICATE, (read(text), read(two))


def _said(text: str) -> dict[str, tuple[str, str, bool]]:
    return {piece.key: (piece.role, piece.head, piece.negated) for piece in read(text).pieces}


def test_reading_of_clause_names_roles_and_heads() -> None:
    said = _said("Yesterday the old gardener gave Eva two roses in the park.")
    assert said["gardener"] == (Role.AGENT, "give", False)
    assert said["old"] == (Role.MODIFIER, "gardener", False)
    assert said["rose"] == (Role.PATIENT, "give", False)
    assert said["eva"] == ("prep:to", "give", False)
    assert said["park"] == ("prep:in", "give", False)
    assert said["2"] == (Role.MODIFIER, "rose", False)


def test_reading_of_denied_clause_leaves_the_other_clause_alone() -> None:
    said = _said("The cache is warm but the index does not answer.")
    assert not said["warm"][2]
    assert said["answer"][2]


def test_reading_of_double_denial_is_no_denial_but_says_that_it_is_weaker() -> None:
    litotes, plain = read("He is not unhappy").pieces[-1], read("He is happy").pieces[-1]
    assert litotes.key == plain.key
    assert not litotes.negated
    assert litotes.modality == "rather"
    assert not plain.modality


@pytest.mark.parametrize(
    ("text", "key", "modality", "tense"),
    [
        ("The user wants to move", "move", "want", ""),
        ("You must restart it", "restart", "must", ""),
        ("She can swim", "swim", "can", ""),
        ("He should call", "call", "should", ""),
        ("They tried to escape", "escape", "try", "past"),
        ("We will migrate", "migrate", "", "future"),
        ("Ann went home", "go", "", "past"),
        ("If it rains, we stay", "rain", "if", ""),
    ],
)
def test_reading_of_verb_has_modality_and_tense(
    text: str, key: str, modality: str, tense: str
) -> None:
    verb = next(piece for piece in read(text).pieces if piece.key == key)
    assert (verb.modality, verb.tense) == (modality, tense)


def test_reading_tells_questions_and_orders() -> None:
    assert read("Is the server up?").asks
    assert read("Who owns the repo").asks
    assert read("Is the server up? It was not.").asks
    assert not read("What is missing is a test.").asks
    assert read("Restart the server").orders
    statement = read("The user restarts the server")
    assert not statement.asks
    assert not statement.orders


def test_reading_of_name_is_a_name_not_a_word() -> None:
    types = {piece.key: piece.type for piece in read("The user met Eva Lindqvist in Oslo").pieces}
    assert types["lindqvist"] is types["oslo"] is PieceType.NAME
    assert types["user"] is PieceType.WORD


def test_reading_of_opposite_names_it() -> None:
    piece = read("Enable the cache").pieces[0]
    other = read("Disable the cache").pieces[0]
    assert other.key in piece.opposites
    assert piece.key in other.opposites


def test_lexicon_of_english_holds_together() -> None:
    lists = lexicon("en")
    assert lists.key("purchase") == lists.key("buy")
    assert all(key not in lists.opposites(key) for key in lists.opposite_keys)


WORDS = """
the a not no who that which of to in by and or , . ? ' n't was been having dogs run ran running
eaten never Ann's Bob $5 3 all few without than if before 'x' " is does group only
"""


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join),
    )
)
def test_reading_of_any_text_is_pure_and_in_range(text: str) -> None:
    reading = read(text)
    assert reading == read(text)
    starts = [piece.start for piece in reading.pieces]
    assert starts == sorted(starts)
    for piece in reading.pieces:
        assert 0 <= piece.start < piece.end <= len(text)
        assert piece.key


@pytest.mark.parametrize("unit", ["the ", "and ", "not ", "a dog, ", "to go ", "'", "-", ". ", "x"])
def test_reading_of_long_monotony_ends(unit: str) -> None:
    assert read(unit * 400).language == "en"
