"""History of a memory and ListOperations, against what was told at the time."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.engines import (
    NOON,
    Store,
    forget,
    link,
    opened,
    remember,
    unlink,
    update,
)
from support.timelines import AGENTS, Timeline, bare
from totonoe_core.base import errors, limits
from totonoe_core.domain.graph import CreateEpisode, DeleteEpisode
from totonoe_core.domain.queries import (
    HistoryPage,
    HistoryQuery,
    OperationFilter,
    OperationPage,
    OperationsQuery,
    Version,
)
from totonoe_core.domain.records import LinkType, Memory, Status, TimeRange, TypedKey
from totonoe_core.domain.undo import OperationInfo
from totonoe_core.engine.state import sizes
from totonoe_core.engine.state.operations import _Reading, operation_info
from totonoe_core.store.records import OperationRow


@pytest.fixture(scope="module", params=[1, 2, 3])
def timeline(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(tmp_path_factory.mktemp("history")) as store:
        made = Timeline(store, np.random.default_rng(request.param))
        while len(made.moments) < 24:
            made.step()
        yield made


def page(
    store: Store, memory_id: str, agent: str = "anna", size: int = 1000, token: str = ""
) -> HistoryPage:
    return store.read(HistoryQuery(agent, memory_id, size, token))


def versions(store: Store, memory_id: str, agent: str = "anna", size: int = 1000) -> list[Version]:
    """All pages of a History."""
    found: list[Version] = []
    for page in store.pages(HistoryQuery(agent, memory_id, size)):
        assert len(page.versions) <= size
        found += page.versions
    return found


def operations(
    store: Store, agent: str = "anna", size: int = 1000, **conditions: Any
) -> list[OperationInfo]:
    """All pages of a ListOperations."""
    found: list[OperationInfo] = []
    for page in store.pages(OperationsQuery(agent, OperationFilter(**conditions), size)):
        assert len(page.operations) <= size
        found += page.operations
    return found


def kinds(found: list[OperationInfo]) -> list[str]:
    return [operation.kind for operation in found]


def forged(token: str, position: Any) -> str:
    """A token of the same question, with a position made by hand."""
    digest = json.loads(base64.urlsafe_b64decode(token))[-1]
    return base64.urlsafe_b64encode(json.dumps([position, digest]).encode()).decode()


@pytest.mark.parametrize("agent", AGENTS)
def test_versions_are_what_was_listed_after_each_revision(timeline: Timeline, agent: str) -> None:
    store, now = timeline.store, timeline.now(agent)
    for memory_id in sorted(now):
        expected: dict[int, tuple[Memory | None, set[Any], set[Any]]] = {}
        links: set[Any] = set()
        for revision, moment in enumerate(timeline.moments):
            then = {memory.id: memory for memory in moment.lists[agent]}
            memory = then.get(memory_id)
            if memory is None:
                links = set()
                continue
            before, links = links, {link for link in memory.links if link.target_id in now}
            shown = replace(bare(memory, now), links=(), vector=b"")
            made = shown if memory.revision == revision else None
            # A link that is hidden with its end was not taken away.
            gone = {item for item in before - links if item.target_id in then}
            gone = {x for x in gone if (x.target_id, x.type) not in
                    {(y.target_id, y.type) for y in links}}  # fmt: skip
            if made or links - before or gone:
                expected[revision] = made, links - before, gone
        found = versions(store, memory_id, agent)
        assert [version.operation.revision for version in found] == sorted(expected, reverse=True)
        for version in found:
            memory, linked, unlinked = expected[version.operation.revision]
            assert version.memory == memory
            assert set(version.linked) == linked
            assert set(version.unlinked) == unlinked
        for size in (1, 3):
            assert versions(store, memory_id, agent, size) == found


@pytest.mark.parametrize("agent", AGENTS)
def test_operations_are_those_on_what_is_seen(timeline: Timeline, agent: str) -> None:
    store, now = timeline.store, timeline.now(agent)
    found = operations(store, agent)
    revisions = [operation.revision for operation in found]
    assert revisions == sorted(set(revisions), reverse=True)
    by_revision = {operation.revision: operation for operation in found}
    told: dict[int, set[str]] = {}
    for memory_id in now:
        for version in versions(store, memory_id, agent):
            if version.memory is not None:
                told.setdefault(version.operation.revision, set()).add(memory_id)
    for revision, info in by_revision.items():
        assert set(info.memory_ids) <= now
        # What turned public is told by History alone: before, it was hidden.
        hidden_before = {
            memory_id
            for memory_id in told.get(revision, set())
            if memory_id
            not in {memory.id for memory in timeline.moments[revision - 1].lists[agent]}
        }
        assert set(info.memory_ids) >= told.get(revision, set()) - hidden_before
        assert info.memory_ids or info.link_count or info.settings
    for revision in set(range(1, len(timeline.moments))) - set(by_revision):
        owner = "ben" if agent == "anna" else "anna"
        assert revision in {operation.revision for operation in operations(store, owner)}
    for size in (1, 7):
        assert operations(store, agent, size) == found
    for memory_id in sorted(now)[:4]:
        expected = [operation for operation in found if memory_id in operation.memory_ids]
        of_memory = operations(store, agent, 3, memory_id=memory_id)
        assert [
            operation for operation in of_memory if memory_id in operation.memory_ids
        ] == expected


def test_version_tells_what_changed_by_whom_and_why(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump", tags=("a",))
        store.clock.advance(5)
        store.apply(
            update(one, agent="ben", content="valve", importance=5, reason="it is one"),
            operation_id="op",
        )
        store.do(forget(one, reason="gone"))
        found = versions(store, one)
        assert [version.changed for version in found] == [
            ("status",), ("content", "importance"), (),
        ]  # fmt: skip
        info = found[1].operation
        assert (info.revision, info.operation_id, info.agent_id) == (2, "op", "ben")
        assert (info.kind, info.reason, info.time_us) == ("Update", "it is one", NOON + 5)
        assert info.memory_ids == (one,)
        texts = [(v.memory.content, v.memory.status, v.memory.vector) for v in found if v.memory]
        assert texts == [
            ("valve", Status.FORGOTTEN, b""),
            ("valve", Status.ACTIVE, b""),
            ("pump", Status.ACTIVE, b""),
        ]
        assert page(store, one).revision == 3


def test_superseded_version_names_its_successor(tmp_path: Path) -> None:
    key = TypedKey("pump", "state")
    with opened(tmp_path) as store:
        one, other = store.save("is on", key=key), store.save("is off", key=key)
        newest = versions(store, one)[0]
        assert newest.changed == ("status", "superseded_by")
        assert newest.memory is not None
        assert newest.memory.superseded_by == other
        assert [x.target_id for x in newest.linked] == [other], "and the link that came with it"


def test_links_are_told_on_both_sides_where_only_they_changed(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one, other = store.save("red pump"), store.save("blue valve")
        store.do(link(one, other, LinkType.CAUSES, confidence=0.4))
        store.do(link(one, other, LinkType.CAUSES, confidence=0.6))
        store.do(unlink(one, other))
        for memory_id, end, type_ in (
            (one, other, LinkType.CAUSES),
            (other, one, LinkType.CAUSED_BY),
        ):
            gone, changed, made = versions(store, memory_id)[:3]
            assert {version.memory for version in (gone, changed, made)} == {None}
            assert [(x.target_id, x.type, x.confidence) for x in made.linked] == [(end, type_, 0.4)]
            assert [x.confidence for x in changed.linked] == [0.6]
            assert (changed.unlinked, gone.linked) == ((), ())
            assert [(x.target_id, x.confidence) for x in gone.unlinked] == [(end, 0.6)]
        info = operations(store)[0]
        assert (info.kind, info.memory_ids, info.link_count) == ("Unlink", (), 1)


def test_hidden_memory_has_no_history(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        mine, shared = store.save("pump", private=True), store.save("valve")
        store.do(link(shared, mine))
        with pytest.raises(errors.NotFound) as unknown:
            page(store, mine, "ben")
        assert unknown.value.reason == "MEMORY_NOT_FOUND"
        with pytest.raises(errors.NotFound):
            page(store, "mem_0123456789abcdef")
        with pytest.raises(errors.NotFound):
            operations(store, "ben", memory_id=mine)
        assert len(versions(store, shared)) == 2
        assert [v.operation.revision for v in versions(store, shared, "ben")] == [2]
        assert kinds(operations(store)) == ["Link", "Remember", "Remember"]
        assert [operation.revision for operation in operations(store, "ben")] == [2]
        assert [operation.revision for operation in operations(store, "ben", memory_id=shared)] == [
            2
        ]


def test_versions_that_were_private_then_are_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one, other = store.save("pump"), store.save("valve")
        store.do(update(one, private=True))
        store.do(update(one, content="secret"))
        store.do(link(one, other))
        store.do(update(one, private=False))
        store.do(update(one, content="open"))
        assert [v.operation.revision for v in versions(store, one)] == [7, 6, 5, 4, 3, 1]
        seen = versions(store, one, "ben")
        assert [v.operation.revision for v in seen] == [7, 6, 1]
        assert [v.changed for v in seen] == [("content",), (), ()], "not what it was in private"
        assert versions(store, one, "ben", 1) == seen
        assert [v.operation.revision for v in versions(store, other, "ben")] == [2]
        # What it was before it turned public was hidden; what turned it private was seen.
        assert [x.revision for x in operations(store, "ben")] == [7, 3, 2, 1]
        turned = seen[1].operation
        assert (turned.kind, turned.operation_id, turned.memory_ids) == ("Update", "", ())


def test_operation_that_made_a_private_memory_stays_hidden(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump", private=True)
        store.do(update(one, private=False))
        assert operations(store, "ben") == []
        assert [v.operation.revision for v in versions(store, one, "ben")] == [2]


def test_operations_are_found_by_who_what_when_and_why(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        store.clock.advance(10)
        other = store.save("valve", agent="ben")
        store.clock.advance(10)
        store.do(update(one, agent="ben", importance=4, reason="Too LOW, straße"))
        store.clock.advance(10)
        store.set(("description", "tools"))
        store.do(forget(other, agent="carl", reason="old"))

        def revisions(agent: str = "anna", size: int = 1000, **conditions: Any) -> list[int]:
            return [x.revision for x in operations(store, agent, size, **conditions)]

        assert revisions() == revisions(size=1) == [5, 4, 3, 2, 1]
        assert revisions(agent_ids=("ben",)) == [3, 2]
        assert revisions(agent_ids=("ben", "carl"), size=2) == [5, 3, 2]
        assert revisions(kinds=("Update", "UpdateCollection")) == [4, 3]
        assert revisions(reason_contains="low, STRASSE") == [3]
        assert revisions(reason_contains="young") == []
        assert revisions(time=TimeRange(NOON + 10, NOON + 30)) == [3, 2]
        assert revisions(time=TimeRange(NOON + 11, None), size=1) == [5, 4, 3]
        assert revisions(time=TimeRange(None, NOON + 20)) == [2, 1]
        assert revisions(time=TimeRange(NOON + 10**9, None)) == []
        assert revisions(memory_id=one) == [3, 1]
        assert revisions(memory_id=other, agent_ids=("carl",)) == [5]
        assert revisions(memory_id=other, time=TimeRange(None, NOON + 20)) == [2]
        settings = operations(store, "stranger", kinds=("UpdateCollection",))
        assert [(x.settings, x.memory_ids) for x in settings] == [(True, ())]


def test_operations_go_on_where_enough_was_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OPERATIONS_SCANNED_MAX", 4)
    monkeypatch.setattr("totonoe_core.engine.queries.history._READ_AT_ONCE", 2)
    with opened(tmp_path) as store:
        store.save("valve", agent="ben")
        for number in range(9):
            store.save(f"pump {number}")
        where = OperationFilter(agent_ids=("ben",))
        pages = store.pages(OperationsQuery("anna", where, 10))
        assert [[x.revision for x in page.operations] for page in pages] == [[], [], [1]]


def test_page_reads_no_more_operations_than_it_shows_and_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    info = _Reading.info

    def counted(self: _Reading, operation: OperationRow, undone_by: int) -> OperationInfo | None:
        read.append(operation.revision)
        return info(self, operation, undone_by)

    with opened(tmp_path) as store:
        for number in range(9):
            store.save(f"pump {number}")
        monkeypatch.setattr(_Reading, "info", counted)
        query = OperationsQuery("anna", OperationFilter(), 2, "")
        found = store.read(query)
        assert [written.revision for written in found.operations] == [9, 8]
        assert read == [9, 8, 7]


def test_tokens_stay_good_while_others_write_and_only_for_their_question(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        for number in range(4):
            store.do(update(one, importance=1 + number))
        other = store.save("valve")
        where = OperationFilter()

        def listed(token: str, where: OperationFilter = where) -> OperationPage:
            return store.read(OperationsQuery("anna", where, 4, token))

        first, operations_first = page(store, one, size=2), listed("")
        store.do(update(one, content="later"))
        second = page(store, one, size=2, token=first.next_page_token)
        assert [v.operation.revision for v in second.versions] == [3, 2]
        assert second.revision == 7
        rest = listed(operations_first.next_page_token)
        assert ([x.revision for x in rest.operations], rest.next_page_token) == ([2, 1], "")
        for call in (
            lambda: page(store, other, token=first.next_page_token),
            lambda: page(store, one, token=operations_first.next_page_token),
            lambda: page(store, one, token="W10="),
            lambda: page(store, one, token=forged(first.next_page_token, "\ud800")),
            lambda: page(store, one, token=forged(first.next_page_token, 2**63)),
            lambda: page(store, one, token=forged(first.next_page_token, True)),
            lambda: listed(first.next_page_token),
            lambda: listed(operations_first.next_page_token, OperationFilter(kinds=("Update",))),
        ):
            with pytest.raises(errors.InvalidArgument) as bad:
                call()
            assert bad.value.reason == "BAD_PAGE_TOKEN"


def test_one_operation_of_many_commands_tells_what_it_touched(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one, other = store.save("pump"), store.save("valve")
        hidden = store.save("rope", agent="ben", private=True)
        store.apply(link(one, other), link(one, other, LinkType.CAUSES), update(one, importance=5))
        store.apply(*(remember(f"text {number}", force=True) for number in range(3)))
        many, three = operations(store)[:2]
        assert len(many.memory_ids) == 3
        assert (three.memory_ids, three.link_count) == ((one,), 2)
        store.apply(forget(one), forget(hidden, agent="ben"))
        assert operations(store)[0].memory_ids == (one,)
        assert operations(store, "ben")[0].memory_ids == (one, hidden)
        assert operations(store)[0].link_count == 2


def test_ids_of_an_operation_are_cut_at_their_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDS_PER_REQUEST_MAX", 2)
    monkeypatch.setattr(limits, "PAGE_BYTES_GOAL", 2 * (sizes.ROW_BYTES + 2 * 24))
    with opened(tmp_path) as store:
        for _ in range(3):
            store.apply(*(remember(f"text {number}", force=True) for number in range(3)))
        one = store.read(OperationsQuery("anna", OperationFilter(), 9, ""))
        assert [len(x.memory_ids) for x in one.operations] == [2, 2]
        assert one.next_page_token
        assert len(operations(store)) == 3


def test_private_episode_hides_its_operation(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        one = store.save("pump")
        made = store.do(CreateEpisode("anna", "what it was", (one,), private=True)).episode
        store.do(CreateEpisode("anna", "for all", (one,)))
        for count in (3, 4):
            assert kinds(operations(store, "ben")) == ["CreateEpisode", "Remember"]
            of_it = [x for x in operations(store) if x.episode_ids == (made.id,)]
            assert len(of_it) == count - 2
            if count == 3:
                store.do(DeleteEpisode("anna", made.id))


def test_operation_info_of_one_row_is_that_of_the_page(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.save("pump")
        store.save("secret", private=True)
        state = store.engine._collections.opened("default").result()._state
        rows = state.file.rows
        found = [rows.history.operation(revision) for revision in (2, 1)]
        for agent in AGENTS:
            infos = [operation_info(rows, row, agent) for row in found if row]
            assert [operation for operation in infos if operation] == operations(store, agent)
