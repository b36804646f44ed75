"""Episodes: made, taken away, and read with the memories that are there."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.engines import HOUR_US, NOON, Store, episode, forget, remember, update
from totonoe_core.base import errors, limits
from totonoe_core.domain.graph import DeleteEpisode
from totonoe_core.domain.queries import (
    EpisodePage,
    EpisodeQuery,
    EpisodeRead,
    EpisodesQuery,
    GetQuery,
)
from totonoe_core.domain.records import ANY_TIME, Episode, Status, TimeRange, TypedKey
from totonoe_core.store.records import Touched
from totonoe_core.store.sqlite.reader import ReaderPool, Rows

UNKNOWN = "mem_0123456789abcdef"
KEY = TypedKey("server", "port")


def made(store: Store, *args: Any, **more: Any) -> Episode:
    return store.do(episode(*args, **more)).episode


def read(store: Store, episode_id: str, agent: str = "anna", memories: bool = False) -> EpisodeRead:
    return store.read(EpisodeQuery(agent, episode_id, memories))


def asked(
    agent: str = "anna",
    time: TimeRange = ANY_TIME,
    memory_id: str = "",
    size: int = 100,
    token: str = "",
) -> EpisodesQuery:
    return EpisodesQuery(agent, time, memory_id, size, token)


def page(store: Store, **more: Any) -> EpisodePage:
    return store.read(asked(**more))


def listed(store: Store, **more: Any) -> list[str]:
    """Summaries of all pages."""
    return [episode.summary for answer in store.pages(asked(**more)) for episode in answer.episodes]


def supersede(store: Store, *contents: str, **more: Any) -> list[str]:
    """Memories that each took the place of the one before."""
    return [store.save(content, key=KEY, **more) for content in contents]


@contextmanager
def rows_of(store: Store) -> Iterator[Rows]:
    """The collection's rows, as a reader has them."""
    pool = ReaderPool(store.file(), 1)
    with pool.rows() as rows:
        yield rows
    pool.close()


