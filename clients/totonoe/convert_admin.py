"""Messages of the admin service and their models, both ways side by side.

As in `totonoe.convert`: `encode_*` raise `ValueError` or `TypeError`, `decode_*` do not fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf.message import Message

from totonoe import admin_models as models
from totonoe import scalars
from totonoe.convert import ACTION, METHOD, decode_judgement, decode_optional_time
from totonoe.enums import Preset, ReembedPhase, Tokenizer
from totonoe.scalars import EnumCodec
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import checkpoint_pb2 as checkpoint_pb
from totonoe.v1 import reembed_pb2, types_pb2
from totonoe.v1 import verify_pb2 as verify_pb

PRESET = EnumCodec(Preset, types_pb2.Preset, "PRESET_")
TOKENIZER = EnumCodec(Tokenizer, types_pb2.Tokenizer, "TOKENIZER_")

REEMBED_PHASE = EnumCodec(ReembedPhase, reembed_pb2.ReembedPhase, "REEMBED_PHASE_")

_POLICY_ENUMS: dict[str, EnumCodec[Any]] = {
    "preset": PRESET,
    "tokenizer": TOKENIZER,
    "on_duplicate": ACTION,
    "on_update": ACTION,
    "on_contradiction": ACTION,
    "on_refinement": ACTION,
}

Policy = (
    models.GuardPolicy
    | models.DiversityPolicy
    | models.DecayPolicy
    | models.RetentionPolicy
    | models.BlastPolicy
    | models.TidyPolicy
)
M = TypeVar("M", bound=Message)
D = TypeVar(
    "D",
    models.GuardPolicy,
    models.DiversityPolicy,
    models.DecayPolicy,
    models.RetentionPolicy,
    models.BlastPolicy,
    models.TidyPolicy,
)


# -- policies: models and messages have the same field names


def encode_policy(message_type: type[M], policy: Policy | None) -> M | None:
    """The message of a policy's fields that are said, `None` for no policy."""
    if policy is None:
        return None
    encoded = {}
    for field in fields(policy):
        value = getattr(policy, field.name)
        if value is not None:
            codec = _POLICY_ENUMS.get(field.name)
            encoded[field.name] = codec.encode(value, field.name) if codec else value
    return message_type(**encoded)


def _decode_policy(model_type: type[D], message: Any) -> D:
    values: dict[str, Any] = {}
    for field in fields(model_type):
        codec = _POLICY_ENUMS.get(field.name)
        if codec:
            values[field.name] = codec.decode_optional(getattr(message, field.name))
        elif message.HasField(field.name):
            values[field.name] = getattr(message, field.name)
    return model_type(**values)


def encode_settings(
    description: str | None,
    guard: models.GuardPolicy | None,
    diversity: models.DiversityPolicy | None,
    decay: models.DecayPolicy | None,
    retention: models.RetentionPolicy | None,
    blast: models.BlastPolicy | None,
    tidy: models.TidyPolicy | None,
    unset: Iterable[str],
) -> tuple[types_pb2.Collection, list[str]]:
    """New settings of a collection and their mask.

    A field that is said is put into the mask alone, so that the others stay as they are;
    the preset comes first, so that fields said beside it win over its values. Paths in
    `unset` go into the mask without a value.
    """
    paths = [] if description is None else ["description"]
    policies: dict[str, Policy | None] = {
        "guard": guard,
        "diversity": diversity,
        "decay": decay,
        "retention": retention,
        "blast": blast,
        "tidy": tidy,
    }
    for prefix, policy in policies.items():
        # `preset` is the first field of its policy, and the daemon goes by this order.
        names = [field.name for field in fields(policy)] if policy is not None else []
        paths += [f"{prefix}.{name}" for name in names if getattr(policy, name) is not None]
    paths += [path for path in scalars.encode_texts(unset, "unset") if path not in paths]
    settings = types_pb2.Collection(
        description=description or "",
        guard=encode_policy(types_pb2.GuardPolicy, guard),
        diversity=encode_policy(types_pb2.DiversityPolicy, diversity),
        decay=encode_policy(types_pb2.DecayPolicy, decay),
        retention=encode_policy(types_pb2.RetentionPolicy, retention),
        blast=encode_policy(types_pb2.BlastPolicy, blast),
        tidy=encode_policy(types_pb2.TidyPolicy, tidy),
    )
    return settings, paths


