"""A worker of `bench.guard`: some tasks that push requests at a server, each one after the other.

In mode `multiplex` each task has a Multiplex stream of its own, as a client has.

It sends ready-made bytes through bare grpc.aio, so that little of the machine goes to clients:
they share its cores with the server that is measured.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc.aio
import numpy as np

from bench import echo, material
from bench.material import Item
from bench.processes import heard, say
from totonoe.call.channel import channel_options
from totonoe.call.prepared import method_of
from totonoe.v1 import memory_service_pb2 as pb

REMEMBER_PATH = method_of(pb.RememberRequest).path
REMEMBER_MANY_PATH = method_of(pb.RememberManyRequest).path
MULTIPLEX_PATH = method_of(pb.MultiplexRequest).path
TICKETS_PER_WORKER = 10_000_000
CALL_LIMIT_S = 60.0

Order = dict[str, Any]


def requests(order: Order) -> list[pb.RememberRequest]:
    """The Remembers of one worker, the same for the same seed and number."""
    first = order["worker"] * TICKETS_PER_WORKER
    made = []
    for number, item in enumerate(given(order) or synthetic(order, first), first):
        request = pb.RememberRequest(
            collection=order["collection"],
            agent_id=f"agent-{order['worker']}",
            operation_id=f"op-{order['worker']}-{number}",
        )
        request.memory.content = item.text
        if order["dimension"]:
            request.memory.vector = item.vector
        made.append(request)
    return made


def given(order: Order) -> list[Item]:
    """The notes of the order; none if it leaves the texts to the worker."""
    return [
        Item(number, text, b64decode(vector)) for number, (text, vector) in enumerate(order["said"])
    ]


def synthetic(order: Order, first: int) -> list[Item]:
    """Texts from parts, of which some restate others or one of the things of a full store."""
    generator = np.random.default_rng([order["seed"], order["worker"]])
    sentences = material.texts(generator, order["count"], first)
    space = material.Space(order["seed"], order["dimension"] or 8)
    items = list(material.items(generator, sentences, space, order["double_share"]))
    if order["copy_share"]:
        # Marks that no store and no other worker has come to.
        copies = material.copies(generator, order["seed"], space, len(items), first)
        of_copies = generator.random(len(items)) < order["copy_share"]
        pairs = zip(copies, items, of_copies, strict=True)
        items = [copy if chosen else item for copy, item, chosen in pairs]
    return items


def items(made: list[pb.RememberRequest]) -> list[bytes]:
    """The same requests as items of Multiplex streams."""
    return [
        pb.MultiplexRequest(id=number, remember=request, timeout_s=CALL_LIMIT_S).SerializeToString()
        for number, request in enumerate(made, 1)
    ]


def messages(made: list[pb.RememberRequest], per_message: int) -> list[bytes]:
    """The same requests as messages of RememberMany."""
    return [
        pb.RememberManyRequest(items=made[start : start + per_message]).SerializeToString()
        for start in range(0, len(made), per_message)
    ]


class Pushing:
    """Tasks over one channel that take the next payload until none or no time is left."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._is_echo = order["server"] == "echo"
        made = requests(order)
        self._mode = order["mode"]
        if self._mode == "stream":
            payloads = messages(made, order["items_per_message"])
        elif self._mode == "multiplex":
            payloads = items(made)
        else:
            payloads = [request.SerializeToString() for request in made]
        self._payloads = iter(payloads)
        self._latencies_s: list[float] = []
        self._outcomes: Counter[str] = Counter()
        self._end_s = 0.0

    async def run(self, channel: grpc.aio.Channel) -> dict[str, Any]:
        """Pushes for the time ordered."""
        begin_s = time.time()
        self._end_s = begin_s + self._order["limit_s"]
        push = {"stream": self._push_stream, "multiplex": self._push_items}.get(
            self._mode, self._push_unary
        )
        await asyncio.gather(*(push(channel) for _ in range(self._order["tasks"])))
        return {
            "begin_s": begin_s,
            "end_s": time.time(),
            "latencies_s": self._latencies_s,
            "outcomes": self._outcomes,
        }

    def _timely(self) -> Iterator[bytes]:
        """Yield what is left to send, shared by the tasks; each of them sends at least one."""
        is_first = True
        while is_first or time.time() < self._end_s:
            is_first = False
            payload = next(self._payloads, None)
            if payload is None:
                return
            yield payload

    async def _push_unary(self, channel: grpc.aio.Channel) -> None:
        call: Any = channel.unary_unary(echo.UNARY if self._is_echo else REMEMBER_PATH)
        for payload in self._timely():
            begin_s = time.perf_counter()
            try:
                answer = await call(payload, timeout=CALL_LIMIT_S)
            except grpc.aio.AioRpcError as error:
                self._outcomes[error.code().name] += 1
                continue
            self._latencies_s.append(time.perf_counter() - begin_s)
            if self._is_echo:
                self._outcomes["echoed"] += 1
            else:
                self._count(pb.RememberResponse.FromString(answer))

    async def _push_stream(self, channel: grpc.aio.Channel) -> None:
        method: Any = channel.stream_stream(echo.STREAM if self._is_echo else REMEMBER_MANY_PATH)
        sent_s: asyncio.Queue[float] = asyncio.Queue()
        answered = asyncio.Semaphore(1)

        async def outgoing() -> AsyncIterator[bytes]:
            # One message at a time, as a client that waits for its answers.
            for payload in self._timely():
                await answered.acquire()
                sent_s.put_nowait(time.perf_counter())
                yield payload

        call = method(outgoing(), timeout=self._order["limit_s"] + CALL_LIMIT_S)
        try:
            async for answer in call:
                self._latencies_s.append(time.perf_counter() - await sent_s.get())
                answered.release()
                self._count_stream(answer)
        except grpc.aio.AioRpcError as error:
            self._outcomes[error.code().name] += 1
        finally:
            call.cancel()

    async def _push_items(self, channel: grpc.aio.Channel) -> None:
        method: Any = channel.stream_stream(echo.STREAM if self._is_echo else MULTIPLEX_PATH)
        call = method(timeout=self._order["limit_s"] + CALL_LIMIT_S)
        try:
            if not self._is_echo:
                await call.read()  # the daemon says that the stream is open
            for payload in self._timely():
                begin_s = time.perf_counter()
                await call.write(payload)
                answer = await call.read()
                self._latencies_s.append(time.perf_counter() - begin_s)
                if self._is_echo:
                    self._outcomes["echoed"] += 1
                    continue
                response = pb.MultiplexResponse.FromString(answer)
                if response.HasField("remember"):
                    self._count(response.remember)
                else:
                    self._outcomes[str(response.error.code)] += 1
        except grpc.aio.AioRpcError as error:
            self._outcomes[error.code().name] += 1
        finally:
            call.cancel()

    def _count_stream(self, answer: bytes) -> None:
        if self._is_echo:
            self._outcomes["echoed"] += len(pb.RememberManyRequest.FromString(answer).items)
            return
        for result in pb.RememberManyResponse.FromString(answer).results:
            if result.HasField("answer"):
                self._count(result.answer)
            else:
                self._outcomes[result.error.reason] += 1

    def _count(self, answer: pb.RememberResponse) -> None:
        self._outcomes["saved" if answer.saved else "refused"] += 1


async def _work(order: Order) -> None:
    pushing = Pushing(order)
    async with grpc.aio.insecure_channel(order["address"], options=channel_options()) as channel:
        await channel.channel_ready()
        say({"connected": True})
        await asyncio.to_thread(heard)
        say(await pushing.run(channel))


if __name__ == "__main__":
    asyncio.run(_work(heard()))
