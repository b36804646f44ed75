"""Exports and imports by both clients, and by the command line."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from support.scripted import fail, scripted
from support.serving import serving
from totonoe import Client, errors
from totonoe.cli.main import app
from totonoe.transfer import transfers
from totonoe.transfer.models import ExportProgress
from totonoe.v1 import transfer_pb2 as pb

Call = Callable[..., Any]
LINES = [b'{"record":"header"}\n', b'{"text":"a\r b \\u2028 c"}\n', b'{"record":"end"}\n']


def export(request: pb.ExportRequest, _: Any) -> Iterator[pb.ExportResponse]:
    assert request.include_vectors
    yield pb.ExportResponse(revision=4, data=b"".join(LINES[:2]), record_count=1, memory_count=2)
    yield pb.ExportResponse(revision=4, data=LINES[2], record_count=1, memory_count=2)


class Import:
    """A daemon's side: keeps what came, and breaks off where it is told to."""

    def __init__(self, *breaks_at: int) -> None:
        self.breaks = list(breaks_at)
        self.data: list[bytes] = []
        self.ids: list[str] = []

    def __call__(self, requests: Iterator[pb.ImportRequest], context: Any) -> Iterator[Any]:
        got, count = b"", 0
        for request in requests:
            if request.HasField("start"):
                self.ids.append(request.start.operation_id)
                yield pb.ImportResponse(operation_id=request.start.operation_id)
                continue
            if self.breaks and count == self.breaks[0]:
                self.breaks.pop(0)
                fail(context, "UNAVAILABLE", "OVERLOADED", retry_delay_s=0.001)
            got, count = got + request.data, count + 1
            if request.last:
                # Before the answer: then the client leaves.
                self.data.append(got)
            item = pb.ImportItem(line=count, memory_id=f"mem_{count}", duplicate_of="mem_x")
            yield pb.ImportResponse(
                operation_id=self.ids[-1],
                done=request.last,
                saved_count=count,
                header=pb.ImportHeader(collection="c", statuses=[1]),
                items=[item],
            )


def test_export_gives_lines_with_their_ends(call: Call) -> None:
    with scripted(Export=export) as address:
        assert call(address, "export", include_vectors=True) == LINES


def test_export_is_saved_to_a_file_with_progress() -> None:
    told: list[ExportProgress] = []
    file = io.BytesIO()
    with (
        scripted(Export=export) as address,
        Client(address) as client,
        client.export(include_vectors=True) as lines,
    ):
        first = next(lines)
        lines.save(file, told.append)
    assert first + file.getvalue() == b"".join(LINES)
    assert told == [ExportProgress(4, 1, sum(map(len, LINES)), 2)]
    assert lines.progress.revision == 4


def test_export_that_breaks_raises(call: Call) -> None:
    def broken(_: Any, context: Any) -> Iterator[pb.ExportResponse]:
        yield pb.ExportResponse(data=LINES[0])
        fail(context, "ABORTED", "STALE_REVISION")

    with scripted(Export=broken) as address, pytest.raises(errors.StaleRevision):
        call(address, "export")


