"""Requests of both clients, made in one place.

Each method gives a `Prepared` call: where it goes, what is sent and how the answer is
read. The clients only differ in how they wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from totonoe import admin_models, audit_models, convert, convert_admin, models, scalars
from totonoe.drafts import (
    CheckFields,
    Draft,
    FilterFields,
    RememberFields,
    UpdateFields,
    Vector,
)
from totonoe.enums import Action, LinkType, RecallMode
from totonoe.errors import NotFound
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Prepared, new_operation_id
from totonoe.requests_admin import AdminRequests
from totonoe.requests_audit import AuditRequests
from totonoe.requests_cleanup import CleanupRequests
from totonoe.requests_consolidate import ConsolidateRequests
from totonoe.requests_graph import GraphRequests
from totonoe.requests_history import HistoryRequests
from totonoe.requests_tidy import TidyRequests
from totonoe.v1 import memory_service_pb2 as memory_pb
from totonoe.v1 import operations_pb2, types_pb2

REMEMBER_MANY_PATH = _MEMORY + "RememberMany"
HEALTH_PATH = "/grpc.health.v1.Health/Check"
# A HealthCheckResponse with status SERVING: its one field, 1, holds the number 1.
HEALTH_SERVING = b"\x08\x01"


def serialize(message: Message) -> bytes:
    """Bytes of a request."""
    return message.SerializeToString()


def health_call(channel: Any) -> Any:
    """The standard health check on a channel, with bytes in and out: its messages would
    need a package more. An empty request asks for the daemon as a whole."""
    return channel.unary_unary(HEALTH_PATH, request_serializer=None, response_deserializer=None)


def _action(value: Action | str | None, field: str) -> types_pb2.Action | None:
    return None if value is None else convert.ACTION.encode(value, field)


class Requests(
    AdminRequests,
    HistoryRequests,
    GraphRequests,
    CleanupRequests,
    AuditRequests,
    TidyRequests,
    ConsolidateRequests,
):
    """Makes requests with a client's agent, and its collection for calls that do not say."""

    def remember_item(self, draft: Draft) -> memory_pb.RememberRequest:
        """The request of one Remember, with an operation id."""
        return memory_pb.RememberRequest(
            collection=self._where(draft.collection),
            operation_id=draft.operation_id or new_operation_id(),
            agent_id=self._agent_id if draft.agent_id is None else draft.agent_id,
            memory=convert.encode_draft(draft),
            force=draft.force,
            on_update=_action(draft.on_update, "on_update"),
            on_contradiction=_action(draft.on_contradiction, "on_contradiction"),
            on_refinement=_action(draft.on_refinement, "on_refinement"),
            supersede_ids=scalars.encode_texts(draft.supersede_ids or (), "supersede_ids"),
        )

    def remember_prepared(self, request: memory_pb.RememberRequest) -> Prepared[models.Remembered]:
        """Remember, of a request that is there already."""
        return Prepared(
            _MEMORY + "Remember", request, memory_pb.RememberResponse, convert.decode_remembered
        )

    def remember(
        self,
        content: str,
        force: bool,
        operation_id: str,
        collection: str | None,
        fields: RememberFields,
    ) -> Prepared[models.Remembered]:
        """Remember."""
        draft = Draft(
            content, force=force, operation_id=operation_id, collection=collection, **fields
        )
        return self.remember_prepared(self.remember_item(draft))

    def check(
        self, content: str, collection: str | None, fields: CheckFields
    ) -> Prepared[models.Checked]:
        """Check."""
        draft = Draft(content, **fields)
        request = memory_pb.CheckRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            memory=convert.encode_draft(draft),
            supersede_ids=scalars.encode_texts(draft.supersede_ids or (), "supersede_ids"),
        )
        return Prepared(_MEMORY + "Check", request, memory_pb.CheckResponse, convert.decode_checked)

    def recall(
        self,
        text: str,
        vector: Vector,
        k: int,
        mode: RecallMode | str | None,
        diversity: admin_models.DiversityPolicy | None,
        include_vectors: bool,
        no_touch: bool,
        as_of: int | datetime | None,
        collection: str | None,
        conditions: FilterFields,
    ) -> Prepared[models.Recalled]:
        """Recall."""
        request = self._recall(text, vector, k, mode, diversity, collection, conditions)
        request.include_vectors, request.no_touch = include_vectors, no_touch
        moment = convert.encode_as_of(as_of)
        if moment is not None:
            request.as_of.CopyFrom(moment)
        return Prepared(
            _MEMORY + "Recall", request, memory_pb.RecallResponse, convert.decode_recalled
        )

    def why_not_recalled(
        self,
        memory_id: str,
        text: str,
        vector: Vector,
        k: int,
        mode: RecallMode | str | None,
        diversity: admin_models.DiversityPolicy | None,
        collection: str | None,
        conditions: FilterFields,
    ) -> Prepared[audit_models.WhyNot]:
        """WhyNot, with what Recall would be asked."""
        return self.why_not(
            memory_id, self._recall(text, vector, k, mode, diversity, collection, conditions)
        )

    def _recall(
        self,
        text: str,
        vector: Vector,
        k: int,
        mode: RecallMode | str | None,
        diversity: admin_models.DiversityPolicy | None,
        collection: str | None,
        conditions: FilterFields,
    ) -> memory_pb.RecallRequest:
        """What is looked for, and how."""
        return memory_pb.RecallRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            text=text,
            vector=b"" if vector is None else scalars.encode_vector(vector),
            k=k,
            filter=convert.encode_filter(conditions),
            mode=None if mode is None else convert.RECALL_MODE.encode(mode, "mode"),
            diversity=convert_admin.encode_policy(types_pb2.DiversityPolicy, diversity),
        )

    def get(
        self,
        ids: Iterable[str],
        include_vectors: bool,
        as_of: int | datetime | None,
        follow_superseded: bool,
        collection: str | None,
    ) -> Prepared[models.Found]:
        """Get of several ids."""
        request = memory_pb.GetRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            ids=scalars.encode_texts(ids, "ids"),
            include_vectors=include_vectors,
            as_of=convert.encode_as_of(as_of),
            follow_superseded=follow_superseded,
        )
        return Prepared(_MEMORY + "Get", request, memory_pb.GetResponse, convert.decode_found)

    def get_one(
        self,
        memory_id: str,
        include_vectors: bool,
        as_of: int | datetime | None,
        follow_superseded: bool,
        collection: str | None,
    ) -> Prepared[models.Memory]:
        """Get of one id, whose answer is the memory itself."""
        several = self.get([memory_id], include_vectors, as_of, follow_superseded, collection)

        def only(answer: memory_pb.GetResponse) -> models.Memory:
            if not answer.memories:
                raise NotFound(
                    f"memory {memory_id!r} not found", code="NOT_FOUND", reason="MEMORY_NOT_FOUND"
                )
            return convert.decode_memory(answer.memories[0])

        return Prepared(several.path, several.request, several.answer_type, only)

    def list(
        self,
        page_size: int,
        page_token: str,
        include_vectors: bool,
        as_of: int | datetime | None,
        collection: str | None,
        conditions: FilterFields,
    ) -> Prepared[models.Page]:
        """List."""
        request = memory_pb.ListRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            filter=convert.encode_filter(conditions),
            page_size=page_size,
            page_token=page_token,
            include_vectors=include_vectors,
            as_of=convert.encode_as_of(as_of),
        )
        return Prepared(_MEMORY + "List", request, memory_pb.ListResponse, convert.decode_page)

    def watch(
        self,
        after_revision: int | None,
        heartbeat_s: float,
        collection: str | None,
        conditions: FilterFields,
    ) -> operations_pb2.WatchRequest:
        """Watch."""
        return operations_pb2.WatchRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            after_revision=after_revision,
            filter=convert.encode_filter(conditions),
            heartbeat_s=heartbeat_s,
        )

    def update(
        self,
        memory_id: str,
        expected_revision: int,
        reason: str,
        force: bool,
        operation_id: str,
        collection: str | None,
        fields: UpdateFields,
    ) -> Prepared[models.Updated]:
        """Update; the mask is what `fields` names."""
        memory, paths = convert.encode_update(fields)
        request = memory_pb.UpdateRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            memory_id=memory_id,
            memory=memory,
            update_mask=FieldMask(paths=paths),
            expected_revision=expected_revision,
            reason=reason,
            force=force,
        )
        return Prepared(
            _MEMORY + "Update", request, memory_pb.UpdateResponse, convert.decode_updated
        )

    def forget(
        self,
        ids: str | Iterable[str],
        reason: str,
        dry_run: bool,
        expected_revisions: Mapping[str, int] | None,
        operation_id: str,
        collection: str | None,
        conditions: FilterFields,
    ) -> Prepared[models.Forgotten]:
        """Forget of one id or several, or a dry run of a filter."""
        named = scalars.encode_ids(ids, "ids")
        if conditions and (named or not dry_run):
            raise ValueError("conditions: allowed: without ids and with dry_run=True")
        request = memory_pb.ForgetRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            ids=named,
            reason=reason,
            dry_run=dry_run,
            filter=convert.encode_filter(conditions),
            expected_revisions=expected_revisions,
        )
        return Prepared(
            _MEMORY + "Forget", request, memory_pb.ForgetResponse, convert.decode_forgotten
        )

    def link(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkType | str | None,
        confidence: float | None,
        note: str,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[models.Linked]:
        """Link."""
        request = memory_pb.LinkRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            source_id=source_id,
            target_id=target_id,
            type=None if link_type is None else convert.LINK_TYPE.encode(link_type, "link_type"),
            confidence=confidence,
            note=note,
        )
        return Prepared(_MEMORY + "Link", request, memory_pb.LinkResponse, convert.decode_linked)

    def unlink(
        self,
        source_id: str,
        target_id: str,
        link_type: LinkType | str | None,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[models.Unlinked]:
        """Unlink."""
        request = memory_pb.UnlinkRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            source_id=source_id,
            target_id=target_id,
            type=None if link_type is None else convert.LINK_TYPE.encode(link_type, "link_type"),
        )
        return Prepared(
            _MEMORY + "Unlink", request, memory_pb.UnlinkResponse, convert.decode_unlinked
        )
