"""The wire side of exports and imports.

An export cannot go on where it broke: it is of one moment. It is tried again until its first
message only. An import can: it is begun again from the first line, under the same operation id,
and what was done is answered and not done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import IO, Any, Self, TypeAlias

import grpc

from totonoe.call import status, tracing
from totonoe.call.base import AsyncCalls, Calls
from totonoe.call.channel import Connection
from totonoe.call.prepared import method_of, serialize
from totonoe.call.retry import Patience
from totonoe.errors import DeadlineExceeded, Internal, TotonoeError
from totonoe.transfer.models import ExportProgress, Imported, ImportItem
from totonoe.v1 import transfer_pb2 as pb
from totonoe.wire.mapping import decoder

PIECE_BYTES = 128 * 1024
"""Of a file, in one message: small enough for its answer to come within seconds."""
IMPORT_TRIES_MAX = 20
"""An import that breaks so often is given up, however short the time that each took."""

Source: TypeAlias = IO[bytes] | Iterable[bytes]
AsyncSource: TypeAlias = Source | AsyncIterable[bytes]
Progress = Callable[[Imported], object]


def _export(channel: Connection) -> Any:
    method = method_of(pb.ExportRequest)
    return channel.unary_stream(
        method.path, request_serializer=serialize, response_deserializer=method.answer.FromString
    )


def _import(channel: Connection) -> Any:
    method = method_of(pb.ImportRequest)
    return channel.stream_stream(
        method.path, request_serializer=serialize, response_deserializer=method.answer.FromString
    )


def _lines(data: bytes) -> list[bytes]:
    """Lines of a message with their ends. Not by `splitlines`: a text may hold a lone CR."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def late(timeout_s: float) -> DeadlineExceeded:
    """No answer in time."""
    return DeadlineExceeded(
        f"no answer to a piece of the file within {timeout_s:g} s",
        code="DEADLINE_EXCEEDED",
        reason="DEADLINE_PASSED",
    )


class Export(Iterator[bytes]):
    """Lines of an export, each with its end. `close`, from any thread, ends it.

    The last line says how many there are, and their checksum: without it the file is not whole.
    Usable in a `with` statement. An iterator that is dropped closes itself.

    Attributes
    ----------
    progress : ExportProgress
        How far it is.
    """

    def __init__(
        self, channel: Connection, request: pb.ExportRequest, address: str, patience: Patience
    ) -> None:
        self.progress = ExportProgress(0, 0, 0, 0)
        self._address = address
        self._ready: Iterator[bytes] = iter(())
        self._call: Any = None
        self._request = request
        self._method = _export(channel)
        self._patience = patience
        self._begun = False
        self._span = tracing.begin(request, address)
        self._call = self._method(request, metadata=self._span.metadata)

    def __next__(self) -> bytes:
        while True:
            line = next(self._ready, None)
            if line is not None:
                return line
            self._ready = iter(_lines(self._message()))

    def _message(self) -> bytes:
        """The bytes of the next message. Raises `StopIteration` at the end."""
        while True:
            try:
                message: pb.ExportResponse = next(self._call)
                break
            except StopIteration:
                self._span.end()
                raise
            except grpc.RpcError as error:
                failure = status.from_call(error, self._address)
                wait_s = None if self._begun else self._patience.wait_s(failure)
                if wait_s is None:
                    self._span.end(failure)
                    raise failure from error
            self._span.retried()
            time.sleep(wait_s)
            self._call = self._method(self._request, metadata=self._span.metadata)
        self._begun = True
        self.progress = progressed(self.progress, message)
        return message.data

    def save(
        self, file: IO[bytes], progress: Callable[[ExportProgress], object] | None = None
    ) -> None:
        """Writes all lines to a file; `progress` is called after each message."""
        for line in self._ready:
            file.write(line)
        with contextlib.suppress(StopIteration):
            while True:
                file.write(self._message())
                if progress is not None:
                    progress(self.progress)

    def close(self) -> None:
        """Ends the stream. Safe to call twice."""
        if self._call is not None:
            self._call.cancel()
            self._span.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def progressed(before: ExportProgress, message: pb.ExportResponse) -> ExportProgress:
    """The progress of an export after a message."""
    return ExportProgress(
        message.revision,
        message.record_count,
        before.byte_count + len(message.data),
        message.memory_count,
        message.damaged_count,
    )