# -- collections


def decode_model(message: types_pb2.EmbeddingModel) -> models.EmbeddingModel:
    """Identity of an embedding model."""
    return models.EmbeddingModel(
        name=message.name,
        version=message.version,
        weights_sha256=message.weights_sha256,
        dimension=message.dimension,
    )


def decode_collection(message: types_pb2.Collection) -> models.CollectionInfo:
    """A collection's settings."""
    return models.CollectionInfo(
        name=message.name,
        description=message.description,
        guard=_decode_policy(models.GuardPolicy, message.guard),
        diversity=_decode_policy(models.DiversityPolicy, message.diversity),
        decay=_decode_policy(models.DecayPolicy, message.decay),
        model=decode_model(message.model),
        created_time=scalars.decode_time(message.created_time),
        revision=message.revision,
        settings_revision=message.settings_revision,
        calibration=(
            _decode_calibration(message.calibration) if message.HasField("calibration") else None
        ),
        retention=_decode_policy(models.RetentionPolicy, message.retention),
        blast=_decode_policy(models.BlastPolicy, message.blast),
        tidy=_decode_policy(models.TidyPolicy, message.tidy),
    )


def _decode_calibration(message: types_pb2.Calibration) -> models.Calibration:
    created = message.HasField("created_time")
    return models.Calibration(
        model=decode_model(message.model),
        false_merge_budget=message.false_merge_budget,
        false_merge_rate=message.false_merge_rate,
        duplicate_recall=message.duplicate_recall,
        pair_count=message.pair_count,
        created_time=scalars.decode_time(message.created_time) if created else None,
    )


