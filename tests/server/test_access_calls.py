"""Who calls: tokens, the Unix socket, agents, streams that end; and what is said of refusals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

import totonoe
from support.access import add_identity, with_token
from support.http2 import Peer, hello, message
from support.waits import wait_s, wait_until
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import admin_service_pb2_grpc, memory_service_pb2_grpc
from totonoe.v1 import memory_service_pb2 as pb
from totonoe_core.base import clock
from totonoe_server.access import book as entries
from totonoe_server.access.book import Book
from totonoe_server.access.errors import FileError, SettingError, Unauthenticated
from totonoe_server.access.gate import Gate
from totonoe_server.access.identities import Key
from totonoe_server.access.tokens import digest_of, is_token, new_token
from totonoe_server.life import interceptors
from totonoe_server.tools.testing import RunningServer, running_server

CANARY = "the canary sings at 4711"


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data_dir: Path) -> Iterator[RunningServer]:
    """A daemon that listens on loopback and a Unix socket; identities are added by the test."""
    address = f"127.0.0.1:0,unix:{data_dir}/s.sock"
    with running_server(data_dir, address=address) as server:
        yield server


def client(server: RunningServer, token: str = "", **options: Any) -> totonoe.Client:
    return totonoe.Client(server.address.split(",")[0], token=token, **options)


def owner(server: RunningServer, **options: Any) -> totonoe.Client:
    return totonoe.Client(server.address.split(",")[1], token="", **options)


def until_closed(server: RunningServer) -> None:
    """Waits until the daemon has seen the first identity."""

    def is_closed() -> bool:
        try:
            with client(server) as nobody:
                nobody.stats()
        except totonoe.errors.Unauthenticated:
            return True
        return False

    wait_until(is_closed)


def reason_of(caught: Any) -> str:
    return str(caught.value.reason)


def test_daemon_without_identities_serves_everybody_on_loopback(server: RunningServer) -> None:
    with client(server, agent_id="anybody") as anybody:
        assert anybody.remember("Open to this machine.").saved
    # A token that nobody asks for is not looked at.
    with client(server, new_token()) as stranger:
        assert stranger.stats()


def test_first_identity_closes_a_running_daemon_but_for_the_unix_socket(
    server: RunningServer, data_dir: Path
) -> None:
    token = add_identity(data_dir, "coder", "default:read,remember")
    until_closed(server)
    with client(server) as nobody, pytest.raises(totonoe.errors.Unauthenticated) as caught:
        nobody.recall("anything")
    assert reason_of(caught) == "TOKEN_MISSING"
    with client(server) as nobody:
        assert nobody.health()
    with client(server, token) as coder:
        assert coder.remember("The port is 8080.").saved
    with owner(server, agent_id="whoever") as us:
        assert us.remember("The owner may do all.").saved
        assert us.purge([us.remember("Gone.").memory_id]).purged_ids


def test_private_memory_is_private_to_the_identity(server: RunningServer, data_dir: Path) -> None:
    ann = add_identity(data_dir, "ann", "*:read,remember")
    bob = add_identity(data_dir, "bob", "*:read,remember")
    until_closed(server)
    with client(server, ann) as hers, client(server, bob) as his:
        saved = hers.remember("Only Ann knows it.", private=True)
        assert hers.get(saved.memory_id).agent_id == "ann"
        assert not his.recall("Only Ann knows it").hits
        with pytest.raises(totonoe.errors.NotFound):
            his.get(saved.memory_id)
        forged = his.as_agent("ann")
        for call in (lambda: forged.recall("Ann"), lambda: forged.get(saved.memory_id)):
            with pytest.raises(totonoe.errors.PermissionDenied) as caught:
                call()
            assert reason_of(caught) == "AGENT_MISMATCH"
            assert "Only Ann" not in str(caught.value)


def test_items_and_imports_obey_the_table(server: RunningServer, data_dir: Path) -> None:
    token = add_identity(data_dir, "ann", "team-*:read,remember")
    until_closed(server)
    with owner(server) as us:
        us.create_collection("team-a")
        us.create_collection("other")
    channel = grpc.insecure_channel(server.address.split(",")[0])
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    items = [
        pb.RememberRequest(collection="team-a", memory={"content": "One."}),
        pb.RememberRequest(collection="other", memory={"content": "Two."}),
        pb.RememberRequest(collection="team-a", agent_id="bob", memory={"content": "Three."}),
        pb.RememberRequest(collection="team-a", agent_id="ann", memory={"content": "Four."}),
    ]
    with channel:
        (answer,) = stub.RememberMany(
            iter([pb.RememberManyRequest(items=items)]), metadata=with_token(token), timeout=30
        )
    reasons = [result.error.reason for result in answer.results]
    assert reasons == ["", "NOT_GRANTED", "AGENT_MISMATCH", ""]
    with client(server, token, collection="team-a") as hers:
        assert {memory.agent_id for memory in hers.list().memories} == {"ann"}
        with pytest.raises(totonoe.errors.PermissionDenied) as caught:
            list(hers.import_file([b"{}\n"]))
    assert reason_of(caught) == "NOT_GRANTED"


def test_lists_and_figures_leave_out_what_is_not_granted(
    server: RunningServer, data_dir: Path
) -> None:
    token = add_identity(data_dir, "ann", "team-*:read")
    until_closed(server)
    with owner(server) as us:
        for name in ("team-a", "team-b", "other"):
            us.create_collection(name)
        assert {"other", "default"} <= {info.name for info in us.list_collections().collections}
    with client(server, token) as hers:
        names = {info.name for info in hers.list_collections().collections}
        assert names == {"team-a", "team-b"}
        assert {stats.name for stats in hers.stats().collections} <= {"team-a", "team-b"}
        with pytest.raises(totonoe.errors.PermissionDenied):
            hers.stats("other")


def test_undo_needs_the_verb_of_what_it_takes_back(server: RunningServer, data_dir: Path) -> None:
    token = add_identity(data_dir, "ann", "*:read,remember")
    until_closed(server)
    with owner(server, agent_id="ann") as us, client(server, token) as hers:
        saved = us.remember("The port is 8080.")
        undone = hers.undo(saved.revision)
        assert undone.undone
        assert hers.undo(undone.revision).undone
        forgotten = us.forget(saved.memory_id)
        with pytest.raises(totonoe.errors.PermissionDenied) as caught:
            hers.undo(forgotten.revision)
        assert caught.value.details["verb"] == "forget"
        back = us.undo(forgotten.revision)
        with pytest.raises(totonoe.errors.PermissionDenied) as caught:
            hers.undo(back.revision, dry_run=True)
        assert caught.value.details["verb"] == "forget"
        us.create_collection("gone")
        deleted = us.delete_collection("gone")
        with pytest.raises(totonoe.errors.PermissionDenied) as caught:
            hers.undo(deleted.operation_id, collection="gone")
        assert caught.value.details["verb"] == "admin"


@pytest.mark.parametrize(
    "metadata",
    [
        [("authorization", "Bearer TOKEN"), ("authorization", "Bearer TOKEN")],
        [("authorization", "Bearer CUT")],
        [("authorization", "Bearer TOKEN ")],
        [("authorization", "bearer TOKEN")],
        [("authorization", "TOKEN")],
        [("authorization", "Basic dTpw")],
        [("authorization", "Bearer ttn_" + "0" * 43)],
        [("authorization", "Bearer " + "x" * 4000)],
        [("authorization", "")],
    ],
    ids=["two", "cut", "longer", "case", "bare", "basic", "unknown", "long", "empty"],
)
def test_token_that_is_none_is_refused(
    server: RunningServer, data_dir: Path, fails: Any, metadata: Any
) -> None:
    token = add_identity(data_dir, "ann", "*:read")
    until_closed(server)
    given = tuple(
        (name, value.replace("TOKEN", token).replace("CUT", token[:-1])) for name, value in metadata
    )
    with grpc.insecure_channel(server.address.split(",")[0]) as channel:
        stub = admin_service_pb2_grpc.AdminServiceStub(channel)
        failure = fails(stub.Stats, admin_pb.StatsRequest(), metadata=given)
    assert (failure.code.name, failure.reason) == ("UNAUTHENTICATED", "TOKEN_INVALID")
    assert token not in failure.message


@pytest.mark.parametrize("value", [b"Bearer \xff\xfe", b"Bearer ttn_\xc3\xa9", "TOKEN\N{SNOWMAN}"])
def test_token_that_is_not_ascii_is_refused_and_not_logged(
    server: RunningServer, data_dir: Path, caplog: pytest.LogCaptureFixture, value: Any
) -> None:
    token = add_identity(data_dir, "ann", "*:read")
    until_closed(server)
    given = (
        value if isinstance(value, bytes) else value.replace("TOKEN", f"Bearer {token}").encode()
    )
    with Peer(server.address.split(",")[0]) as peer:
        peer.send(hello())
        call = peer.call("/totonoe.v1.AdminService/Stats", message(b""), (b"authorization", given))
        end = peer.end_of(call)
    assert end.status == grpc.StatusCode.UNAUTHENTICATED.value[0]
    assert "Invalid encoding" not in caplog.text
    assert token not in caplog.text


def test_wrong_token_over_the_unix_socket_is_not_the_owner(
    server: RunningServer, data_dir: Path
) -> None:
    token = add_identity(data_dir, "ann", "*:read")
    until_closed(server)
    socket = server.address.split(",")[1]
    stranger = totonoe.Client(socket, token=new_token())
    with stranger, pytest.raises(totonoe.errors.Unauthenticated):
        stranger.stats()
    hers = totonoe.Client(socket, token=token)
    with hers, pytest.raises(totonoe.errors.PermissionDenied):
        hers.remember("Not granted.")


def test_expired_rotated_and_revoked_tokens_are_refused_by_name(
    server: RunningServer, data_dir: Path
) -> None:
    now_us = clock.system_clock()
    expired = add_identity(data_dir, "old", "*:read", expires_us=now_us - 1)
    first = add_identity(data_dir, "ann", "*:read")
    second, third = new_token(), new_token()
    book = Book(data_dir)

    def rotate(token: str, grace_us: int) -> None:
        key = Key(digest_of(token))
        book.change(
            lambda old: entries.changed(
                old, "ann", lambda one: entries.rotated(one, key, clock.system_clock(), grace_us)
            )
        )

    def refused(token: str) -> str:
        with client(server, token) as somebody:
            try:
                somebody.stats()
            except totonoe.errors.Unauthenticated as error:
                return error.reason
        return ""

    until_closed(server)
    assert refused(expired) == "TOKEN_EXPIRED"
    rotate(second, 3_600_000_000)
    wait_until(lambda: refused(second) == "")
    assert refused(first) == ""
    rotate(third, 0)
    wait_until(lambda: refused(third) == "")
    assert refused(first) == refused(second) == "TOKEN_INVALID"
    book.change(lambda old: entries.changed(old, "ann", lambda one: entries.revoked(one, now_us)))
    wait_until(lambda: refused(third) == "TOKEN_REVOKED")


def test_grace_of_a_rotation_ends() -> None:
    gate_us = 1_000_000
    identity = entries.rotated(
        _identity(Key(digest_of(new_token()))), Key(digest_of(new_token())), gate_us, 500
    )
    assert [key.expires_us for key in identity.keys] == [gate_us + 500, 0]
    again = entries.rotated(identity, Key(digest_of(new_token())), gate_us + 600, 500)
    assert [key.expires_us for key in again.keys] == [gate_us + 1100, 0]
    with pytest.raises(SettingError, match="allowed: 4"):
        for _ in range(5):
            again = entries.rotated(again, Key(digest_of(new_token())), gate_us, 500)
    with pytest.raises(SettingError, match="is revoked"):
        entries.rotated(entries.revoked(identity, 1), Key(digest_of(new_token())), gate_us, 0)


def _identity(key: Key) -> Any:
    from totonoe_server.access.grants import parse_grant
    from totonoe_server.access.identities import Identity

    return Identity("ann", "ann", (parse_grant("*:read"),), keys=(key,), created_us=1)


def test_revoke_under_load_ends_calls_and_streams_within_a_second(
    server: RunningServer, data_dir: Path
) -> None:
    revoked = add_identity(data_dir, "ann", "*:read,remember")
    stays = add_identity(data_dir, "bob", "*:read,remember")
    until_closed(server)
    ended: dict[str, str] = {}
    stop = threading.Event()

    def write(name: str, token: str) -> None:
        with client(server, token) as somebody:
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    somebody.remember(f"{name} wrote line {number}.")
                except totonoe.TotonoeError as error:
                    ended[name] = error.reason
                    return

    def watch(name: str, token: str) -> None:
        with client(server, token) as somebody:
            try:
                for _ in somebody.watch():
                    if stop.is_set():
                        return
            except totonoe.TotonoeError as error:
                ended[name] = error.reason

    threads = [
        *(threading.Thread(target=write, args=(f"w{n}", revoked)) for n in range(3)),
        threading.Thread(target=watch, args=("watch", revoked)),
        threading.Thread(target=write, args=("other", stays)),
    ]
    for thread in threads:
        thread.start()
    with owner(server) as us:
        wait_until(lambda: us.stats("default").collections[0].active_count > 20)
    Book(data_dir).change(
        lambda old: entries.changed(old, "ann", lambda one: entries.revoked(one, 1))
    )
    wait_until(lambda: len(ended) == 4)
    stop.set()
    for thread in threads:
        thread.join(wait_s())
    assert "other" not in ended
    assert set(ended.values()) == {"TOKEN_REVOKED"}
    # Two looks at the file fit into the second that the page promises.
    assert 2 * Book.check_every_s < 1.0


def test_grant_that_is_taken_away_ends_a_watch(server: RunningServer, data_dir: Path) -> None:
    token = add_identity(data_dir, "ann", "default:read")
    until_closed(server)
    reasons: list[str] = []

    def watch() -> None:
        with client(server, token) as hers:
            try:
                for _ in hers.watch():
                    pass
            except totonoe.TotonoeError as error:
                reasons.append(error.reason)

    thread = threading.Thread(target=watch)
    thread.start()
    with owner(server) as us:
        us.remember("Seen.")
        narrowed = _grants(data_dir, "ann", "team-*:read")
        assert narrowed
        thread.join(wait_s())
    assert reasons == ["NOT_GRANTED"]


def _grants(data_dir: Path, name: str, text: str) -> Any:
    from dataclasses import replace

    from totonoe_server.access.grants import parse_grant

    return Book(data_dir).change(
        lambda old: entries.changed(
            old, name, lambda one: replace(one, grants=(parse_grant(text),))
        )
    )


def test_refused_calls_are_counted_and_logged_without_text(
    data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    token = add_identity(data_dir, "ann", "team-*:read,remember")
    caplog.set_level(logging.DEBUG)
    with running_server(data_dir) as server, client(server, token) as hers:
        for name in ("other", CANARY):
            with pytest.raises(totonoe.errors.PermissionDenied) as caught:
                hers.remember(CANARY, collection=name)
            assert CANARY not in str(caught.value)
        for _ in range(30):
            with pytest.raises(totonoe.errors.PermissionDenied):
                hers.remember(CANARY, collection="other")
    ours = [record for record in caplog.records if record.name == "totonoe.server"]
    said = [record.msg for record in ours if isinstance(record.msg, dict)]
    refused = [entry for entry in said if entry["event"] == "call refused"]
    assert refused[0]["reason"] == "NOT_GRANTED"
    assert (refused[0]["identity"], refused[0]["collection"]) == ("ann", "other")
    assert refused[1]["collection"] == ""
    assert CANARY not in caplog.text
    assert token not in caplog.text


def test_log_of_refusals_is_bounded_and_counts_the_rest(tmp_path: Path, caplog: Any) -> None:
    now_s = 100.0
    gate = Gate(tmp_path, monotonic_s=lambda: now_s)
    error = Unauthenticated("TOKEN_MISSING", "no")
    for _ in range(25):
        gate.count_refused(error, "/m", None, "c")
    now_s = 101.0
    gate.count_refused(error, "/m", None, "c")
    gate.count_refused(KeyError("no refusal"), "/m", None, "c")
    said = [record.msg for record in caplog.records]
    assert gate.refused == {"TOKEN_MISSING": 26}
    assert len([item for item in said if item["event"] == "call refused"]) == 11
    assert [item["count"] for item in said if item["event"] == "more calls were refused"] == [15]


def test_broken_or_missing_file_keeps_the_grants_of_before(
    server: RunningServer, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    token = add_identity(data_dir, "ann", "*:read")
    until_closed(server)
    path = data_dir / entries.NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    wait_until(lambda: "identities were not read" in caplog.text)
    with client(server, token) as hers:
        assert hers.stats()
    path.unlink()
    wait_until(lambda: "is gone" in caplog.text)
    with client(server) as nobody, pytest.raises(totonoe.errors.Unauthenticated):
        nobody.stats()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no file of identities"),
        ("[]", "is no file of identities"),
        ('{"version": 2}', "has format 2, not 1"),
        ('{"version": 1, "identities": [{}]}', "fields: got []"),
        ('{"version": 1, "identities": {"a": 1}}', "is no file of identities"),
        ("[" * 100_000, "is no file of identities"),
    ],
)
def test_file_that_is_none_keeps_the_daemon_from_starting(
    data_dir: Path, content: str, words: str
) -> None:
    data_dir.mkdir(mode=0o700)
    path = data_dir / entries.NAME
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(FileError) as caught:
        Gate(data_dir).load()
    assert words in str(caught.value)


def test_file_that_others_can_read_is_refused(data_dir: Path) -> None:
    add_identity(data_dir, "ann", "*:read")
    path = data_dir / entries.NAME
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(FileError, match="open to other users"):
        Gate(data_dir).load()


def test_two_changes_at_once_are_both_there(data_dir: Path) -> None:
    threads = [
        threading.Thread(target=add_identity, args=(data_dir, f"i{number}", "*:read"))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Book(data_dir).read()) == 8
    assert {path.name for path in data_dir.iterdir()} == {"access.json", "access.lock"}


def test_token_has_32_random_bytes_and_one_length() -> None:
    tokens = [new_token() for _ in range(200)]
    assert all(is_token(token) and len(token) == 47 for token in tokens)
    assert len(set(tokens)) == 200
    assert not is_token(tokens[0] + "\n")


def test_call_whose_deadline_has_passed_is_not_started(server: RunningServer) -> None:
    loop = server._loop
    assert loop is not None
    with client(server) as anybody:
        anybody.stats()
        # The loop is busy for longer than the call may take, so the call is taken up too late.
        loop.call_soon_threadsafe(time.sleep, 0.5)
        with pytest.raises(totonoe.errors.DeadlineExceeded):
            anybody.remember("Too late.", timeout_s=0.2)
        assert not anybody.list().memories


class LateContext:
    """A call whose deadline passed while it waited to be taken up."""

    def __init__(self, left_s: float | None) -> None:
        self.left_s = left_s
        self.ended: Any = None

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return ()

    async def read(self) -> Any:
        return admin_pb.StatsRequest()

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    def time_remaining(self) -> float | None:
        return self.left_s

    async def abort_with_status(self, status: Any) -> None:
        self.ended = status.code
        raise grpc.aio.AbortError


@pytest.mark.parametrize(("left_s", "started"), [(0.0, 0), (-1.0, 0), (0.5, 1), (None, 1)])
def test_behaviour_is_not_called_after_the_deadline(
    tmp_path: Path, left_s: float | None, started: int
) -> None:
    path = "/totonoe.v1.AdminService/Stats"
    begun: list[Any] = []

    async def behaviour(request: Any, _: Any) -> Any:
        begun.append(request)
        return admin_pb.StatsResponse()

    async def handled() -> None:
        guard = interceptors.Interceptor(Gate(tmp_path))

        async def found(_: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(behaviour)

        details = SimpleNamespace(method=path)
        handler = await guard.intercept_service(found, details)  # type: ignore[arg-type]
        context = LateContext(left_s)
        with contextlib.nullcontext() if started else pytest.raises(grpc.aio.AbortError):
            await handler.stream_unary(None, context)
        if not started:
            assert context.ended is grpc.StatusCode.DEADLINE_EXCEEDED

    asyncio.run(handled())
    assert len(begun) == started
