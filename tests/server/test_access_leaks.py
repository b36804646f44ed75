"""What a caller has no grant for it does not learn: page tokens, counts, texts in answers."""

from __future__ import annotations

import base64
import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import totonoe
from support.access import add_identity
from support.waits import wait_until
from totonoe.errors import InvalidArgument, PermissionDenied
from totonoe_core.base.errors import InvalidArgument as CoreInvalidArgument
from totonoe_server.access.seal import KEY_FILE, Seal
from totonoe_server.access.table import RULES
from totonoe_server.tools.testing import RunningServer, running_server

SECRET = "The vault opens at 4711."


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


GRANTS = {
    "hers": ("team-*:read,admin", "default:read"),
    "writer": ("default:remember,forget",),
    "reader": ("default:read,remember,forget",),
}


class Served:
    """A daemon with identities; the owner calls by the Unix socket."""

    def __init__(self, server: RunningServer, tokens: dict[str, str]) -> None:
        self._server, self._tokens = server, tokens

    def owner(self, **options: Any) -> totonoe.Client:
        address = self._server.address.split(",")[1]
        return totonoe.Client(address, token="", agent_id="olga", **options)

    def as_(self, name: str, **options: Any) -> totonoe.Client:
        address = self._server.address.split(",")[0]
        return totonoe.Client(address, token=self._tokens[name], **options)


@contextlib.contextmanager
def serving(data_dir: Path) -> Iterator[Served]:
    data_dir.mkdir(mode=0o700, exist_ok=True)
    tokens = {name: add_identity(data_dir, name, *grants) for name, grants in GRANTS.items()}
    with running_server(data_dir, address=f"127.0.0.1:0,unix:{data_dir}/s.sock") as server:
        yield Served(server, tokens)


@pytest.fixture
def served(data_dir: Path) -> Iterator[Served]:
    with serving(data_dir) as served:
        yield served


