"""The yardstick of `bench.guard`: grpc.aio that gives back the bytes it gets, and nothing else.

It parses nothing, so it is the least that a call of this size can cost a server in Python.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

SERVICE = "bench.Echo"
UNARY = f"/{SERVICE}/Unary"
STREAM = f"/{SERVICE}/Stream"
CPU = f"/{SERVICE}/Cpu"


async def _unary(request: bytes, _context: Any) -> bytes:
    return request


async def _stream(requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
    async for request in requests:
        yield request


async def _cpu(_request: bytes, _context: Any) -> bytes:
    return struct.pack("<d", time.process_time())


def cpu_s(address: str) -> float:
    """CPU seconds of the echo's process so far."""
    with grpc.insecure_channel(address) as channel:
        call: Any = channel.unary_unary(CPU)
        answer: bytes = call(b"", wait_for_ready=True, timeout=30.0)
    return float(struct.unpack("<d", answer)[0])


async def _serve() -> None:
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    methods: dict[str, Any] = {
        "Unary": grpc.unary_unary_rpc_method_handler(_unary),
        "Stream": grpc.stream_stream_rpc_method_handler(_stream),
        "Cpu": grpc.unary_unary_rpc_method_handler(_cpu),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(json.dumps({"address": f"127.0.0.1:{port}"}), flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(_serve())
