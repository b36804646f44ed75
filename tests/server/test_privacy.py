"""No answer to one agent names another agent's private memory, or quotes it.

Ann's memories are private from the start, or were public, linked, cited, kept in an episode, the
head of a chain, and turned private. Ben makes every call there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from support.items import Stream
from support.transfers import file_of, header
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import (
    audit_pb2,
    cleanup_pb2,
    consolidate_pb2,
    graph_pb2,
    questions_pb2,
    reembed_pb2,
    snapshot_pb2,
    tidy_pb2,
    transfer_pb2,
    types_pb2,
)
from totonoe.v1 import memory_service_pb2 as pb
from totonoe.v1 import operations_pb2 as ops

SECRET = "Zanzibar"
UNKNOWN = "mem_" + "0" * 16
KEY = {"subject": "api", "attribute": "port"}


@dataclass
class Scene:
    """A collection of ann's and ben's; `hidden` are the ids of what ben may not see."""

    wire: Any
    collection: str
    ids: dict[str, str]
    episode: str
    revision: int

    @property
    def hidden(self) -> tuple[str, ...]:
        return tuple(self.ids[name] for name in ("born", "turned", "head", "waiting"))

    def call(self, name: str, request: Message) -> list[Message]:
        """All messages of a call by ben; of a Watch up to the first heartbeat."""
        stub = getattr(self.wire.memory, name, None) or getattr(self.wire.admin, name)
        if name == "RememberMany":
            for item in request.items:
                item.collection, item.agent_id = self.collection, "ben"
            return list(stub(iter([request]), timeout=20))
        if name == "Multiplex":
            inner = getattr(request, request.WhichOneof("call"))
            inner.collection, inner.agent_id = self.collection, "ben"
            with Stream(self.wire.channel) as stream:
                stream.put(request)
                return [stream.response(request.id)]
        if name == "Import":
            # Of ann's public texts, as anybody could write them down.
            began = transfer_pb2.ImportStart(collection=self.collection, agent_id="ben")
            first = transfer_pb2.ImportRequest(start=began)
            return list(stub(iter([first, request]), timeout=20))
        where = request.recall if name == "WhyNot" else request
        if name != "DeleteSnapshot":
            where.collection = self.collection
        if name != "ListSnapshots":
            where.agent_id = "ben"
        answer = stub(request, timeout=20)
        if name in ("Consolidate", "Tidy", "Export"):
            return list(answer)
        if name != "Watch":
            return [answer]
        told = []
        for message in answer:
            if message.HasField("heartbeat"):
                answer.cancel()
                break
            told.append(message)
        return told


def set_private(wire: Any, collection: str, memory_id: str) -> None:
    request = pb.UpdateRequest(
        collection=collection, agent_id="ann", memory_id=memory_id, memory={"private": True}
    )
    request.update_mask.paths.append("private")
    wire.memory.Update(request, timeout=20)


@pytest.fixture
def scene(wire: Any) -> Iterator[Scene]:
    collection = wire.collection()
    ids: dict[str, str] = {}

    def save(name: str, content: str, agent_id: str = "ann", **draft: Any) -> str:
        answer = wire.remember(content, collection, agent_id=agent_id, force=True, **draft)
        ids[name] = answer.memory_id
        return ids[name]

    born = save(
        "born", f"The pump of {SECRET} is hot.", private=True, external_id="s1", namespace=[SECRET]
    )
    turned = save("turned", f"The valve of {SECRET} is cold.", external_id="s2", tags=["x"])
    save("old", "The port is 8080.", "ben", key=KEY)
    save("head", f"The port of {SECRET} is 9090.", key=KEY)
    save("citing", "The pump and the valve differ.", evidence_ids=[born, turned, UNKNOWN])
    save("other", "Ada likes green tea.", "ben")
    save("third", "Ada likes black tea.", "ben", tags=["x"])
    save("gone", "Rain fell in April.", "ben")
    wire.admin.UpdateCollection(
        admin_pb.UpdateCollectionRequest(
            name=collection,
            collection={"guard": {"review_from": "SOURCE_EXTERNAL"}},
            update_mask={"paths": ["guard.review_from"]},
        ),
        timeout=20,
    )
    save("waiting", f"The fair of {SECRET} opens.", private=True, source="SOURCE_EXTERNAL")
    save("rumour", "The fair opens in May.", "ben", source="SOURCE_EXTERNAL")
    for source, target in (("citing", born), ("citing", turned), ("other", turned)):
        wire.memory.Link(
            pb.LinkRequest(
                collection=collection, agent_id="ann", source_id=ids[source], target_id=target
            ),
            timeout=20,
        )
    wire.memory.Link(
        pb.LinkRequest(
            collection=collection, agent_id="ben", source_id=ids["citing"], target_id=ids["other"]
        ),
        timeout=20,
    )
    made = wire.memory.CreateEpisode(
        graph_pb2.CreateEpisodeRequest(
            collection=collection,
            agent_id="ann",
            episode={"summary": "A day.", "memory_ids": [born, turned, ids["citing"]]},
        ),
        timeout=20,
    )
    wire.memory.CreateEpisode(
        graph_pb2.CreateEpisodeRequest(
            collection=collection,
            agent_id="ann",
            episode={"summary": f"{SECRET}.", "memory_ids": [ids["other"]], "private": True},
        ),
        timeout=20,
    )
    for memory_id in (turned, ids["head"]):
        set_private(wire, collection, memory_id)
    wire.memory.Forget(
        pb.ForgetRequest(
            collection=collection, agent_id="ann", ids=[turned], reason=f"no {SECRET}"
        ),
        timeout=20,
    )
    answer = wire.memory.Undo(
        ops.UndoRequest(
            collection=collection,
            agent_id="ann",
            target_revision=made.revision + 4,
            reason=f"{SECRET} again",
        ),
        timeout=20,
    )
    yield Scene(wire, collection, ids, made.episode.id, answer.revision)


def every_status() -> types_pb2.Filter:
    values = [status for status in types_pb2.Status.values() if status]
    return types_pb2.Filter(statuses=values)


Build = Callable[[Scene], Message]


# In an order in which each finds something to do.
def a_snapshot(scene: Scene) -> str:
    request = snapshot_pb2.ListSnapshotsRequest(collection=scene.collection)
    (found,) = scene.wire.admin.ListSnapshots(request, timeout=20).snapshots
    return str(found.id)


CALLS: list[tuple[str, Build]] = [
    ("Recall", lambda _: pb.RecallRequest(text="pump valve port", k=100)),
    ("Recall", lambda _: pb.RecallRequest(text=SECRET, k=100)),
    ("Recall", lambda _: pb.RecallRequest(text="pump valve", as_of={"revision": 6})),
    ("Get", lambda s: pb.GetRequest(ids=[*public(s)])),
    ("Get", lambda s: pb.GetRequest(ids=[s.ids["old"]], follow_superseded=True)),
    ("Get", lambda s: pb.GetRequest(ids=[*public(s)], as_of={"revision": s.revision})),
    ("Get", lambda s: pb.GetRequest(ids=["ext:s1", "ext:s2", s.ids["old"]])),
    ("List", lambda _: pb.ListRequest(filter=every_status())),
    ("List", lambda _: pb.ListRequest(filter=every_status(), as_of={"revision": 10})),
    ("Neighbors", lambda s: graph_pb2.NeighborsRequest(ids=[s.ids["citing"]], depth=5)),
    ("Neighbors", lambda s: graph_pb2.NeighborsRequest(ids=[s.ids["other"]], depth=5)),
    *(
        ("History", lambda s, name=name: ops.HistoryRequest(memory_id=s.ids[name]))
        for name in ("old", "citing", "other")
    ),
    ("ListOperations", lambda _: ops.ListOperationsRequest()),
    ("ListOperations", lambda s: ops.ListOperationsRequest(memory_id=s.ids["citing"])),
    ("ListOperations", lambda _: ops.ListOperationsRequest(reason_contains=SECRET)),
    ("Watch", lambda _: ops.WatchRequest(after_revision=0, heartbeat_s=1)),
    ("Watch", lambda _: ops.WatchRequest(after_revision=0, filter=every_status())),
    ("GetEpisode", lambda s: graph_pb2.GetEpisodeRequest(id=s.episode, include_memories=True)),
    ("ListEpisodes", lambda _: graph_pb2.ListEpisodesRequest()),
    ("ListEpisodes", lambda s: graph_pb2.ListEpisodesRequest(memory_id=s.ids["citing"])),
    ("Stats", lambda _: admin_pb.StatsRequest()),
    ("CreateSnapshot", lambda _: snapshot_pb2.CreateSnapshotRequest()),
    ("ListSnapshots", lambda _: snapshot_pb2.ListSnapshotsRequest()),
    (
        "RestoreSnapshot",
        lambda s: snapshot_pb2.RestoreSnapshotRequest(snapshot_id=a_snapshot(s)),
    ),
    ("DeleteSnapshot", lambda s: snapshot_pb2.DeleteSnapshotRequest(snapshot_id=a_snapshot(s))),
    ("Check", lambda _: pb.CheckRequest(memory={"content": f"The pump of {SECRET} is hot."})),
    ("Check", lambda _: pb.CheckRequest(memory={"content": f"The pump of {SECRET} was hot."})),
    ("Remember", lambda _: draft(f"The pump of {SECRET} is hot.")),
    ("Remember", lambda _: draft("The port is 7070.", key=KEY)),
    (
        "RememberMany",
        lambda _: pb.RememberManyRequest(
            items=[{"memory": {"content": f"The valve of {SECRET} is cold."}}]
        ),
    ),
    ("Multiplex", lambda _: pb.MultiplexRequest(recall={"text": "pump valve port", "k": 50})),
    (
        "Multiplex",
        lambda _: pb.MultiplexRequest(check={"memory": {"content": "The valve is cold."}}),
    ),
    (
        "CreateEpisode",
        lambda s: graph_pb2.CreateEpisodeRequest(
            episode={"summary": "Tea.", "memory_ids": [s.ids["citing"], s.ids["old"]]}
        ),
    ),
    ("Update", lambda s: update(s.ids["citing"], importance=5)),
    ("Unlink", lambda s: pb.UnlinkRequest(source_id=s.ids["citing"], target_id=s.ids["other"])),
    ("Link", lambda s: pb.LinkRequest(source_id=s.ids["citing"], target_id=s.ids["other"])),
    (
        "Merge",
        lambda s: graph_pb2.MergeRequest(
            keep_id=s.ids["other"], remove_ids=[s.ids["citing"]], content="Ada likes tea."
        ),
    ),
    (
        "Consolidate",
        lambda _: consolidate_pb2.ConsolidateRequest(
            window_hours=0, distance_below=0.5, max_merge_candidates=0
        ),
    ),
    (
        "WhyNot",
        lambda s: pb.WhyNotRequest(
            memory_id=s.ids["third"], recall=pb.RecallRequest(text="pump valve tea")
        ),
    ),
    (
        "WhyNot",
        lambda s: pb.WhyNotRequest(
            memory_id=s.ids["citing"], recall=pb.RecallRequest(text="pump valve")
        ),
    ),
    (
        "Dismiss",
        lambda s: audit_pb2.DismissRequest(id_a=s.ids["other"], id_b=s.ids["third"]),
    ),
    (
        "Undismiss",
        lambda s: audit_pb2.UndismissRequest(id_a=s.ids["other"], id_b=s.ids["third"]),
    ),
    ("ListNamespaces", lambda _: pb.ListNamespacesRequest(filter={"statuses": [1, 2, 3, 4, 5]})),
    ("ListQuestions", lambda _: questions_pb2.ListQuestionsRequest()),
    (
        "Resolve",
        lambda s: questions_pb2.ResolveRequest(
            memory_id=s.ids["other"], other_id=s.ids["third"], answer="ANSWER_DIFFERENT"
        ),
    ),
    (
        "Review",
        lambda s: questions_pb2.ReviewRequest(
            memory_id=s.ids["rumour"], answer="REVIEW_ANSWER_CONFIRM"
        ),
    ),
    ("CancelReembed", lambda _: reembed_pb2.CancelReembedRequest()),
    ("Audit", lambda _: audit_pb2.AuditRequest(confidence_below=0.9)),
    ("CleanUpDuplicates", lambda _: cleanup_pb2.CleanUpDuplicatesRequest()),
    ("CleanUpDuplicates", lambda _: cleanup_pb2.CleanUpDuplicatesRequest(apply=True)),
    ("Decay", lambda _: cleanup_pb2.DecayRequest()),
    ("Decay", lambda _: cleanup_pb2.DecayRequest(close_below=0.99, dry_run=True)),
    ("RecordTurn", lambda _: tidy_pb2.RecordTurnRequest()),
    ("Tidy", lambda _: tidy_pb2.TidyRequest(plan=True, distance_below=0.5)),
    ("Tidy", lambda _: tidy_pb2.TidyRequest(apply=True)),
    (
        "ApplyTidyPlan",
        lambda s: tidy_pb2.ApplyTidyPlanRequest(
            plan={
                "state_updates": [
                    {"op": "TIDY_OP_CLOSE", "state_id": s.ids["third"], "reason": "said above"}
                ]
            }
        ),
    ),
    ("EndSession", lambda _: cleanup_pb2.EndSessionRequest(by=cleanup_pb2.GROUP_BY_AGENT)),
    ("Export", lambda _: transfer_pb2.ExportRequest()),
    ("Export", lambda _: transfer_pb2.ExportRequest(include_vectors=True)),
    (
        "Import",
        lambda _: imported(
            memory_line("0", content=f"The pump of {SECRET} is hot.", agent_id="ann"),
            memory_line("1", content=f"The pump of {SECRET} was hot.", agent_id="ann"),
            memory_line("2", content="Snow.", agent_id="ann", external_id="s1"),
        ),
    ),
    ("Undo", lambda _: ops.UndoRequest(target_revision=5, dry_run=True)),
    ("Undo", lambda _: ops.UndoRequest(target_revision=5, partial=True)),
    ("Forget", lambda _: pb.ForgetRequest(filter=every_but_forgotten(), dry_run=True)),
    ("Forget", lambda s: pb.ForgetRequest(ids=[s.ids["other"], s.ids["third"]])),
    ("Check", lambda _: pb.CheckRequest(memory={"content": "Ada likes black tea."})),
    ("DeleteEpisode", lambda s: graph_pb2.DeleteEpisodeRequest(id=s.episode)),
    ("Purge", lambda s: admin_pb.PurgeRequest(ids=[s.ids["gone"]], dry_run=True)),
    ("Purge", lambda s: admin_pb.PurgeRequest(ids=[s.ids["gone"], s.ids["old"]])),
    ("Watch", lambda _: ops.WatchRequest(after_revision=0, heartbeat_s=1)),
    ("ListOperations", lambda _: ops.ListOperationsRequest()),
    ("List", lambda _: pb.ListRequest(filter=every_status())),
    ("ListEpisodes", lambda _: graph_pb2.ListEpisodesRequest()),
]


def memory_line(number: str, **fields: Any) -> dict[str, Any]:
    made = {"id": "mem_" + 15 * "0" + number, "created_us": 1, "updated_us": 1}
    return {"record": "memory", **made, **fields}


def imported(*lines: dict[str, Any]) -> transfer_pb2.ImportRequest:
    return transfer_pb2.ImportRequest(data=file_of([header(), *lines]), last=True)


def public(scene: Scene) -> list[str]:
    return [scene.ids[name] for name in ("old", "citing", "other", "third", "gone")]


def draft(content: str, **fields: Any) -> pb.RememberRequest:
    return pb.RememberRequest(memory={"content": content, **fields})


def update(memory_id: str, **fields: Any) -> pb.UpdateRequest:
    request = pb.UpdateRequest(memory_id=memory_id, memory=fields)
    request.update_mask.paths.extend(fields)
    return request


def every_but_forgotten() -> types_pb2.Filter:
    gone = (types_pb2.STATUS_UNSPECIFIED, types_pb2.STATUS_FORGOTTEN)
    return types_pb2.Filter(
        statuses=[status for status in types_pb2.Status.values() if status not in gone]
    )


def without_farewells(message: Message) -> Message:
    """A message of a Watch without what left the watcher's sight: its id, and nothing else."""
    if not isinstance(message, ops.WatchResponse):
        return message
    kept = ops.WatchResponse()
    kept.CopyFrom(message)
    stay = [
        change
        for change in message.change.memories
        if change.type != ops.CHANGE_TYPE_FORGOTTEN or change.HasField("memory")
    ]
    del kept.change.memories[:]
    kept.change.memories.extend(stay)
    return kept