def opened(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def test_every_call_with_pages_is_known_to_the_gate() -> None:
    paged = {path.rpartition("/")[2] for path, rule in RULES.items() if rule.token}
    assert paged == {path.rpartition("/")[2] for path, rule in RULES.items() if rule.takes_token}
    assert {"List", "ListCollections", "ListSnapshots", "History", "Tidy"} <= paged


def test_tokens_hold_no_name_and_pages_only_what_is_granted(
    served: Served,
) -> None:
    with served.owner() as us:
        for name in ("aa-hidden", "team-a", "team-b", "zz-hidden"):
            us.create_collection(name)
    with served.as_("hers") as hers:
        first = hers.list_collections(page_size=2)
        assert [info.name for info in first.collections] == ["default", "team-a"]
        inside = opened(first.next_page_token)
        assert b"team" not in inside and b"hidden" not in inside
        last = hers.list_collections(page_size=2, page_token=first.next_page_token)
        assert [info.name for info in last.collections] == ["team-b"]
        # What comes behind it is not hers: the list ends here.
        assert last.next_page_token == ""
        figures = hers.stats()
        assert figures.collection_count == 3
        assert {stats.name for stats in figures.collections} <= {"team-a", "team-b", "default"}
    with served.owner() as us:
        assert us.stats().collection_count == 5


def test_tokens_are_for_their_caller_and_whole_only(
    served: Served,
) -> None:
    with served.owner() as us:
        for text in ("Bread is baked.", "Rain falls.", "The lake is deep."):
            us.remember(text)
        token = us.list(page_size=1).next_page_token
        assert us.list(page_size=1, page_token=token).memories
    with served.as_("hers") as hers:
        own = hers.list(page_size=1).next_page_token
        assert hers.list(page_size=1, page_token=own).memories
        wrong = [token, own[:-1], own + "A", own[:20] + own[21:], "x", "€"]
        wrong += [own[:at] + ("B" if own[at] == "A" else "A") + own[at + 1 :] for at in (0, 15, 40)]
        for given in wrong:
            with pytest.raises(InvalidArgument) as caught:
                hers.list(page_size=1, page_token=given)
            assert caught.value.reason == "BAD_PAGE_TOKEN"
        with pytest.raises(InvalidArgument):
            hers.operations(page_size=1, page_token=own)


def test_token_goes_on_after_a_restart(data_dir: Path) -> None:
    with running_server(data_dir) as server:
        with totonoe.Client(server.address, agent_id="olga") as us:
            for text in ("Bread is baked.", "Rain falls."):
                us.remember(text)
            page = us.list(page_size=1)
        key = data_dir / KEY_FILE
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        server.stop()
        server.start()
        with totonoe.Client(server.address, agent_id="olga") as us:
            rest = us.list(page_size=1, page_token=page.next_page_token)
        assert rest.memories and rest.memories[0].id != page.memories[0].id


@pytest.mark.parametrize("content", [b"short", b"", b"x" * 33])
def test_key_that_is_none_is_replaced(tmp_path: Path, content: bytes) -> None:
    sealed = Seal.of(tmp_path).close("position", "call", "who")
    assert Seal.of(tmp_path).open(sealed, "call", "who") == "position"
    (tmp_path / KEY_FILE).write_bytes(content)
    with pytest.raises(CoreInvalidArgument):
        Seal.of(tmp_path).open(sealed, "call", "who")


def test_key_that_others_may_read_is_replaced(tmp_path: Path) -> None:
    sealed = Seal.of(tmp_path).close("position")
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(CoreInvalidArgument):
        Seal.of(tmp_path).open(sealed)
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600


def test_seal_tells_apart_whom_a_token_is_for_and_hides_its_length() -> None:
    seal = Seal(b"k" * 32)
    with pytest.raises(CoreInvalidArgument):
        seal.open(seal.close("position", "ab", "c"), "a", "bc")
    assert len({len(seal.close("x" * length)) for length in range(1, 33)}) == 1


def test_counts_leave_out_private_memories_of_others(
    served: Served,
) -> None:
    with served.owner() as us:
        us.create_collection("team-a")
    with served.owner(collection="team-a") as us:
        us.remember("Bread is baked.")
        us.remember(SECRET, private=True)
    with served.as_("hers") as hers:
        assert hers.stats("team-a").collections[0].active_count == 1
        assert hers.delete_collection("team-a").active_count == 1


def test_figures_of_snapshots_are_of_collections_that_are_granted(
    served: Served,
) -> None:
    with served.owner() as us:
        for name in ("team-a", "hidden"):
            us.create_collection(name)
            with served.owner(collection=name) as one:
                one.create_snapshot()
        assert us.stats().snapshots.count == 2
    with served.as_("hers") as hers:
        assert hers.stats().snapshots.count == 1
        assert hers.stats().open.count == 0
        page = hers.list_snapshots("", page_size=1)
        assert [snapshot.collection for snapshot in page.snapshots] == ["team-a"]
        assert page.next_page_token == ""


def test_purge_names_no_snapshot_of_another_collection_and_deletes_none(
    served: Served,
) -> None:
    with served.owner() as us:
        us.create_collection("team-a")
    with served.owner(collection="team-a") as us:
        saved = us.remember("Bread is baked.")
        snapshot = us.create_snapshot().snapshot
        us.restore_snapshot(snapshot.id, "hidden")
    with served.owner(collection="hidden") as us:
        kept = us.create_snapshot().snapshot
    with served.as_("hers", collection="team-a") as hers:
        would = hers.purge([saved.memory_id], dry_run=True)
        assert [item.snapshot.id for item in would.snapshots] == [snapshot.id]
        done = hers.purge([saved.memory_id], snapshots="delete")
        assert [item.snapshot.id for item in done.snapshots] == [snapshot.id]
    with served.owner() as us:
        (left,) = us.list_snapshots("").snapshots
        assert left.id == kept.id
        # Its bytes are out of that one as well: a purge is a purge.
        assert left.purged_count == 1


def test_verbs_that_change_show_no_texts_to_who_may_not_read(
    served: Served,
) -> None:
    with served.owner() as us:
        saved = us.remember(SECRET, tags=["vault"])
    memory_id = saved.memory_id
    with served.as_("writer") as writer:
        changed = writer.update(memory_id, tags=["door"]).memory
        assert (changed.id, changed.content) == (memory_id, "")
        with pytest.raises(PermissionDenied) as caught:
            writer.forget(tags=["door"], dry_run=True)
        assert caught.value.reason == "NOT_GRANTED"
        (would,) = writer.forget([memory_id], dry_run=True).forgotten
        assert (would.id, would.content) == (memory_id, "")
        forgotten = writer.forget([memory_id])
        assert [memory.content for memory in forgotten.forgotten] == [""]
        undone = writer.undo(forgotten.operation_id)
        assert [(memory.id, memory.content) for memory in undone.memories] == [(memory_id, "")]
    with served.as_("reader") as reader:
        (would,) = reader.forget(tags=["door"], dry_run=True).forgotten
        assert would.content == SECRET
        assert reader.update(memory_id, tags=["vault"]).memory.content == SECRET


def test_history_names_who_recalled_to_who_may_admin_and_counts_for_others(
    data_dir: Path,
) -> None:
    grants = {"chief": ("*:read,admin",), "reader": ("*:read",), "other": ("*:read",)}
    data_dir.mkdir(mode=0o700, exist_ok=True)
    tokens = {name: add_identity(data_dir, name, *some) for name, some in grants.items()}
    with running_server(data_dir, address=f"127.0.0.1:0,unix:{data_dir}/s.sock") as server:
        served = Served(server, tokens)
        with served.owner() as us:
            saved = us.remember("Bread is baked at dawn.").memory_id
            us.recall("bread")
        for name in ("reader", "other", "other"):
            with served.as_(name) as one:
                one.recall("bread")
        shown = {}
        for name in ("chief", "reader"):
            with served.as_(name) as one:
                wait_until(lambda one=one: heard_of(one, saved) == 4)
                page = one.history(saved)
                counts = {each.agent_id: each.count for each in page.recallers}
                shown[name] = (counts, page.other_recall_count)
        assert shown == {
            "chief": ({"olga": 1, "reader": 1, "other": 2}, 0),
            "reader": ({"reader": 1}, 3),
        }
        with served.owner() as us:
            assert len(us.history(saved).recallers) == 3


def heard_of(client: totonoe.Client, memory_id: str) -> int:
    """Recalls of a memory, with a name or without one."""
    page = client.history(memory_id)
    return sum(recaller.count for recaller in page.recallers) + page.other_recall_count
