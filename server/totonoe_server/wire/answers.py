"""Answers about memories, and the query of a Recall.

Recall is called most, and its answer is the largest: it is filled in place, by hand.
"""

from __future__ import annotations

import dataclasses

from totonoe.v1 import memory_service_pb2, types_pb2
from totonoe_core.base import limits
from totonoe_core.domain.commands import Applied
from totonoe_core.domain.graph import Linked, Unlinked
from totonoe_core.domain.memories import Checked, Forgotten, Remembered, Updated
from totonoe_core.domain.policy import DiversityPolicy
from totonoe_core.domain.queries import (
    Gotten,
    Hit,
    OtherMemory,
    Page,
    Recalled,
    RecallMode,
    RecallQuery,
)
from totonoe_core.domain.records import (
    Duplicate,
    ForgottenMatch,
    GuardReport,
    Judgement,
    LayerReport,
    OutdatedMatch,
    SimilarMemory,
)
from totonoe_server import advice
from totonoe_server.wire.mapping import HEADER, answer, encoder, outcome
from totonoe_server.wire.memories import (
    filter_from_wire,
    memory_into_wire,
    memory_to_wire,
)
from totonoe_server.wire.policy import overlaid
from totonoe_server.wire.scalars import (
    DIVERSITY_EFFECTS,
    RECALL_MODES,
    as_of_from_wire,
)

_judgement_to_wire = encoder(Judgement, types_pb2.Judgement)
_other_to_wire = encoder(OtherMemory, memory_service_pb2.OtherMemory)
duplicate_to_wire = encoder(Duplicate, types_pb2.Duplicate)
similar_to_wire = encoder(SimilarMemory, types_pb2.SimilarMemory)
layer_to_wire = encoder(LayerReport, types_pb2.LayerReport)
outdated_to_wire = encoder(OutdatedMatch, types_pb2.OutdatedMatch)
forgotten_match_to_wire = encoder(ForgottenMatch, types_pb2.ForgottenMatch)

_OF_GUARD = {field.name: f"guard.{field.name}" for field in dataclasses.fields(GuardReport)}
_ADVICE = advice.Advice._fields

remembered_to_wire = answer(
    Remembered,
    memory_service_pb2.RememberResponse,
    names=_OF_GUARD,
    computed={_ADVICE: advice.after_remember},
)
checked_to_wire = encoder(
    Checked,
    memory_service_pb2.CheckResponse,
    names=_OF_GUARD,
    given=("revision",),
    computed={_ADVICE: advice.after_check},
)
updated_to_wire = answer(
    Updated,
    memory_service_pb2.UpdateResponse,
    names={
        "duplicate": "guard.duplicate",
        "layers": "guard.layers",
        "question": "guard.question",
        "nearest": "guard.nearest",
    },
    computed={_ADVICE: advice.after_update},
)
linked_to_wire = answer(Linked, memory_service_pb2.LinkResponse)
unlinked_to_wire = answer(Unlinked, memory_service_pb2.UnlinkResponse)
_forgotten_to_wire = encoder(
    Forgotten,
    memory_service_pb2.ForgetResponse,
    names={"forgotten": "memories"},
    given=(*HEADER, "dry_run", "matching_count", "scaffold"),
    without=("advice",),
)
_gotten_to_wire = encoder(
    Gotten,
    memory_service_pb2.GetResponse,
    given=("memories",),
    computed={"advice": lambda value: advice.NOT_FOUND if value.missing_ids else ""},
)
_page_to_wire = encoder(Page, memory_service_pb2.ListResponse, given=("memories",))


def forgotten_to_wire(
    result: Forgotten, revision: int, applied: Applied | None, matching_count: int = 0
) -> memory_service_pb2.ForgetResponse:
    """Return the answer of a Forget; without `applied` that of a dry run.

    `matching_count` is the number of all memories that meet the filter of a dry run.
    """
    return _forgotten_to_wire(
        result,
        revision=revision,
        matching_count=matching_count,
        scaffold=advice.after_forget(len(result.memories) if applied else 0),
        **outcome(applied),
    )


def forget_applied_to_wire(applied: Applied) -> memory_service_pb2.ForgetResponse:
    """Return the answer of a Forget that was carried out."""
    (result,) = applied.results
    assert isinstance(result, Forgotten)
    return forgotten_to_wire(result, applied.revision, applied)


def gotten_to_wire(value: Gotten, include_vectors: bool) -> memory_service_pb2.GetResponse:
    """Return the answer of a Get."""
    memories = [memory_to_wire(memory, include_vectors) for memory in value.memories]
    return _gotten_to_wire(value, memories=memories)


def page_to_wire(value: Page, include_vectors: bool) -> memory_service_pb2.ListResponse:
    """Return the answer of a List."""
    memories = [memory_to_wire(memory, include_vectors) for memory in value.memories]
    return _page_to_wire(value, memories=memories)


def recall_from_wire(
    request: memory_service_pb2.RecallRequest, diversity: DiversityPolicy
) -> RecallQuery:
    """The query of a Recall; `diversity` is what its own fields are laid over."""
    named = request.HasField("diversity")
    return RecallQuery(
        agent_id=request.agent_id,
        text=request.text,
        vector=request.vector,
        k=request.k or limits.RECALL_K_DEFAULT,
        filter=filter_from_wire(request.filter),
        mode=RECALL_MODES.from_wire(request.mode, "mode", unset=RecallMode.HYBRID),
        diversity=overlaid(diversity, request, "diversity") if named else None,
        touch=not request.no_touch,
        as_of=as_of_from_wire(request),
        min_relevance=request.min_relevance,
        fold=request.fold,
    )


def recalled_to_wire(value: Recalled, include_vectors: bool) -> memory_service_pb2.RecallResponse:
    """Answer of a Recall."""
    message = memory_service_pb2.RecallResponse(
        revision=value.revision,
        arms=value.arms,
        degraded_because=value.degraded_because,
        vector_search=value.vector_search,
        filtered_count=value.filtered_count,
        as_of_revision=value.as_of_revision,
    )
    for hit in value.hits:
        _hit_into_wire(message.hits.add(), hit, include_vectors)
    return message


def _hit_into_wire(message: memory_service_pb2.Hit, value: Hit, include_vector: bool) -> None:
    """Fill an empty message with a hit and its reasons, in place as its memory."""
    memory_into_wire(message.memory, value.memory, include_vector)
    if value.cosine_similarity is not None:
        message.cosine_similarity = value.cosine_similarity
    if value.lexical_similarity is not None:
        message.lexical_similarity = value.lexical_similarity
    message.vector_rank = value.vector_rank
    message.lexical_rank = value.lexical_rank
    message.fused_rank = value.fused_rank
    message.diversity = DIVERSITY_EFFECTS.to_wire(value.diversity)
    message.effective_confidence = value.effective_confidence
    message.relevance = value.relevance
    message.context = value.context
    for hit in value.also:
        folded = message.also.add(judgement=_judgement_to_wire(hit.judgement))
        memory_into_wire(folded.memory, hit.memory, include_vector)
    message.also_count = value.also_count
    message.updated_by.extend(map(_other_to_wire, value.updated_by))
    message.contradicted_by.extend(map(_other_to_wire, value.contradicted_by))
    message.outdated.extend(map(_other_to_wire, value.outdated))
