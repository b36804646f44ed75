"""A worker of `bench.recall`: some tasks that send ready-made Recalls, each one after the other."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from typing import Any

import grpc.aio
import numpy as np

from bench import echo, material
from bench.processes import heard, say
from totonoe.call.channel import channel_options
from totonoe.call.prepared import method_of
from totonoe.v1 import memory_service_pb2 as pb

K = 10
MODES = {
    "vector": {"vector": True},
    "folded": {"vector": True, "fold": True},
    "words": {"words": True},
    "both": {"vector": True, "words": True, "fold": True},
}
"""What a Recall of a mode brings and asks for."""
DIFFERENT = 500
CALL_LIMIT_S = 60.0
PATH = method_of(pb.RecallRequest).path


def requests(
    seed: int, worker: int, collection: str, mode: str, dimension: int
) -> list[pb.RecallRequest]:
    """Different Recalls, the same for the same seed and number.

    Vectors are of the topics that the store has; texts are of its words.
    """
    generator = np.random.default_rng([seed, 7, worker])
    texts = material.texts(generator, DIFFERENT)
    vectors = material.Space(seed, dimension).draw(generator, DIFFERENT)
    made = []
    for text, vector in zip(texts, vectors, strict=True):
        asked = MODES[mode]
        made.append(
            pb.RecallRequest(
                collection=collection,
                agent_id=f"agent-{worker}",
                k=K,
                fold="fold" in asked,
                text=text if "words" in asked else "",
                vector=vector.astype("<f4").tobytes() if "vector" in asked else b"",
            )
        )
    return made


async def _run(order: dict[str, Any], channel: grpc.aio.Channel) -> dict[str, Any]:
    is_echo = order["server"] == "echo"
    names = ("seed", "worker", "collection", "mode", "dimension")
    made = requests(*(order[name] for name in names))
    payloads = itertools.cycle([request.SerializeToString() for request in made])
    call: Any = channel.unary_unary(echo.UNARY if is_echo else PATH)
    outcomes: Counter[str] = Counter()
    latencies_s: list[float] = []
    begin_s = time.time()
    end_s = begin_s + order["limit_s"]

    async def ask() -> None:
        # A loop that stood still for the whole time has asked once all the same.
        while not outcomes or time.time() < end_s:
            sent_s = time.perf_counter()
            try:
                answer = await call(next(payloads), timeout=CALL_LIMIT_S)
            except grpc.aio.AioRpcError as error:
                outcomes[error.code().name] += 1
                continue
            latencies_s.append(time.perf_counter() - sent_s)
            # Not each answer is decoded: the machine is shared with the server.
            if is_echo:
                outcomes["echoed"] += 1
            elif len(latencies_s) > 1 or pb.RecallResponse.FromString(answer).hits:
                outcomes["recalled"] += 1
            else:
                outcomes["empty"] += 1

    await asyncio.gather(*(ask() for _ in range(order["tasks"])))
    return {
        "begin_s": begin_s,
        "end_s": time.time(),
        "latencies_s": latencies_s,
        "outcomes": outcomes,
    }


async def _work(order: dict[str, Any]) -> None:
    async with grpc.aio.insecure_channel(order["address"], options=channel_options()) as channel:
        await channel.channel_ready()
        say({"connected": True})
        await asyncio.to_thread(heard)
        say(await _run(order, channel))


if __name__ == "__main__":
    asyncio.run(_work(heard()))