class TestCreate:
    def test_episode_holds_its_memories_in_their_order(self, store: Store) -> None:
        one, two, three = (store.save(text) for text in ("one", "two", "three"))
        store.clock.advance(HOUR_US)
        found = made(store, "what happened", three, one, two, one, importance=5)
        assert found == Episode(
            id=found.id,
            summary="what happened",
            memory_ids=(three, one, two),
            start_us=store.one(one).created_us,
            end_us=store.one(three).created_us,
            importance=5,
            agent_id="anna",
            private=False,
            created_us=NOON + HOUR_US,
            revision=4,
        )
        assert (found.id[:3], len(found.id)) == ("ep_", 19)
        assert read(store, found.id) == EpisodeRead(4, found)
        assert read(store, found.id, "ben").episode == found
        store.reopen()
        assert read(store, found.id).episode == found

    def test_external_ids_are_kept_as_the_memories_own(self, store: Store) -> None:
        one = store.save("one", external_id="1")
        found = made(store, "happened", "ext:1")
        assert found.memory_ids == (one,)
        store.do(update(one, external_id="2"))
        assert read(store, found.id).episode.memory_ids == (one,)
        assert made(store, "happened", one, "ext:2").memory_ids == (one,)

    def test_times_left_out_are_those_of_the_first_and_last_memory(self, store: Store) -> None:
        late = store.save("late")
        early = store.save("early", created_us=NOON - 5 * HOUR_US)
        middle = store.save("middle", created_us=NOON - HOUR_US)
        found = made(store, "happened", middle, late, early)
        assert (found.start_us, found.end_us) == (NOON - 5 * HOUR_US, NOON)
        found = made(store, "happened", middle, late, start_us=7)
        assert (found.start_us, found.end_us) == (7, NOON)
        found = made(store, "happened", middle, end_us=NOON + HOUR_US)
        assert (found.start_us, found.end_us) == (NOON - HOUR_US, NOON + HOUR_US)
        found = made(store, "happened", middle, start_us=7, end_us=7)
        assert (found.start_us, found.end_us) == (7, 7)

    @pytest.mark.parametrize(
        "times", [{"start_us": 8, "end_us": 7}, {"end_us": NOON - 1}, {"start_us": NOON + 1}]
    )
    def test_end_before_the_beginning_is_refused(self, store: Store, times: dict[str, int]) -> None:
        error = store.refused(episode("happened", store.save("one"), **times))
        assert (error.reason, error.details["field"]) == ("BAD_TIME", "episode.end_time")

    def test_memories_that_are_not_there_are_named(self, store: Store) -> None:
        one, gone = store.save("one"), store.save("gone", external_id="g")
        secret = store.save("secret", private=True, agent="ben")
        store.do(forget(gone))
        for wrong in (UNKNOWN, "ext:none", secret, gone, "ext:g"):
            error = store.refused(episode("happened", one, wrong))
            assert (error.reason, error.details["name"]) == ("MEMORY_NOT_FOUND", wrong)
        assert made(store, "happened", secret, agent="ben").memory_ids == (secret,)

    def test_superseded_memory_leads_to_its_head_at_once(self, store: Store) -> None:
        old, new = supersede(store, "The port is 8080", "Listening at 9090")
        assert made(store, "happened", old, new).memory_ids == (new,)

    @pytest.mark.parametrize(
        ("wrong", "reason"),
        [
            ({"summary": " "}, "EMPTY_TEXT"),
            ({"summary": "a" * (limits.CONTENT_BYTES_MAX + 1)}, "LIMIT_EXCEEDED"),
            ({"importance": 0}, "OUT_OF_RANGE"),
            ({"importance": 6}, "OUT_OF_RANGE"),
            ({"memory_ids": ()}, "MISSING_FIELD"),
            ({"memory_ids": ("one",)}, "MEMORY_NOT_FOUND"),
            ({"memory_ids": (UNKNOWN,) * 1001}, "LIMIT_EXCEEDED"),
        ],
    )
    def test_drafts_outside_the_limits_are_refused(
        self, store: Store, wrong: dict[str, Any], reason: str
    ) -> None:
        right: dict[str, Any] = {"summary": "happened", "memory_ids": (store.save("one"),)}
        draft = right | wrong
        command = episode(draft.pop("summary"), *draft.pop("memory_ids"), **draft)
        assert store.refused(command).reason == reason

    def test_operation_names_the_episode(self, store: Store) -> None:
        one = store.save("one")
        found = made(store, "happened", one)
        with rows_of(store) as rows:
            row = rows.history.operation(found.revision)
        assert (row.kind, Touched.loads(row.touched)) == (
            "CreateEpisode",
            Touched(episodes=[found.id]),
        )

    def test_operation_again_is_the_first_answer(self, store: Store) -> None:
        command = episode("happened", store.save("one"))
        first = store.apply(command, operation_id="op-1")
        again = store.apply(command, operation_id="op-1")
        assert again.replayed
        assert again.results == first.results
        assert listed(store) == ["happened"]