@pytest.mark.both_stores
def test_every_call_names_and_quotes_nothing_hidden(scene: Scene) -> None:
    mine: list[str] = []
    for number, (name, build) in enumerate(CALLS):
        request = build(scene)
        for message in map(without_farewells, scene.call(name, request)):
            said = str(message)
            where = f"{number}: {name} {request}"
            assert not [text for text in scene.hidden if text in said], where
            # What ben said himself is told to him again.
            if name in ("Remember", "RememberMany", "Import"):
                mine.append(said)
            elif not mine:
                assert SECRET not in said, where


def test_every_call_is_tried() -> None:
    services = pb.DESCRIPTOR.services_by_name["MemoryService"].methods
    assert {descriptor.name for descriptor in services} <= {name for name, _ in CALLS}
    assert {"Export", "Import"} <= {name for name, _ in CALLS}


NAMING: list[tuple[str, Callable[[Scene, str], Message]]] = [
    ("Get", lambda _, i: pb.GetRequest(ids=[i])),
    ("Get", lambda _, i: pb.GetRequest(ids=[i], as_of={"revision": 6})),
    ("Neighbors", lambda s, i: graph_pb2.NeighborsRequest(ids=[s.ids["other"], i])),
    ("History", lambda _, i: ops.HistoryRequest(memory_id=i)),
    ("ListOperations", lambda _, i: ops.ListOperationsRequest(memory_id=i)),
    ("ListEpisodes", lambda _, i: graph_pb2.ListEpisodesRequest(memory_id=i)),
    ("Update", lambda _, i: update(i, importance=5)),
    ("Update", lambda _, i: update(i, private=False)),
    ("Forget", lambda _, i: pb.ForgetRequest(ids=[i])),
    ("Forget", lambda _, i: pb.ForgetRequest(ids=[i], dry_run=True)),
    ("Link", lambda s, i: pb.LinkRequest(source_id=s.ids["other"], target_id=i)),
    ("Unlink", lambda s, i: pb.UnlinkRequest(source_id=s.ids["other"], target_id=i)),
    ("Merge", lambda s, i: graph_pb2.MergeRequest(keep_id=s.ids["other"], remove_ids=[i])),
    ("Merge", lambda s, i: graph_pb2.MergeRequest(keep_id=i, remove_ids=[s.ids["other"]])),
    ("Purge", lambda _, i: admin_pb.PurgeRequest(ids=[i])),
    (
        "Review",
        lambda _, i: questions_pb2.ReviewRequest(memory_id=i, answer="REVIEW_ANSWER_REJECT"),
    ),
    (
        "Remember",
        lambda _, i: pb.RememberRequest(memory={"content": "New."}, supersede_ids=[i]),
    ),
    ("Check", lambda _, i: pb.CheckRequest(memory={"content": "New."}, supersede_ids=[i])),
    (
        "CreateEpisode",
        lambda _, i: graph_pb2.CreateEpisodeRequest(episode={"summary": "x", "memory_ids": [i]}),
    ),
]


