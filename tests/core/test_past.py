"""Get, List and Recall of the past tell what was told then."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import EVERY_STATUS, NOON, Store, forget, link, opened, unlink, update
from support.timelines import AGENTS, CONFIDENT, QUERIES, Timeline, bare
from support.waits import wait_s
from totonoe_core.base import errors, limits
from totonoe_core.domain.filter import Filter
from totonoe_core.domain.memories import Merge, Purge
from totonoe_core.domain.queries import AsOf, GetQuery, ListQuery, RecallMode, RecallQuery
from totonoe_core.domain.records import Memory, Status, TypedKey
from totonoe_core.engine.commands.merge import Merging
from totonoe_core.engine.commands.purge import Purging
from totonoe_core.engine.state.past_index import PastIndex, PastIndexes


@pytest.fixture(scope="module", params=[1, 2, 3])
def timeline(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(tmp_path_factory.mktemp("past")) as store:
        made = Timeline(store, np.random.default_rng(request.param))
        while len(made.moments) < 24:
            made.step()
        yield made


def get(store: Store, *ids: str, as_of: AsOf, agent: str = "anna", follow: bool = False) -> Any:
    found = store.engine.read(
        store.collection, GetQuery(agent, tuple(ids), as_of=as_of, follow_superseded=follow)
    )
    return found.result(wait_s())


def same(found: Any, told: Any, now: set[str]) -> None:
    """Two answers of Recall are one, but for access and for the revision they name."""
    strip = [
        [
            replace(
                hit,
                memory=bare(hit.memory, now),
                updated_by=[memory for memory in hit.updated_by if memory.memory_id in now],
                contradicted_by=[
                    memory for memory in hit.contradicted_by if memory.memory_id in now
                ],
                outdated=(),  # the copy between them may be hidden now
            )
            for hit in answer.hits
        ]
        for answer in (found, told)
    ]
    assert strip[0] == strip[1]
    assert found.arms == told.arms
    assert found.filtered_count == told.filtered_count
    assert found.degraded_because == told.degraded_because


@pytest.mark.parametrize("agent", AGENTS)
def test_list_as_of_revision_or_time_is_what_was_listed_then(
    timeline: Timeline, agent: str
) -> None:
    for revision in (*range(0, len(timeline.moments), 3), len(timeline.moments) - 1):
        moment = timeline.moments[revision]
        expected = timeline.expected(moment.lists[agent], agent)
        confident = timeline.expected(moment.confident[agent], agent)
        size = 1 + revision % 4
        assert timeline.listed(agent, EVERY_STATUS, AsOf(revision), 1000) == expected
        assert timeline.listed(agent, EVERY_STATUS, AsOf(revision), size) == expected
        at = AsOf(time_us=moment.time_us)
        assert timeline.listed(agent, EVERY_STATUS, at, 1000) == expected
        assert timeline.listed(agent, CONFIDENT, AsOf(revision), size) == confident


def test_timeline_of_the_tests_holds_what_they_are_about(timeline: Timeline) -> None:
    seen = timeline.store.list("anna") + timeline.store.list("ben")
    assert {Status.ACTIVE, Status.FORGOTTEN} <= {memory.status for memory in seen}
    assert any(memory.links for memory in seen)
    now = {agent: timeline.now(agent) for agent in AGENTS}
    assert now["anna"] & now["ben"]
    assert now["anna"] != now["ben"]


@pytest.mark.parametrize("agent", AGENTS)
def test_get_as_of_is_what_was_there_then(timeline: Timeline, agent: str) -> None:
    store = timeline.store
    every = sorted({m.id for moment in timeline.moments for m in moment.lists[agent]})
    for revision in range(0, len(timeline.moments), 3):
        moment = timeline.moments[revision]
        then = {m.id: m for m in timeline.expected(moment.lists[agent], agent)}
        found = get(store, *every, as_of=AsOf(revision), agent=agent)
        assert [m.id for m in found.memories] == [
            memory_id for memory_id in every if memory_id in then
        ]
        assert {m.id: m for m in found.memories} == then
        assert set(found.missing_ids) == set(every) - set(then)
        assert found.as_of_revision == revision
        assert found.revision == len(timeline.moments) - 1
        named = {m.fields.external_id: m for m in then.values() if m.fields.external_id}
        for external_id in named:
            held = [m for m in then.values() if m.fields.external_id == external_id]
            live = [m for m in held if m.status is not Status.FORGOTTEN] or held
            one = get(store, f"ext:{external_id}", as_of=AsOf(revision), agent=agent).memories[0]
            assert one == max(live, key=lambda m: (m.fields.private, m.row))
            asked = ("ext:none", *(f"ext:{name}" for name in named), one.id)
            several = get(store, *asked, as_of=AsOf(revision), agent=agent)
            assert several.missing_ids == ("ext:none",)
            assert [m.fields.external_id for m in several.memories[:-1]] == list(named)
            assert one in several.memories[:-1]


def check_recalls(timeline: Timeline, revisions: range) -> int:
    checked = 0
    for revision in revisions:
        moment = timeline.moments[revision]
        for agent in AGENTS:
            now = timeline.now(agent)
            if any(memory.id not in now for memory in moment.lists[agent]):
                continue  # what is hidden now has no rank
            for query, told in zip(QUERIES, moment.recalls[agent], strict=True):
                asked = replace(query, agent_id=agent, as_of=AsOf(revision))
                found = timeline.store.recall(asked)
                same(found, told, now)
                assert found.as_of_revision == revision
                checked += bool(told.hits)
    return checked


def test_recall_as_of_is_what_was_recalled_then(timeline: Timeline) -> None:
    assert check_recalls(timeline, range(0, len(timeline.moments), 2)) > 10


def test_recall_as_of_leaves_out_what_is_hidden_now(timeline: Timeline) -> None:
    for revision in range(5, len(timeline.moments), 4):
        for agent in AGENTS:
            then = {m.id for m in timeline.moments[revision].lists[agent]}
            query = replace(QUERIES[2], agent_id=agent, as_of=AsOf(revision), k=1000)
            found = timeline.store.recall(query)
            assert {hit.memory.id for hit in found.hits} == then & timeline.now(agent)
            assert found.filtered_count == len(found.hits)


def test_past_is_the_same_after_reopening_and_further_changes(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        timeline = Timeline(store, np.random.default_rng(7))
        for _ in range(2):
            while len(timeline.moments) % 10:
                timeline.step()
            check_recalls(timeline, range(len(timeline.moments) - 2, len(timeline.moments)))
            timeline.step()
            store.reopen()
        assert check_recalls(timeline, range(4, len(timeline.moments), 5)) > 3
        for agent in AGENTS:
            expected = timeline.expected(timeline.moments[9].lists[agent], agent)
            assert timeline.listed(agent, EVERY_STATUS, AsOf(9), 2) == expected


def test_access_is_no_part_of_the_past(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump", confidence=0.9)
        store.clock.advance(90 * 24 * 3600 * 1_000_000)
        store.recall(RecallQuery("anna", "pump"))
        assert store.one(one).access_count == 1
        past = get(store, one, as_of=AsOf(1)).memories[0]
        assert (past.access_count, past.last_access_us) == (0, None)
        hit = store.recall(RecallQuery("anna", "pump", as_of=AsOf(1))).hits[0]
        assert (hit.memory.access_count, hit.effective_confidence) == (0, 0.9)
        assert store.one(one).access_count == 1, "and a Recall of the past is none"


def test_moment_is_a_revision_or_a_time(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        store.clock.advance(10)
        store.do(update(one, content="valve"))

        def text(as_of: AsOf) -> str:
            return get(store, one, as_of=as_of).memories[0].content

        for time_us, wanted in ((NOON, "pump"), (NOON + 9, "pump"), (NOON + 10, "valve")):
            assert text(AsOf(time_us=time_us)) == wanted
        # Another machine's clock may lead ours a little.
        lead_us = limits.CLOCK_SKEW_ALLOWED_S * 1_000_000
        ahead = AsOf(time_us=store.clock() + lead_us)
        assert get(store, one, as_of=ahead).as_of_revision == 2
        store.clock.now_us -= 60_000_000
        assert text(AsOf(time_us=NOON + 10)) == "valve", "its own newest time is never to come"
        for late in (NOON + 11, 2**62):
            with pytest.raises(errors.OutOfRange) as caught:
                text(AsOf(time_us=late))
            assert caught.value.reason == "REVISION_OUT_OF_RANGE"
            assert caught.value.details["field"] == "as_of.time"
        store.clock.now_us += 60_000_000
        for early in (AsOf(time_us=NOON - 1), AsOf(time_us=-(2**62)), AsOf(0)):
            with pytest.raises(errors.NotFound):
                text(early)
            listed = store.read(ListQuery("anna", Filter(), 10, "", as_of=early))
            assert (listed.memories, listed.as_of_revision, listed.revision) == ((), 0, 2)
            assert store.recall(RecallQuery("anna", "pump", as_of=early)).hits == ()
        with pytest.raises(errors.OutOfRange) as later:
            text(AsOf(3))
        assert (later.value.details["got"], later.value.details["newest"]) == ("3", "2")
        with pytest.raises(errors.OutOfRange):
            store.recall(RecallQuery("anna", "pump", as_of=AsOf(3)))
        with pytest.raises(errors.InvalidArgument):
            text(AsOf(-1))


def test_redirects_follow_the_chain_as_it_was(tmp_path: Path) -> None:
    key = TypedKey("pump", "state")
    with opened(tmp_path) as store:
        a, b, c = (store.save(text, key=key) for text in ("is on", "is off", "is gone"))

        def led(as_of: AsOf) -> tuple[str, tuple[Any, ...]]:
            found = get(store, a, as_of=as_of, follow=True)
            return found.memories[0].id, found.redirects

        assert led(AsOf(1)) == (a, ())
        assert led(AsOf(2)) == (b, ((a, b),))
        assert led(AsOf(3)) == (c, ((a, c),))
        assert get(store, a, as_of=AsOf(3)).memories[0].status is Status.SUPERSEDED
        store.do(update(c, private=True))
        found = get(store, a, as_of=AsOf(3), agent="ben", follow=True)
        assert found.redirects == ((a, b),), "a hidden end leaves the last that is there"


def moved(self: Merging, operation: Any, command: Merge, *_: Any) -> None:
    """A Merge of which only the created time matters: that of the removed one."""
    ledger = self._ledger
    keep = ledger.by_row(int(command.reason))
    ledger.replace(
        operation, keep, replace(keep, created_us=keep.created_us - 10), ledger.features_of(keep)
    )


def test_list_as_of_has_the_order_of_created_times_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Merging, "merge", moved)
    with opened(tmp_path) as store:
        timeline = Timeline(store, np.random.default_rng(0))
        for number in range(5):
            store.clock.advance(4)
            store.save(f"text {number}")
            timeline.note()
        for row in (3, 5, 3, 4):
            store.clock.advance(4)
            store.apply(Merge("anna", "ext:a", ("ext:b",), reason=str(row)))
            timeline.note()
            # Between the moves too: what is kept of them is brought up to date.
            listed = timeline.listed("anna", EVERY_STATUS, AsOf(4), 2)
            assert listed == timeline.moments[4].lists["anna"]
        orders = {tuple(m.row for m in moment.lists["anna"]) for moment in timeline.moments}
        assert len(orders) > 7
        for revision, moment in enumerate(timeline.moments):
            for size in (1, 2, 1000):
                listed = timeline.listed("anna", EVERY_STATUS, AsOf(revision), size)
                assert listed == moment.lists["anna"]


def test_list_as_of_goes_on_where_it_read_enough(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AS_OF_ROWS_SCANNED_MAX", 1)
    monkeypatch.setattr("totonoe_core.engine.queries.past._STEP_MIN", 1)
    monkeypatch.setattr("totonoe_core.engine.queries.past._STEP_MAX", 2)
    for revision in (3, 13, 23):
        where = Filter(tags=("pump",), statuses=tuple(Status))
        expected = [
            memory
            for memory in timeline.expected(timeline.moments[revision].lists["anna"], "anna")
            if "pump" in memory.fields.tags
        ]
        assert timeline.listed("anna", where, AsOf(revision), 2) == expected


def test_a_time_to_come_is_refused_by_every_read(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        late = AsOf(time_us=store.clock() + 3_600_000_000)
        query = RecallQuery("anna", "pump", mode=RecallMode.LEXICAL, as_of=late)
        for call in (
            lambda: get(store, one, as_of=late),
            lambda: store.engine.read(
                "default", ListQuery("anna", Filter(), 10, "", as_of=late)
            ).result(),
            lambda: store.recall(query),
        ):
            with pytest.raises(errors.OutOfRange, match=r"as_of\.time: got .*, allowed: a time"):
                call()


def test_get_of_what_came_later_says_so_to_those_who_see_it(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.save("first")
        later = store.save("pump", external_id="pump")
        hidden = store.save("valve", agent="ben", private=True)
        gone = store.save("motor")
        store.apply(Purge("anna", (gone,)))

        def reason(memory_id: str, agent: str = "anna", revision: int = 1) -> str:
            with pytest.raises(errors.NotFound) as caught:
                get(store, memory_id, agent=agent, as_of=AsOf(revision))
            return caught.value.reason

        for name in (later, "ext:pump"):
            assert reason(name) == "MEMORY_NOT_YET"
        assert reason(hidden, "ben") == "MEMORY_NOT_YET"
        for name in (hidden, gone, "mem_00000000ffff", "ext:other"):
            assert reason(name) == "MEMORY_NOT_FOUND"
        assert get(store, later, as_of=AsOf(2)).memories[0].id == later
        # It was there, and private: nothing is told of it.
        store.do(update(hidden, agent="ben", private=False))
        assert reason(hidden, revision=3) == "MEMORY_NOT_FOUND"
        # An external id that it got later is a name that nothing had.
        store.do(update(later, external_id="other"))
        assert reason("ext:other", revision=2) == "MEMORY_NOT_FOUND"
        several = get(store, later, hidden, as_of=AsOf(1))
        assert several.missing_ids == (later, hidden)


def test_page_token_of_the_past_holds_the_moment_of_its_first_page(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        future = AsOf(time_us=store.clock() + 1_000_000)
        ids = [store.save(f"text {number}") for number in range(4)]

        def page(token: str, where: Filter = EVERY_STATUS, as_of: AsOf = future) -> Any:
            return store.read(ListQuery("anna", where, 2, token, as_of=as_of))

        first = page("")
        store.do(forget(ids[3]))
        store.save("later")
        second = page(first.next_page_token)
        assert [m.id for m in (*first.memories, *second.memories)] == ids
        assert second.memories[1].status is Status.ACTIVE
        assert (second.as_of_revision, second.revision, second.next_page_token) == (4, 6, "")
        live = store.read(ListQuery("anna", EVERY_STATUS, 2, ""))
        for token, where, as_of in (
            (first.next_page_token, Filter(), future),
            (first.next_page_token, EVERY_STATUS, AsOf(4)),
            (live.next_page_token, EVERY_STATUS, future),
            ("nonsense", EVERY_STATUS, future),
            (forged(first.next_page_token, 99, 0, "x"), EVERY_STATUS, future),
            (forged(first.next_page_token, -1, 0, "x"), EVERY_STATUS, future),
            (forged(first.next_page_token, 4, 0, "\ud800"), EVERY_STATUS, future),
        ):
            with pytest.raises(errors.InvalidArgument) as bad:
                page(token, where, as_of)
            assert bad.value.reason == "BAD_PAGE_TOKEN"


def forged(token: str, *position: Any) -> str:
    """A token of the same question, with a position made by hand."""
    digest = json.loads(base64.urlsafe_b64decode(token))[-1]
    return base64.urlsafe_b64encode(json.dumps([*position, digest]).encode()).decode()


def purged(self: Purging, operation: Any, command: Purge) -> None:
    """A Purge that only sets the status."""
    before = self._ledger.visible(command.ids[0], command.agent_id)
    self._ledger.replace(operation, before, replace(before, status=Status.PURGED))


def test_purged_memory_never_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Purging, "purge", purged)
    with opened(tmp_path) as store:
        one, other = store.save("red pump"), store.save("blue pump")
        store.do(link(one, other))
        query = RecallQuery("anna", "pump", as_of=AsOf(3))
        assert {hit.memory.id for hit in store.recall(query).hits} == {one, other}
        store.do(Purge("anna", (one,)))
        found = store.recall(query)
        assert [hit.memory.id for hit in found.hits] == [other]
        assert found.hits[0].memory.links == ()
        with pytest.raises(errors.NotFound):
            get(store, one, as_of=AsOf(3))
        listed = store.engine.read(
            "default", ListQuery("anna", EVERY_STATUS, 9, "", as_of=AsOf(3))
        ).result()
        assert [memory.id for memory in listed.memories] == [other]


def test_index_of_the_past_is_made_once_and_learns_who_may_see_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Counted(PastIndex):
        def __init__(self, rows: Any, revision: int, *more: Any) -> None:
            made.append(revision)
            super().__init__(rows, revision, *more)

    monkeypatch.setattr("totonoe_core.engine.state.past_index.PastIndex", Counted)
    with opened(tmp_path) as store:
        one, other = store.save("red pump"), store.save("blue pump")

        def seen(agent: str, revision: int = 2) -> set[str]:
            found = store.recall(RecallQuery(agent, "pump", as_of=AsOf(revision)))
            assert found.filtered_count == len(found.hits)
            return {hit.memory.id for hit in found.hits}

        assert seen("ben") == {one, other}
        store.do(update(one, private=True))
        assert seen("ben") == {other}
        assert seen("anna") == {one, other}
        assert seen("ben", 3) == {other}
        store.do(update(one, private=False))
        assert seen("ben", 3) == {other}, "it was private then"
        assert made == [2, 3]
        assert seen("ben") == {one, other}
        assert made == [2, 3, 2]
        state = store.engine._collections.opened("default").result()._state
        state.forget_past()
        assert seen("ben") == {one, other}
        assert made == [2, 3, 2, 2]


def test_index_of_the_past_is_not_kept_if_it_was_cleared_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    class Slow(PastIndex):
        def __init__(self, rows: Any, revision: int, *more: Any) -> None:
            made.append(revision)
            super().__init__(rows, revision, *more)
            begun.set()
            assert go_on.wait(wait_s())

    monkeypatch.setattr("totonoe_core.engine.state.past_index.PastIndex", Slow)
    with opened(tmp_path) as store:
        store.save("red pump")
        rows = store.engine._collections.opened("default").result()._state.file.rows
        past = PastIndexes()
        thread = threading.Thread(target=lambda: past.at(rows, 1, 0, 8))
        thread.start()
        assert begun.wait(wait_s())
        past.clear()
        go_on.set()
        thread.join(wait_s())
        past.at(rows, 1, 0, 8)
        past.at(rows, 1, 0, 8)
        assert made == [1, 1]


def test_indexes_of_the_past_send_a_second_caller_away_and_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(PastIndex):
        def __init__(self, rows: Any, revision: int, *more: Any) -> None:
            begun.set()
            assert go_on.wait(wait_s())
            super().__init__(rows, revision, *more)

    with opened(tmp_path) as store:
        store.save("red pump")
        store.save("blue pump")
        queries = [RecallQuery("anna", "pump", as_of=AsOf(revision)) for revision in (1, 2)]
        kept = store.recall(queries[0])
        monkeypatch.setattr("totonoe_core.engine.state.past_index.PastIndex", Slow)
        making = store.engine.read("default", queries[1])
        assert begun.wait(wait_s())
        with pytest.raises(errors.Unavailable) as busy:
            store.recall(queries[1])
        assert busy.value.reason == "OVERLOADED"
        assert store.recall(queries[0]) == kept, "what is there is answered meanwhile"
        assert store.recall(RecallQuery("anna", "pump")).hits
        store.engine._collections.opened("default").result().stop()
        go_on.set()
        error = making.exception(wait_s())
        assert isinstance(error, errors.Unavailable)
        assert error.reason == "SHUTTING_DOWN"


def test_past_stays_the_same_while_others_write(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        ids = [store.save(f"pump {number}", force=True) for number in range(6)]
        for memory_id, other in pairwise(ids):
            store.do(link(memory_id, other))
        told = store.list()
        at = AsOf(store.revision)
        writes = []
        for number in range(60):
            one, other = ids[number % 6], ids[(number + 1) % 6]
            commands = (
                update(one, content=f"valve {number}", force=True),
                unlink(one, other),
                link(one, other, confidence=number / 100),
            )
            writes += [store.engine.apply("default", "", [command]) for command in commands]
        reads = 0
        while reads < 3 or not writes[-1].done():
            page = store.engine.read("default", ListQuery("anna", EVERY_STATUS, 10, "", as_of=at))
            assert page.result(wait_s()).memories == tuple(told)
            hits = store.recall(RecallQuery("anna", "pump", as_of=at)).hits
            assert sorted((hit.memory for hit in hits), key=lambda m: m.row) == told
            reads += 1
        for write in writes:
            write.exception(wait_s())


def test_memory_of_the_past_holds_its_vector(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        before: Memory = store.one(one)
        store.do(update(one, content="valve"))
        assert get(store, one, as_of=AsOf(1)).memories[0] == before


def test_stats_count_the_bytes_of_the_index_of_the_past(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        before = store.stats().array_bytes
        store.recall(RecallQuery("anna", "pump", as_of=AsOf(1)))
        assert store.stats().array_bytes > before + 1_000_000
        store.do(Purge("anna", (one,)))
        assert store.stats().array_bytes < before + 1_000_000