async def export(
    channel: Connection, request: pb.ExportRequest, address: str, patience: Patience
) -> AsyncGenerator[bytes, None]:
    """Lines of an asyncio client's export. Leaving it ends the stream."""
    method = _export(channel)
    begun = False
    with tracing.begin(request, address) as span:
        while True:
            call = method(request, metadata=span.metadata)
            try:
                async for message in call:
                    begun = True
                    for line in _lines(message.data):
                        yield line
                return
            except grpc.RpcError as error:
                failure = status.from_call(error, address)
                wait_s = None if begun else patience.wait_s(failure)
                if wait_s is None:
                    raise failure from error
            finally:
                call.cancel()
            span.retried()
            await asyncio.sleep(wait_s)


def pieces(source: Source) -> Iterator[bytes]:
    """A file, or lines, in messages of at most PIECE_BYTES."""
    read = getattr(source, "read", None)
    if read is not None:
        while data := read(PIECE_BYTES):
            yield data
        return
    gathered = bytearray()
    for part in source:
        gathered += part
        while len(gathered) >= PIECE_BYTES:
            yield bytes(gathered[:PIECE_BYTES])
            del gathered[:PIECE_BYTES]
    if gathered:
        yield bytes(gathered)


class Rewound:
    """A source that can be read again from where it was, if it is a file that allows it."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._start: int | None = None
        seekable = getattr(source, "seekable", None)
        if seekable is not None and seekable():
            self._start = source.tell()

    def again(self) -> bool:
        """Goes back to the beginning; false: that cannot be."""
        if self._start is None:
            return False
        self._source.seek(self._start)
        return True


class ImportStream:
    """One try of an import of the blocking client: a message, its answer, the next message."""

    def __init__(
        self, channel: Connection, address: str, timeout_s: float, metadata: tracing.Metadata
    ) -> None:
        self._outgoing: queue.SimpleQueue[pb.ImportRequest | None] = queue.SimpleQueue()
        self._call: Any = _import(channel)(iter(self._outgoing.get, None), metadata=metadata)
        self._address = address
        self._timeout_s = timeout_s

    def exchange(self, message: pb.ImportRequest) -> pb.ImportResponse:
        """Sends a message and waits for its answer. Raises `TotonoeError`."""
        expired = threading.Event()

        def give_up() -> None:
            expired.set()
            self._call.cancel()

        timer = threading.Timer(min(self._timeout_s, threading.TIMEOUT_MAX), give_up)
        timer.daemon = True
        timer.start()
        self._outgoing.put(message)
        try:
            answer: pb.ImportResponse = next(self._call)
        except StopIteration:
            raise _ended() from None
        except grpc.RpcError as error:
            if expired.is_set():
                raise late(self._timeout_s) from None
            raise status.from_call(error, self._address) from error
        finally:
            timer.cancel()
        return answer

    def close(self) -> None:
        """Ends the stream and the thread that feeds it."""
        self._outgoing.put(None)
        self._call.cancel()


def _ended() -> Internal:
    return Internal("the daemon ended the stream before the file was in", code="INTERNAL")


class ImportTries:
    """Decides when an import that broke is begun again. Until a piece is answered, it is tried as a
    call is.

    Parameters
    ----------
    source
        Begun again only if it can be read again from where it was.
    patience : Patience
        Bounds of the time without an answer.
    progress : callable or None
        The caller's.
    """

    def __init__(self, source: Any, patience: Patience, progress: Progress | None) -> None:
        self._rewound = Rewound(source)
        self._patience = patience
        self._progress = progress
        self._left = IMPORT_TRIES_MAX

    def progress(self, told: Imported) -> None:
        """To be called after each piece."""
        self._patience.answered()
        if self._progress is not None:
            self._progress(told)

    def wait_s(self, failure: TotonoeError) -> float | None:
        """Seconds until it is begun again; `None`: it is not."""
        self._left -= 1
        wait_s = self._patience.wait_s(failure)
        return wait_s if wait_s is not None and self._left and self._rewound.again() else None


def import_steps(
    start: pb.ImportRequest, progress: Progress | None
) -> Generator[pb.ImportRequest, tuple[pb.ImportResponse, bytes | None], Imported]:
    """The messages of one try: yields one, and is sent its answer with the next piece, if any."""
    items: list[ImportItem] = []
    answer, piece = yield start
    while True:
        told = decoder(Imported, pb.ImportResponse)(answer)
        items += told.items
        told = replace(told, items=tuple(items))
        if progress is not None:
            progress(told)
        if told.done:
            return told
        if piece is None:
            answer, piece = yield pb.ImportRequest(data=b"", last=True)
        else:
            answer, piece = yield pb.ImportRequest(data=piece)


def import_all(
    calls: Calls,
    start: pb.ImportStart,
    source: Source,
    progress: Progress | None,
    wait_s: float,
) -> Imported:
    """An import of the blocking client, begun again if it breaks and may be."""
    tries = ImportTries(source, Patience(calls._retry, wait_s), progress)
    first = pb.ImportRequest(start=start)
    with tracing.begin(pb.ImportRequest, calls.address, start.collection or "default") as span:
        while True:
            stream = ImportStream(calls._channel, calls.address, wait_s, span.metadata)
            try:
                return _run_import(stream, first, source, tries.progress)
            except TotonoeError as failure:
                again_s = tries.wait_s(failure)
                if again_s is None:
                    raise
            span.retried()
            time.sleep(again_s)


async def import_all_async(
    calls: AsyncCalls,
    start: pb.ImportStart,
    source: AsyncSource,
    progress: Progress | None,
    wait_s: float,
) -> Imported:
    """An import of the asyncio client, begun again if it breaks and may be."""
    tries = ImportTries(source, Patience(calls._retry, wait_s), progress)
    first = pb.ImportRequest(start=start)
    with tracing.begin(pb.ImportRequest, calls.address, start.collection or "default") as span:
        while True:
            call = _import(calls._channel)(metadata=span.metadata)
            try:
                return await _run_import_async(
                    call, calls.address, wait_s, first, source, tries.progress
                )
            except TotonoeError as failure:
                again_s = tries.wait_s(failure)
                if again_s is None:
                    raise
            span.retried()
            await asyncio.sleep(again_s)


def _run_import(
    stream: ImportStream, start: pb.ImportRequest, source: Source, progress: Progress | None
) -> Imported:
    """One try of an import."""
    steps, data = import_steps(start, progress), pieces(source)
    try:
        message = next(steps)
        while True:
            message = steps.send((stream.exchange(message), next(data, None)))
    except StopIteration as end:
        told: Imported = end.value
        return told
    finally:
        stream.close()


async def _run_import_async(
    call: Any,
    address: str,
    timeout_s: float,
    start: pb.ImportRequest,
    source: AsyncSource,
    progress: Progress | None,
) -> Imported:
    """One try of an import of the asyncio client."""
    steps, data = import_steps(start, progress), _pieces_of(source)
    try:
        message = next(steps)
        while True:
            async with asyncio.timeout(None if timeout_s == float("inf") else timeout_s):
                # A stream that has ended refuses the write; reading tells why it ended.
                with contextlib.suppress(asyncio.InvalidStateError):
                    await call.write(message)
                answer = await call.read()
            if not isinstance(answer, pb.ImportResponse):
                raise _ended()
            piece = await anext(data, None)
            try:
                message = steps.send((answer, piece))
            except StopIteration as end:
                told: Imported = end.value
                return told
    except TimeoutError:
        raise late(timeout_s) from None
    except grpc.RpcError as error:
        raise status.unmasked(status.from_call(error, address)) from error
    finally:
        call.cancel()


async def _pieces_of(source: AsyncSource) -> AsyncGenerator[bytes, None]:
    if not isinstance(source, AsyncIterable):
        for piece in pieces(source):
            yield piece
        return
    gathered = bytearray()
    async for part in source:
        gathered += part
        while len(gathered) >= PIECE_BYTES:
            yield bytes(gathered[:PIECE_BYTES])
            del gathered[:PIECE_BYTES]
    if gathered:
        yield bytes(gathered)