def test_what_is_hidden_is_as_if_it_were_not_there(scene: Scene, read_failure: Any) -> None:
    def refused(name: str, request: Message) -> Any:
        with pytest.raises(grpc.RpcError) as caught:
            scene.call(name, request)
        return read_failure(caught.value)

    for name, build in NAMING:
        unknown = refused(name, build(scene, UNKNOWN))
        assert unknown.reason == "MEMORY_NOT_FOUND", (name, unknown)
        for hidden in scene.hidden:
            failure = refused(name, build(scene, hidden))
            failure.message = failure.message.replace(hidden, UNKNOWN)
            failure.details = {key: UNKNOWN if value == hidden else value
                               for key, value in failure.details.items()}  # fmt: skip
            assert failure == unknown, name
    # An operation on nothing but hidden ones: the first made one.
    failure = refused("Undo", ops.UndoRequest(target_revision=1, dry_run=True))
    assert failure.reason == "OPERATION_NOT_FOUND"


def test_another_agent_may_not_change_who_sees_a_memory(scene: Scene, fails: Any) -> None:
    request = update(scene.ids["citing"], private=True)
    request.collection, request.agent_id = scene.collection, "ben"
    failure = fails(scene.wire.memory.Update, request)
    assert (failure.code, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER")
    assert failure.details["memory_id"] == scene.ids["citing"]


def test_external_id_of_a_hidden_memory_is_as_free_as_any(wire: Any) -> None:
    """Ben's calls are answered alike, whether ann's private memory has the id or another."""

    def answers(external_id: str) -> list[str]:
        collection = wire.collection()
        wire.remember(
            "Ann is shy.", collection, agent_id="ann", private=True, external_id=external_id
        )
        public = wire.remember("Ann is kind.", collection, agent_id="ann").memory_id
        scene = Scene(wire, collection, {}, "", 0)
        told: list[str] = []
        for name, request in (
            ("Check", pb.CheckRequest(memory={"content": "Ben reads.", "external_id": "x"})),
            ("Get", pb.GetRequest(ids=["ext:x"])),
            ("Update", update(public, external_id="x")),
            ("Update", update(public, external_id="")),
            ("Remember", draft("Ben reads.", external_id="x", evidence_ids=["ext:x"])),
            ("Remember", draft("Ben writes.", external_id="x", private=True)),
            ("Update", update("ext:x", private=True)),
            ("RememberMany", pb.RememberManyRequest(items=[draft("Ada.", external_id="x")])),
            ("Update", update("ext:x", private=False)),
            ("Forget", pb.ForgetRequest(ids=["ext:x"])),
            ("Get", pb.GetRequest(ids=["ext:x"])),
            ("Undo", ops.UndoRequest(target_revision=8)),
            ("Get", pb.GetRequest(ids=["ext:x"], as_of={"revision": 3})),
            ("List", pb.ListRequest(filter=every_status())),
        ):
            try:
                told += [str(message) for message in scene.call(name, request)]
            except grpc.RpcError as error:
                told.append(f"{error.code()} {error.details()}")
        return told

    def bare(told: list[str]) -> list[str]:
        """Without ids, and times, which are of each collection's own."""
        text = re.sub(r"op_[0-9a-f]+|seconds: \d+|nanos: \d+", "", "\0".join(told))
        for number, name in enumerate(dict.fromkeys(re.findall(r"mem_[0-9a-f]+", text))):
            text = text.replace(name, f"mem {number}")
        return text.split("\0")

    hidden, free = answers("x"), answers("y")
    assert bare(hidden) == bare(free)
    assert "EXTERNAL" not in free[4]