def decode_calibrated(answer: admin_pb.CalibrateResponse) -> models.Calibrated:
    """Answer of Calibrate."""
    return models.Calibrated(
        calibration=_decode_calibration(answer.calibration),
        curve=tuple(
            models.CurvePoint(one.at_least, one.false_merge_rate, one.duplicate_recall)
            for one in answer.curve
        ),
        classes=tuple(
            models.ClassFigures(
                name=one.name,
                language=one.language,
                same_count=one.same_count,
                found_count=one.found_count,
                different_count=one.different_count,
                merged_count=one.merged_count,
            )
            for one in answer.classes
        ),
        dismissed_count=answer.dismissed_count,
        merged_count=answer.merged_count,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_change(
    answer: admin_pb.CreateCollectionResponse | admin_pb.UpdateCollectionResponse,
) -> models.CollectionChange:
    """Answer of CreateCollection and UpdateCollection."""
    return models.CollectionChange(
        collection=decode_collection(answer.collection),
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


def decode_got(answer: admin_pb.GetCollectionResponse) -> models.CollectionInfo:
    """Answer of GetCollection."""
    return decode_collection(answer.collection)


def decode_collections(answer: admin_pb.ListCollectionsResponse) -> models.CollectionPage:
    """Answer of ListCollections."""
    return models.CollectionPage(
        collections=tuple(decode_collection(item) for item in answer.collections),
        next_page_token=answer.next_page_token,
        revision=answer.revision,
    )


def decode_deleted(answer: admin_pb.DeleteCollectionResponse) -> models.CollectionDeleted:
    """Answer of DeleteCollection."""
    return models.CollectionDeleted(
        active_count=answer.active_count,
        revision=answer.revision,
        replayed=answer.replayed,
        operation_id=answer.operation_id,
    )


# -- comparison and figures


def decode_comparison(answer: admin_pb.CompareResponse) -> models.Comparison:
    """Answer of Compare."""
    has_cosine = answer.HasField("cosine_similarity")
    return models.Comparison(
        same_text=answer.same_text,
        same_words=answer.same_words,
        cosine_similarity=answer.cosine_similarity if has_cosine else None,
        jaccard_similarity=answer.jaccard_similarity,
        presets=tuple(
            models.PresetOutcome(
                preset=PRESET.decode(item.preset),
                refuses=item.refuses,
                method=METHOD.decode(item.method),
            )
            for item in answer.presets
        ),
        model=decode_model(answer.model),
        judgement=decode_judgement(answer),
    )


def _decode_reembed_stats(message: reembed_pb2.ReembedStats) -> models.ReembedStats | None:
    if not message.model:
        return None
    progress = message.progress
    return models.ReembedStats(
        model=message.model,
        phase=REEMBED_PHASE.decode(progress.phase),
        done_count=progress.done_count,
        total_count=progress.total_count,
        per_second=progress.per_second,
        left_s=progress.left_s,
        failure=message.failure,
    )


def _decode_figures(message: admin_pb.CollectionStats) -> models.CollectionStats:
    last = message.tidy.last_time
    return models.CollectionStats(
        name=message.name,
        active_count=message.active_count,
        revision=message.revision,
        total_count=message.total_count,
        forgotten_count=message.forgotten_count,
        link_count=message.link_count,
        saved_count=message.saved_count,
        refused_counts=dict(message.refused_counts),
        recall_count=message.recall_count,
        hnsw_count=message.hnsw_count,
        recall_at_k=message.recall_at_k,
        recall_rated_count=message.recall_rated_count,
        file_bytes=message.file_bytes,
        array_bytes=message.array_bytes,
        state=message.state,
        queue_length=message.queue_length,
        kind_counts=dict(message.kind_counts),
        reembed=_decode_reembed_stats(message.reembed),
        tidy=models.TidyStats(
            turn_count=message.tidy.turn_count,
            run_count=message.tidy.run_count,
            closed_count=message.tidy.closed_count,
            last_time=scalars.decode_time(last) if message.tidy.HasField("last_time") else None,
            last_over_blast_radius=message.tidy.last_over_blast_radius,
        ),
        verify=_decode_verify(message.verify),
        checkpoint=_decode_checkpoint(message.checkpoint),
    )


def _decode_verify(message: verify_pb.VerifyStats) -> models.VerifyStats:
    def time(name: str) -> datetime | None:
        return scalars.decode_time(getattr(message, name)) if message.HasField(name) else None

    return models.VerifyStats(
        bad_row_counts=dict(message.bad_row_counts),
        bad_memory_ids=tuple(message.bad_memory_ids),
        begun_time=time("begun_time"),
        ended_time=time("ended_time"),
        row_count=message.row_count,
        damage_count=message.damage_count,
        index_mismatch_count=message.index_mismatch_count,
        reindexed_count=message.reindexed_count,
    )


def _decode_checkpoint(message: checkpoint_pb.CheckpointStats) -> models.CheckpointStats:
    return models.CheckpointStats(
        revision=message.revision,
        time=scalars.decode_time(message.time) if message.HasField("time") else None,
        bytes=message.bytes,
        opened_from_revision=message.opened_from_revision,
        replayed_count=message.replayed_count,
        opening_s=message.opening_s,
        bad_count=message.bad_count,
    )


def decode_stats(answer: admin_pb.StatsResponse) -> models.Stats:
    """Answer of Stats."""
    return models.Stats(
        collections=tuple(_decode_figures(item) for item in answer.collections),
        version=answer.version,
        started_time=scalars.decode_time(answer.started_time),
        cpu_s=answer.cpu_s,
        embedder_cpu_s=answer.embedder_cpu_s,
        rss_bytes=answer.rss_bytes,
        model=decode_model(answer.model),
        embedder_state=answer.embedder_state,
        collection_count=answer.collection_count,
        revision=answer.revision,
        open=models.OpenCollections(
            count=answer.open.count,
            idle_closed_count=answer.open.idle_closed_count,
            memory_bytes=answer.open.memory_bytes,
            memory_budget_bytes=answer.open.memory_budget_bytes,
        ),
        snapshots=models.SnapshotStats(
            count=answer.snapshots.count,
            file_bytes=answer.snapshots.file_bytes,
            newest_time=decode_optional_time(answer.snapshots, "newest_time"),
            scheduled_count=answer.snapshots.scheduled_count,
            failed_count=answer.snapshots.failed_count,
        ),
    )
