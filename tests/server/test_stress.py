"""Calls given up at random moments: nothing hangs, nothing breaks, nobody else is hurt."""

from __future__ import annotations

import random
import threading

import grpc

from support.waits import wait_s
from totonoe.v1 import memory_service_pb2 as pb

ALLOWED = {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
SEED = 20261122


def test_calls_given_up_at_random_leave_the_server_well(wire, caplog):
    collection = wire.collection()
    known = wire.remember("The anchor.", collection).memory_id
    codes: set[grpc.StatusCode] = set()
    saved: set[str] = set()

    def load(worker: int) -> None:
        draw = random.Random(SEED + worker)
        for number in range(60):
            text = f"Crate {worker}-{number} went to dock {draw.randrange(10**6)}."
            draft = {"content": text}
            call, request = draw.choice(
                [
                    (
                        wire.memory.Remember,
                        pb.RememberRequest(
                            collection=collection,
                            memory=draft,
                            operation_id=f"{worker}-{number}",
                        ),
                    ),
                    (wire.memory.Check, pb.CheckRequest(collection=collection, memory=draft)),
                    (wire.memory.Recall, pb.RecallRequest(collection=collection, text=text)),
                    (wire.memory.Get, pb.GetRequest(collection=collection, ids=[known])),
                ]
            )
            try:
                answer = call(request, timeout=draw.choice([0.001, 0.003, 0.01, 0.03, 30]))
            except grpc.RpcError as error:
                codes.add(error.code())
                continue
            if isinstance(answer, pb.RememberResponse):
                saved.add(answer.memory_id)

    threads = [threading.Thread(target=load, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(wait_s(120))
    assert not any(thread.is_alive() for thread in threads)
    assert codes <= ALLOWED
    # Writer, readers and embedder still work, and what was acknowledged is there.
    assert wire.remember("Afterwards.", collection).saved
    ids = sorted(saved)
    got = wire.memory.Get(pb.GetRequest(collection=collection, ids=[known, *ids]), timeout=30)
    assert list(got.missing_ids) == []
    # gRPC itself logs an error when an answer finds its client gone.
    ours = [record for record in caplog.records if not record.name.startswith("grpc.")]
    assert not [record for record in ours if record.levelname == "ERROR"]