class TestDelete:
    def test_episode_goes_and_its_memories_stay(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        found = made(store, "happened", one, two)
        store.do(forget(two))
        answer = store.do(DeleteEpisode("ben", found.id))
        assert (answer.episode.memory_ids, answer.episode.gone_count) == ((one,), 1)
        with pytest.raises(errors.NotFound) as caught:
            read(store, found.id)
        assert (caught.value.reason, caught.value.details["name"]) == (
            "EPISODE_NOT_FOUND",
            found.id,
        )
        assert listed(store) == []
        assert store.one(one).status is Status.ACTIVE
        assert store.refused(DeleteEpisode("anna", found.id)).reason == "EPISODE_NOT_FOUND"

    def test_what_it_was_stays_in_the_history(self, store: Store) -> None:
        one, two = store.save("one"), store.save("two")
        found = made(store, "happened", one, two)
        store.do(forget(two))
        revision = store.apply(DeleteEpisode("anna", found.id, "wrong")).revision
        with rows_of(store) as rows:
            assert rows.history.episode_images(revision) == {found.id: found}
            row = rows.history.operation(revision)
        assert (row.kind, row.reason) == ("DeleteEpisode", "wrong")
        assert Touched.loads(row.touched) == Touched(episodes=[found.id])

    def test_one_operation_takes_one_away_and_makes_another(self, store: Store) -> None:
        one = store.save("one")
        first = made(store, "happened", one)
        applied = store.apply(DeleteEpisode("anna", first.id), episode("happened so", one))
        assert listed(store) == ["happened so"]
        with rows_of(store) as rows:
            assert list(rows.history.episode_images(applied.revision)) == [first.id]
            touched = Touched.loads(rows.history.operation(applied.revision).touched)
        assert touched.episodes == [first.id, applied.results[1].episode.id]


class TestRead:
    def test_forgotten_memories_are_left_out_and_counted(self, store: Store) -> None:
        ids = [store.save(text) for text in ("one", "two", "three")]
        found = made(store, "happened", *ids)
        store.do(forget(ids[1]))
        answer = read(store, found.id, memories=True)
        assert (answer.episode.memory_ids, answer.episode.gone_count) == ((ids[0], ids[2]), 1)
        assert answer.memories == tuple(store.one(memory_id) for memory_id in (ids[0], ids[2]))
        assert answer.revision == store.revision
        store.do(forget(ids[0], ids[2]))
        answer = read(store, found.id, memories=True)
        assert (answer.episode.memory_ids, answer.episode.gone_count) == ((), 3)
        assert answer.memories == ()
        assert answer.episode.summary == "happened"

    def test_superseded_memories_lead_to_those_in_their_place_once(self, store: Store) -> None:
        first, other = store.save("The port is 8080", key=KEY), store.save("other")
        found = made(store, "happened", first, other)
        second, third = supersede(store, "Listening at 9090", "Now it is 7070")
        joint = made(store, "joint", second, other, third)
        assert read(store, found.id).episode.memory_ids == (third, other)
        assert [episode.memory_ids for episode in (joint, read(store, joint.id).episode)] == [
            (third, other)
        ] * 2
        answer = read(store, joint.id, memories=True)
        assert [memory.content for memory in answer.memories] == ["Now it is 7070", "other"]
        store.do(forget(third))
        for expected in (found, joint):
            answer = read(store, expected.id)
            assert (answer.episode.memory_ids, answer.episode.gone_count) == ((other,), 1)

    def test_hidden_memories_are_left_out_uncounted(self, store: Store) -> None:
        secret, open_ = store.save("secret", private=True), store.save("open")
        lost = store.save("lost", private=True)
        found = made(store, "happened", secret, open_, lost)
        store.do(forget(lost))
        assert read(store, found.id).episode.gone_count == 1
        answer = read(store, found.id, "ben", memories=True)
        assert (answer.episode.memory_ids, answer.episode.gone_count) == ((open_,), 0)
        assert [memory.id for memory in answer.memories] == [open_]
        only = made(store, "told all the same", secret)
        assert read(store, only.id, "ben").episode.memory_ids == ()
        store.do(update(secret, private=False))
        assert read(store, only.id, "ben").episode.memory_ids == (secret,)

    def test_chain_that_ends_in_a_hidden_memory_ends_before_it(self, store: Store) -> None:
        first, second = supersede(store, "The port is 8080", "Listening at 9090")
        found = made(store, "happened", first)
        store.do(update(second, private=True))
        assert read(store, found.id).episode.memory_ids == (second,)
        assert read(store, found.id, "ben").episode.memory_ids == (first,)

    def test_private_episode_is_its_agents_alone(self, store: Store) -> None:
        found = made(store, "happened", store.save("one"), private=True)
        assert read(store, found.id).episode == found
        with pytest.raises(errors.NotFound) as caught:
            read(store, found.id, "ben")
        assert caught.value.reason == "EPISODE_NOT_FOUND"
        assert store.refused(DeleteEpisode("ben", found.id)).reason == "EPISODE_NOT_FOUND"
        assert (listed(store), listed(store, agent="ben")) == (["happened"], [])

    def test_reading_follows_every_chain_as_the_state_does(self, store: Store) -> None:
        """Against `CollectionState.find` and `head`, an id at a time, with random changes."""
        rng = random.Random(3)
        ids: list[str] = []
        for number in range(60):
            key = TypedKey("key", str(rng.randrange(12)))
            agent, private = rng.choice(("anna", "ben")), rng.random() < 0.2
            ids.append(store.save(f"text {number}", key=key, agent=agent, private=private))
            if rng.random() < 0.2:
                gone = rng.choice(ids)
                owner = "anna" if store_sees(store, gone, "anna") else "ben"
                if store.one(gone, owner).status is not Status.FORGOTTEN:
                    store.do(forget(gone, agent=owner))
        for agent in ("anna", "ben"):
            mine = [
                memory_id
                for memory_id in ids
                if store_sees(store, memory_id, agent)
                and store.one(memory_id, agent).status is not Status.FORGOTTEN
            ]
            chosen = rng.choices(mine, k=20)
            found = made(store, "happened", *chosen, agent=agent)
            for reader in ("anna", "ben"):
                heads = {}
                for memory_id in chosen:
                    if store_sees(store, memory_id, reader):
                        head = store.read(GetQuery(reader, (memory_id,), follow_superseded=True))
                        heads[head.memories[0].id] = head.memories[0]
                there = [item for item in heads if heads[item].status is not Status.FORGOTTEN]
                shown = read(store, found.id, reader).episode
                assert shown.memory_ids == tuple(there), "seed 3"
                assert shown.gone_count == len(heads) - len(there), "seed 3"


def store_sees(store: Store, memory_id: str, agent: str) -> bool:
    try:
        store.one(memory_id, agent)
    except errors.NotFound:
        return False
    return True


class TestPages:
    def test_pages_go_by_start_then_id_and_hold_each_once(self, store: Store) -> None:
        one, rng = store.save("one"), random.Random(1)
        starts = [rng.randrange(4) for _ in range(90)]
        all_made = [made(store, f"{start}", one, start_us=start) for start in starts]
        wanted = [
            episode.id for episode in sorted(all_made, key=lambda one: (one.start_us, one.id))
        ]
        for size in (1, 30, 44, 45, 90, 1000):
            found, token, pages = [], "", 0
            while True:
                answer = page(store, size=size, token=token)
                found += [episode.id for episode in answer.episodes]
                token, pages = answer.next_page_token, pages + 1
                if not token:
                    break
                assert len(answer.episodes) == size
            assert found == wanted
            assert pages == -(-90 // size), "no empty page at the end"

    def test_time_takes_what_overlaps_it(self, store: Store) -> None:
        one = store.save("one")
        for start, end in ((0, 10), (10, 10), (10, 20), (21, 30)):
            made(store, f"{start}-{end}", one, start_us=start, end_us=end)
        cases = {
            (10, 21): {"0-10", "10-10", "10-20"},
            (11, 21): {"10-20"},
            (0, 10): {"0-10"},
            (None, 10): {"0-10"},
            (20, None): {"10-20", "21-30"},
            (12, 13): {"10-20"},
            (31, None): set(),
            (None, 0): set(),
            (None, None): {"0-10", "10-10", "10-20", "21-30"},
        }
        for (begin, end), wanted in cases.items():
            assert set(listed(store, time=TimeRange(begin, end))) == wanted, (begin, end)

    def test_memory_finds_episodes_that_lead_to_the_same_head(self, store: Store) -> None:
        first = store.save("The port is 8080", key=KEY, external_id="port")
        other = store.save("other")
        made(store, "first", first, start_us=1)
        made(store, "other", other, start_us=2)
        second, third = supersede(store, "Listening at 9090", "Now it is 7070")
        made(store, "third", other, third, start_us=3)
        for named in (first, "ext:port", second, third):
            assert listed(store, memory_id=named) == ["first", "third"]
        assert listed(store, memory_id=other) == ["other", "third"]
        assert listed(store, memory_id=store.save("alone")) == []
        store.do(forget(other))
        assert listed(store, memory_id=other) == ["other", "third"], "it is its member still"
        store.do(update(third, private=True))
        assert listed(store, memory_id=first, agent="ben") == ["first"], "ben sees no third"

    def test_unknown_or_hidden_memory_is_not_found(self, store: Store) -> None:
        secret = store.save("secret", private=True)
        for wrong in (UNKNOWN, "ext:none", secret):
            with pytest.raises(errors.NotFound) as caught:
                page(store, memory_id=wrong, agent="ben")
            assert (caught.value.reason, caught.value.details["name"]) == (
                "MEMORY_NOT_FOUND",
                wrong,
            )

    def test_page_ends_after_so_many_ids_and_goes_on(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = [store.save(text) for text in ("one", "two", "three")]
        rare = store.save("rare")
        for start in range(6):
            made(store, f"{start}", *ids, *([rare] if start == 5 else []), start_us=start)
        monkeypatch.setattr(limits, "EPISODE_IDS_READ_MAX", 5)
        first = page(store)
        assert [episode.summary for episode in first.episodes] == ["0", "1"]
        assert first.next_page_token
        assert listed(store) == [str(start) for start in range(6)]
        first = page(store, memory_id=rare)
        assert first.episodes == ()
        assert first.next_page_token
        assert listed(store, memory_id=rare) == ["5"]

    def test_private_episodes_of_others_leave_no_trace_in_a_page(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = store.save("one")
        hidden = [
            made(store, f"secret {start}", one, start_us=start, private=True).id
            for start in range(5)
        ]
        made(store, "open", one, start_us=9)
        made(store, "open too", one, start_us=10)
        monkeypatch.setattr(limits, "EPISODE_IDS_READ_MAX", 1)
        answer = page(store, agent="ben", size=1)
        assert [episode.summary for episode in answer.episodes] == ["open"]
        token = base64.urlsafe_b64decode(answer.next_page_token).decode()
        assert not any(memory_id in token for memory_id in hidden)
        assert listed(store, agent="ben") == ["open", "open too"]

    def test_tokens_of_other_conditions_or_by_hand_are_refused(self, store: Store) -> None:
        one = store.save("one")
        for start in range(3):
            made(store, "happened", one, start_us=start)
        token = page(store, size=1).next_page_token
        start_us, episode_id, digest = json.loads(base64.urlsafe_b64decode(token))
        by_hand = [
            [start_us, episode_id],
            [start_us, 7, digest],
            [2**63, episode_id, digest],
            [True, episode_id, digest],
            ["0", episode_id, digest],
            [0.5, episode_id, digest],
            {},
        ]
        wrong = [base64.urlsafe_b64encode(json.dumps(item).encode()).decode() for item in by_hand]
        deep = base64.urlsafe_b64encode(b"[" * 100_000).decode()
        for bad in (*wrong, deep, "x", "é", "////"):
            with pytest.raises(errors.InvalidArgument) as caught:
                page(store, token=bad)
            assert caught.value.reason == "BAD_PAGE_TOKEN", bad
        for other in ({"memory_id": one}, {"time": TimeRange(0, 9)}):
            with pytest.raises(errors.InvalidArgument):
                page(store, token=token, **other)
        assert len(page(store, token=token, size=1000).episodes) == 2, "another size will do"

    def test_page_reads_its_episodes_as_they_are_read_alone(self, store: Store) -> None:
        first, other = store.save("The port is 8080", key=KEY), store.save("other")
        for start in range(3):
            made(store, f"{start}", first, other, start_us=start)
        supersede(store, "Listening at 9090")
        store.do(forget(other))
        answer = page(store)
        assert answer.revision == store.revision
        for listed in answer.episodes:
            assert listed == read(store, listed.id).episode
            assert listed.gone_count == 1


def test_failed_operation_leaves_no_episode(store: Store) -> None:
    one = store.save("one")
    with pytest.raises(errors.NotFound):
        store.apply(episode("happened", one), remember("two"), forget(UNKNOWN))
    assert listed(store) == []
