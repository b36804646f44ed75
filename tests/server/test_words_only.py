"""A daemon without an embedder: texts without vectors over the wire, and what their answers say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import reembed_pb2, snapshot_pb2, types_pb2

LAYERS = (
    types_pb2.METHOD_EXACT,
    types_pb2.METHOD_JACCARD,
    types_pb2.METHOD_COSINE,
)


@pytest.fixture
def wordy(open_wire: Any, tmp_path: Path) -> Iterator[Any]:
    with open_wire(data_dir=tmp_path / "data", embedder="none") as wire:
        yield wire


def test_text_is_saved_and_each_layer_says_whether_it_ran(wordy: Any) -> None:
    saved = wordy.remember("Gripper force is 12.5 N.", "")
    assert saved.saved
    layers = {layer.layer: layer for layer in saved.layers}
    assert [layers[method].ran for method in LAYERS] == [True, True, False]
    assert "has no model" in layers[LAYERS[2]].skipped_because
    assert "re-embedding" in layers[LAYERS[2]].skipped_because
    again = wordy.remember("GRIPPER force is 12.5 N!", "")
    assert (again.saved, again.memory_id) == (False, saved.memory_id)
    memory = wordy.memory.Get(
        pb.GetRequest(ids=[saved.memory_id], include_vectors=True), timeout=10
    ).memories[0]
    assert memory.vector == b""


def test_stream_takes_texts_with_and_without_vectors_in_order(wordy: Any) -> None:
    vector = np.array([1, 0, 0], "<f4").tobytes()
    items = []
    for number in range(20):
        text = f"Sensor {number} stands in hall {number * 7}."
        items.append({"memory": {"content": text, "vector": vector if number % 3 == 2 else b""}})
        items.append({"memory": {"content": text.upper(), "vector": vector if number % 2 else b""}})
    message = pb.RememberManyRequest(items=items)
    (answer,) = wordy.memory.RememberMany(iter([message]), timeout=60)
    for first, second in zip(answer.results[::2], answer.results[1::2], strict=True):
        assert first.answer.saved
        assert not second.answer.saved
        assert second.answer.memory_id == first.answer.memory_id


def test_recall_says_that_it_goes_by_words(wordy: Any, fails: Any) -> None:
    saved = wordy.remember("Gripper force is 12.5 N.", "")
    answer = wordy.memory.Recall(pb.RecallRequest(text="which force"), timeout=10)
    (hit,) = answer.hits
    assert (hit.memory.id, list(answer.arms)) == (saved.memory_id, ["lexical"])
    assert not hit.HasField("cosine_similarity")
    assert "has no model" in answer.degraded_because
    asked = pb.RecallRequest(text="which force", mode=pb.RECALL_MODE_VECTOR)
    assert fails(wordy.memory.Recall, asked).reason == "VECTOR_REQUIRED"


def test_reembed_without_an_embedder_is_refused(wordy: Any) -> None:
    wordy.remember("Gripper force is 12.5 N.", "")
    with pytest.raises(grpc.RpcError) as caught:
        list(wordy.admin.Reembed(reembed_pb2.ReembedRequest(), timeout=10))
    assert "runs no embedder" in caught.value.details()


def test_snapshot_of_texts_without_vectors_is_restored(wordy: Any) -> None:
    wordy.remember("Gripper force is 12.5 N.", "")
    made = wordy.admin.CreateSnapshot(snapshot_pb2.CreateSnapshotRequest(name="s"), timeout=10)
    request = snapshot_pb2.RestoreSnapshotRequest(snapshot_id=made.snapshot.id, collection="copy")
    wordy.admin.RestoreSnapshot(request, timeout=10)
    answer = wordy.memory.Recall(pb.RecallRequest(collection="copy", text="force"), timeout=10)
    assert len(answer.hits) == 1
    assert not wordy.remember("gripper force is 12.5 N", "copy").saved
    stats = wordy.admin.Stats(admin_pb.StatsRequest(), timeout=10)
    assert stats.embedder_state == "none"
