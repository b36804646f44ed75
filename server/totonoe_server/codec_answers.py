"""Answers of the engine -> wire, and the two queries that have a message of their own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypedDict

from totonoe.v1 import (
    admin_service_pb2,
    checkpoint_pb2,
    memory_service_pb2,
    tidy_pb2,
    types_pb2,
    verify_pb2,
)
from totonoe_core import limits
from totonoe_core.commands import (
    Applied,
    Calibrated,
    Forgotten,
    Linked,
    Remembered,
    Unlinked,
    Updated,
)
from totonoe_core.guard.policy import DiversityPolicy, Preset
from totonoe_core.queries import (
    Checked,
    CheckpointFigures,
    CollectionStats,
    Comparison,
    Gotten,
    Hit,
    OpenFigures,
    Page,
    Recalled,
    RecallMode,
    RecallQuery,
)
from totonoe_core.records import (
    Duplicate,
    ForgottenMatch,
    GuardReport,
    Judgement,
    LayerReport,
    Method,
    SimilarMemory,
)
from totonoe_core.tidy import TidyState
from totonoe_core.verified import Verified
from totonoe_server.codec import (
    DIVERSITY_EFFECTS,
    FINDINGS,
    METHODS,
    PRESETS,
    RECALL_MODES,
    VERDICTS,
    as_of_from_wire,
    time_to_wire,
)
from totonoe_server.codec_memory import filter_from_wire, link_to_wire, memory_to_wire
from totonoe_server.codec_policy import calibration_to_wire, model_to_wire, overlaid
from totonoe_server.codec_reembed import reembed_stats_to_wire


class GuardParts(TypedDict):
    """The fields that every answer of the guard shares."""

    duplicate: types_pb2.Duplicate | None
    method: types_pb2.Method
    similarity: float
    similar: list[types_pb2.SimilarMemory]
    layers: list[types_pb2.LayerReport]
    verdict: types_pb2.Verdict
    forgotten: types_pb2.ForgottenMatch | None


def guard_parts(report: GuardReport) -> GuardParts:
    """What the guard found, as keyword arguments of an answer."""
    return {
        "duplicate": duplicate_to_wire(report.duplicate),
        "method": METHODS.to_wire(report.method),
        "similarity": report.similarity,
        "similar": [similar_to_wire(item) for item in report.similar],
        "layers": [layer_to_wire(item) for item in report.layers],
        "verdict": (
            types_pb2.VERDICT_UNSPECIFIED
            if report.verdict is None
            else VERDICTS.to_wire(report.verdict)
        ),
        "forgotten": forgotten_match_to_wire(report.forgotten),
    }


def forgotten_match_to_wire(value: ForgottenMatch | None) -> types_pb2.ForgottenMatch | None:
    """The forgotten memory that said the same; none stays absent."""
    if value is None:
        return None
    return types_pb2.ForgottenMatch(
        memory_id=value.memory_id,
        age=value.age,
        snippet=value.snippet,
        reason=value.reason,
        agent_id=value.agent_id,
        revision=value.revision,
    )


def duplicate_to_wire(value: Duplicate | None) -> types_pb2.Duplicate | None:
    """The memory that says the same; none stays absent."""
    if value is None:
        return None
    return types_pb2.Duplicate(
        memory_id=value.memory_id,
        age=value.age,
        snippet=value.snippet,
        similarity=value.similarity,
        method=METHODS.to_wire(value.method),
        judgement=judgement_to_wire(value.judgement),
    )


def judgement_to_wire(value: Judgement | None) -> types_pb2.Judgement | None:
    """A verdict with its ground; none stays absent."""
    if value is None:
        return None
    return types_pb2.Judgement(
        verdict=VERDICTS.to_wire(value.verdict),
        confidence=value.confidence,
        evidence=[
            types_pb2.Evidence(
                finding=FINDINGS.to_wire(one.finding),
                own=_span(one.own),
                other=_span(one.other),
                own_text=one.own_text,
                other_text=one.other_text,
            )
            for one in value.evidence
        ],
    )


def _span(value: tuple[int, int]) -> types_pb2.Span | None:
    start, end = value
    return types_pb2.Span(start=start, end=end) if end else None


def similar_to_wire(value: SimilarMemory) -> types_pb2.SimilarMemory:
    """A near memory."""
    return types_pb2.SimilarMemory(
        memory_id=value.memory_id,
        cosine_similarity=value.cosine_similarity,
        jaccard_similarity=value.jaccard_similarity,
        snippet=value.snippet,
        age=value.age,
        same_text=value.same_text,
        judgement=judgement_to_wire(value.judgement),
    )


def layer_to_wire(value: LayerReport) -> types_pb2.LayerReport:
    """What one layer did."""
    return types_pb2.LayerReport(
        layer=METHODS.to_wire(value.layer),
        ran=value.ran,
        skipped_because=value.skipped_because,
        best_similarity=value.best_similarity,
    )


def remembered_to_wire(applied: Applied) -> memory_service_pb2.RememberResponse:
    """Answer of a Remember."""
    (result,) = applied.results
    assert isinstance(result, Remembered)
    return memory_service_pb2.RememberResponse(
        revision=applied.revision,
        saved=result.saved,
        memory_id=result.memory_id,
        links=[link_to_wire(link) for link in result.links],
        superseded_ids=result.superseded_ids,
        grown_id=result.grown_id,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
        **guard_parts(result.guard),
    )


def checked_to_wire(value: Checked) -> memory_service_pb2.CheckResponse:
    """Answer of a Check."""
    return memory_service_pb2.CheckResponse(
        revision=value.revision,
        would_save=value.would_save,
        grown_id=value.grown_id,
        **guard_parts(value.guard),
    )


def updated_to_wire(applied: Applied) -> memory_service_pb2.UpdateResponse:
    """Answer of an Update."""
    (result,) = applied.results
    assert isinstance(result, Updated)
    guard = result.guard
    return memory_service_pb2.UpdateResponse(
        revision=applied.revision,
        updated=result.updated,
        memory=memory_to_wire(result.memory),
        duplicate=duplicate_to_wire(guard.duplicate) if guard else None,
        layers=[layer_to_wire(item) for item in guard.layers] if guard else (),
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def forgotten_to_wire(
    result: Forgotten, revision: int, applied: Applied | None, matching_count: int = 0
) -> memory_service_pb2.ForgetResponse:
    """Answer of a Forget; of a dry run without `applied`, of one by filter with the number of
    all that meet it."""
    return memory_service_pb2.ForgetResponse(
        revision=revision,
        forgotten=[memory_to_wire(memory) for memory in result.memories],
        missing_ids=result.missing_ids,
        unlinked_count=result.unlinked_count,
        dry_run=applied is None,
        replayed=applied is not None and applied.replayed,
        operation_id=applied.operation_id if applied else "",
        matching_count=matching_count,
    )


def linked_to_wire(applied: Applied) -> memory_service_pb2.LinkResponse:
    """Answer of a Link."""
    (result,) = applied.results
    assert isinstance(result, Linked)
    return memory_service_pb2.LinkResponse(
        revision=applied.revision,
        link=link_to_wire(result.link),
        inverse=link_to_wire(result.inverse),
        created=result.created,
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def unlinked_to_wire(applied: Applied) -> memory_service_pb2.UnlinkResponse:
    """Answer of an Unlink."""
    (result,) = applied.results
    assert isinstance(result, Unlinked)
    return memory_service_pb2.UnlinkResponse(
        revision=applied.revision,
        removed=[link_to_wire(link) for link in result.removed],
        replayed=applied.replayed,
        operation_id=applied.operation_id,
    )


def gotten_to_wire(value: Gotten, include_vectors: bool) -> memory_service_pb2.GetResponse:
    """Answer of a Get."""
    return memory_service_pb2.GetResponse(
        revision=value.revision,
        memories=[memory_to_wire(memory, include_vectors) for memory in value.memories],
        missing_ids=value.missing_ids,
        redirects=dict(value.redirects),
        as_of_revision=value.as_of_revision,
    )


def page_to_wire(value: Page, include_vectors: bool) -> memory_service_pb2.ListResponse:
    """Answer of a List."""
    return memory_service_pb2.ListResponse(
        revision=value.revision,
        memories=[memory_to_wire(memory, include_vectors) for memory in value.memories],
        next_page_token=value.next_page_token,
        as_of_revision=value.as_of_revision,
    )


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
    )


def recalled_to_wire(value: Recalled, include_vectors: bool) -> memory_service_pb2.RecallResponse:
    """Answer of a Recall."""
    return memory_service_pb2.RecallResponse(
        revision=value.revision,
        hits=[hit_to_wire(hit, include_vectors) for hit in value.hits],
        arms=value.arms,
        degraded_because=value.degraded_because,
        vector_search=value.vector_search,
        filtered_count=value.filtered_count,
        as_of_revision=value.as_of_revision,
    )


def hit_to_wire(value: Hit, include_vector: bool) -> memory_service_pb2.Hit:
    """One hit with its reasons."""
    return memory_service_pb2.Hit(
        memory=memory_to_wire(value.memory, include_vector),
        cosine_similarity=value.cosine_similarity,
        lexical_similarity=value.lexical_similarity,
        vector_rank=value.vector_rank,
        lexical_rank=value.lexical_rank,
        fused_rank=value.fused_rank,
        diversity=DIVERSITY_EFFECTS.to_wire(value.diversity),
        effective_confidence=value.effective_confidence,
    )


def calibrated_to_wire(value: Applied) -> admin_service_pb2.CalibrateResponse:
    """Answer of a Calibrate."""
    (result,) = value.results
    assert isinstance(result, Calibrated)
    found = result.fitted
    return admin_service_pb2.CalibrateResponse(
        calibration=calibration_to_wire(found.calibration),
        curve=[
            admin_service_pb2.CurvePoint(
                at_least=point.at_least,
                false_merge_rate=point.false_merge_rate,
                duplicate_recall=point.duplicate_recall,
            )
            for point in found.curve
        ],
        classes=[
            admin_service_pb2.ClassFigures(
                name=one.name,
                language=one.language,
                same_count=one.same_count,
                found_count=one.found_count,
                different_count=one.different_count,
                merged_count=one.merged_count,
            )
            for one in found.classes
        ],
        replayed=value.replayed,
        dismissed_count=found.dismissed_count,
        merged_count=found.merged_count,
        operation_id=value.operation_id,
        revision=value.revision,
    )


def comparison_to_wire(value: Comparison) -> admin_service_pb2.CompareResponse:
    """Answer of a Compare."""
    return admin_service_pb2.CompareResponse(
        same_text=value.same_text,
        same_words=value.same_words,
        cosine_similarity=value.cosine_similarity,
        jaccard_similarity=value.jaccard_similarity,
        presets=[
            admin_service_pb2.PresetOutcome(
                preset=PRESETS.to_wire(Preset(item.preset)),
                refuses=item.refuses,
                method=METHODS.to_wire(Method(item.method)),
            )
            for item in value.presets
        ],
        model=model_to_wire(value.model),
        judgement=judgement_to_wire(value.judgement),
    )


def open_to_wire(figures: OpenFigures) -> admin_service_pb2.OpenCollections:
    """What is open."""
    return admin_service_pb2.OpenCollections(**asdict(figures))


def collection_stats_to_wire(value: CollectionStats) -> admin_service_pb2.CollectionStats:
    """Figures of one collection."""
    return admin_service_pb2.CollectionStats(
        name=value.name,
        active_count=value.active_count,
        revision=value.revision,
        total_count=value.total_count,
        forgotten_count=value.forgotten_count,
        link_count=value.link_count,
        saved_count=value.saved_count,
        refused_counts=value.refused_counts,
        recall_count=value.recall_count,
        hnsw_count=value.hnsw_count,
        recall_at_k=value.recall_at_k,
        recall_rated_count=value.recall_rated_count,
        file_bytes=value.file_bytes,
        array_bytes=value.array_bytes,
        state=value.state,
        queue_length=value.queue_length,
        kind_counts=value.kind_counts,
        tidy=tidy_stats_to_wire(value.tidy),
        reembed=reembed_stats_to_wire(value.reembed),
        verify=verified_to_wire(value.verified),
        checkpoint=checkpoint_to_wire(value.checkpoint),
    )


def verified_to_wire(value: Verified) -> verify_pb2.VerifyStats:
    """What is known of the soundness of a collection."""
    return verify_pb2.VerifyStats(
        bad_row_counts=value.bad_row_counts,
        bad_memory_ids=value.bad_memory_ids,
        begun_time=time_to_wire(value.begun_us),
        ended_time=time_to_wire(value.ended_us),
        row_count=value.row_count,
        damage_count=value.damage_count,
        index_mismatch_count=value.index_mismatch_count,
        reindexed_count=value.reindexed_count,
    )


def checkpoint_to_wire(value: CheckpointFigures) -> checkpoint_pb2.CheckpointStats:
    """Figures of checkpoints."""
    return checkpoint_pb2.CheckpointStats(
        revision=value.revision,
        time=time_to_wire(value.saved_us or None),
        bytes=value.bytes,
        opened_from_revision=value.opened_from_revision,
        replayed_count=value.replayed_count,
        opening_s=value.opening_s,
        bad_count=value.bad_count,
    )


def tidy_stats_to_wire(value: TidyState) -> tidy_pb2.TidyStats:
    """Figures of tidying."""
    return tidy_pb2.TidyStats(
        turn_count=value.turns,
        run_count=value.runs,
        closed_count=value.closed,
        last_time=time_to_wire(value.last_us),
        last_over_blast_radius=value.over,
    )