@pytest.mark.parametrize("of", ["file", "lines", "pipe"])
def test_import_sends_the_file_in_pieces_and_gathers_what_is_told(
    call: Call, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setattr(transfers, "PIECE_BYTES", 10)
    data = b"".join(LINES)
    source: Any = io.BytesIO(data)
    if of == "lines":
        source = list(LINES)
    elif of == "pipe":
        source = _Pipe(data)
    told: list[Any] = []
    daemon = Import()
    with scripted(Import=daemon) as address:
        found = call(address, "import_file", source, as_is=True, progress=told.append)
    assert daemon.data == [data]
    assert found.done
    assert found == told[-1]
    assert [item.line for item in found.items] == list(range(1, found.saved_count + 1))
    assert found.items[0].duplicate_of == "mem_x"
    assert found.header.statuses == ("active",)


class _Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_import_of_a_file_begins_anew_under_the_same_id(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PIECE_BYTES", 30)
    data = b"".join(LINES)
    source = io.BytesIO(b"before" + data)
    source.seek(6)
    daemon = Import(1, 0)
    with scripted(Import=daemon) as address:
        assert call(address, "import_file", source).done
    assert daemon.data[-1] == data
    assert len(daemon.ids) == 3
    assert len(set(daemon.ids)) == 1


def test_import_of_what_cannot_be_read_again_raises(call: Call) -> None:
    with scripted(Import=Import(0)) as address, pytest.raises(errors.Unavailable):
        call(address, "import_file", _Pipe(b"x\n"))


def test_import_that_gets_no_answer_ends(call: Call) -> None:
    def silent(requests: Iterator[Any], _: Any) -> Iterator[Any]:
        yield from (request for request in requests if request is None)

    with scripted(Import=silent) as address, pytest.raises(errors.DeadlineExceeded):
        call(address, "import_file", io.BytesIO(b"x"), timeout_s=0.05)


def test_import_that_ends_early_is_a_bug_of_the_daemon(call: Call) -> None:
    def short(requests: Iterator[Any], _: Any) -> Iterator[Any]:
        next(requests)
        yield pb.ImportResponse()

    # grpc.aio may tell a write that met the end before the end itself (grpc#36066).
    told = (errors.Internal, errors.Unavailable)
    with scripted(Import=short) as address, pytest.raises(told):
        call(address, "import_file", io.BytesIO(b"x"))


# -- The command, with a daemon


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as server, server.client("anna") as client:
        for number in range(3):
            client.remember(f"Fact number {number} of three.", tags=["t"], force=True)
        client.forget(client.remember("Gone again.", force=True).memory_id)
        yield server.address.split(",")[0]


@pytest.fixture
def run(address: str) -> Callable[..., Result]:
    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        options = ["--address", address, "--agent", "anna"]
        return CliRunner().invoke(app, [*arguments, *options], input=stdin)

    return invoke


def collection(address: str, name: str) -> str:
    with Client(address) as client:
        client.create_collection(name)
    return name


def test_command_exports_and_imports_as_is(
    run: Callable[..., Result], address: str, tmp_path: Path
) -> None:
    file, again = tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"
    done = run("export", str(file), "--vectors")
    assert done.exit_code == 0, done.output
    assert "records" in done.stdout
    assert "revision 5" in done.stdout
    assert not list(tmp_path.glob("*.part"))
    # Private memories of the caller are in it.
    assert file.stat().st_mode & 0o777 == 0o600
    where = ["--collection", collection(address, "as-is")]
    imported = run("import", str(file), "--as-is", "--json", *where)
    assert imported.exit_code == 0, imported.output
    told = json.loads(imported.stdout)
    assert (told["saved_count"], told["done"], told["failures"]) == (4, True, [])
    assert run("export", str(again), "--vectors", *where).exit_code == 0
    with gzip.open(file) as packed:
        assert packed.read().split(b"\n")[1:-2] == again.read_bytes().split(b"\n")[1:-2]
    # The same file in the same place: nothing more.
    told = json.loads(run("import", str(file), "--as-is", "--json", *where).stdout)
    assert told["replayed_count"] == 4
    failed = run("import", str(again), "--as-is", *where)
    assert failed.exit_code == 1
    assert "BAD_IMPORT" in failed.stderr


def test_command_imports_through_the_guard_and_tells_repetitions(
    run: Callable[..., Result], address: str
) -> None:
    lines = run("export", "-", "--status", "active").stdout_bytes
    where = ["--collection", collection(address, "guard")]
    told = json.loads(run("import", "-", "--json", *where, stdin=lines).stdout)
    assert (told["saved_count"], told["failed_count"]) == (3, 0)
    shown = run("import", "-", *where, stdin=lines)
    assert shown.exit_code == 0
    assert "line 2: repeats mem_" in shown.stdout
    assert "refused: exact" in shown.stdout
    assert "Fact number" not in shown.stdout


def test_command_checks_a_file(run: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    assert run("export", str(file)).exit_code == 0
    shown = run("import", str(file), "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "collection default, revision 5" in shown.stdout
    assert "memory lines" in shown.stdout
    file.write_bytes(file.read_bytes()[:-9])
    cut = run("import", str(file), "--as-is", "--collection", "default")
    assert cut.exit_code == 1
    assert "BAD_IMPORT" in cut.stderr


def test_command_refuses_options_that_do_not_fit(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    file, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert run("export", str(file)).exit_code == 0
    other.write_text('{"text": "a"}\n')
    assert run("export", str(file)).exit_code == 2
    assert run("export", str(tmp_path / "no" / "a")).exit_code == 2
    assert run("export", "-", "--json").exit_code == 2
    assert run("import", str(file), "--force").exit_code == 2
    assert run("import", str(other), "--as-is").exit_code == 2
    assert run("export", str(tmp_path / "c"), "--status", "lost").exit_code == 2
    assert not (tmp_path / "c").exists()
