"""Policies, models and collections: wire <-> records."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from google.protobuf.message import Message

from totonoe.v1 import admin_service_pb2, types_pb2
from totonoe_core.commands import Calibrate, ChangeSettings, CollectionInfo
from totonoe_core.errors import InvalidArgument
from totonoe_core.guard import calibration, policy
from totonoe_core.records import ModelIdentity
from totonoe_server.codec import ACTIONS, PRESETS, TOKENIZERS, EnumTable, required, time_to_wire

Setting = str | float | bool | None

_PARTS = {
    "guard": tuple(item.name for item in fields(policy.GuardPolicy)),
    "diversity": tuple(item.name for item in fields(policy.DiversityPolicy)),
    "decay": tuple(item.name for item in fields(policy.DecayPolicy)),
    "retention": tuple(item.name for item in fields(policy.RetentionPolicy)),
    "blast": tuple(item.name for item in fields(policy.BlastPolicy)),
    "tidy": tuple(item.name for item in fields(policy.TidyPolicy)),
}
"""Parts of a collection's settings and their fields, as records and wire both name them."""
_PATHS = frozenset(
    {"description", *_PARTS}
    | {f"{part}.{name}" for part, names in _PARTS.items() for name in names}
)

_ENUMS: dict[str, EnumTable[Any]] = {
    "tokenizer": TOKENIZERS,
    "on_duplicate": ACTIONS,
    "on_update": ACTIONS,
    "on_contradiction": ACTIONS,
    "on_refinement": ACTIONS,
}

_P = TypeVar(
    "_P",
    policy.DiversityPolicy,
    policy.DecayPolicy,
    policy.RetentionPolicy,
    policy.BlastPolicy,
    policy.TidyPolicy,
)


def guard_from_wire(holder: Message) -> policy.GuardPolicy:
    """The preset that `guard` of a request names, overlaid with the fields that are set."""
    base = policy.PRESETS[_preset(holder)]
    return replace(base, **_set_fields(holder, "guard"), preset=base.preset)


def overlaid(base: _P, holder: Message, part: str) -> _P:
    """`base` with the fields of the policy message `part` that are set."""
    return replace(base, **_set_fields(holder, part))


def changes_from_wire(request: admin_service_pb2.UpdateCollectionRequest) -> ChangeSettings:
    """The command of an UpdateCollection.

    Changes stand in one order whatever the order of the mask: a whole part before its
    fields and the preset before what refines it, so that equal masks are equal commands.

    Raises
    ------
    InvalidArgument
        MISSING_FIELD (`collection`), BAD_UPDATE_MASK, UNKNOWN_ENUM.
    """
    required(request.HasField("collection"), "collection")
    paths = request.update_mask.paths
    wrong = [path for path in paths[: len(_PATHS) + 1] if path not in _PATHS]
    if wrong or not 0 < len(paths) <= len(_PATHS):
        raise InvalidArgument(
            "BAD_UPDATE_MASK",
            field="update_mask",
            got=repr(wrong[0][:64]) if wrong else f"{len(paths)} paths",
            allowed=", ".join(sorted(_PATHS)),
        )
    changes: list[tuple[str, Setting]] = []
    if "description" in paths:
        changes.append(("description", request.collection.description))
    for part in _PARTS:
        changes.extend(_part_changes(request.collection, part, set(paths)))
    return ChangeSettings(
        agent_id=request.agent_id,
        changes=tuple(changes),
        expected_revision=request.expected_revision,
        reason=request.reason,
    )


def calibrate_from_wire(request: admin_service_pb2.CalibrateRequest) -> Calibrate:
    """The command of a Calibrate."""
    budget = calibration.FALSE_MERGE_BUDGET
    if request.HasField("false_merge_budget"):
        budget = request.false_merge_budget
    return Calibrate(request.agent_id, budget)


def _part_changes(
    collection: types_pb2.Collection, part: str, paths: set[str]
) -> list[tuple[str, Setting]]:
    values = _set_fields(collection, part)
    changes: list[tuple[str, Setting]] = []
    if part == "guard" and not paths.isdisjoint({"guard", "guard.preset"}):
        changes.append(("guard.preset", _preset(collection).value))
    for name in _PARTS[part]:
        path = f"{part}.{name}"
        if path == "guard.preset":
            continue
        # Of a whole guard the preset has set what is absent; elsewhere `None` takes an
        # absent field back to its default, or switches a threshold off.
        if path in paths or (part in paths and (part != "guard" or name in values)):
            changes.append((path, values.get(name)))
    return changes


def _preset(holder: Message) -> policy.Preset:
    guard: types_pb2.GuardPolicy = holder.guard  # type: ignore[attr-defined]
    return PRESETS.from_wire(guard.preset, "guard.preset", unset=policy.Preset.STANDARD)


def _set_fields(holder: Message, part: str) -> dict[str, Any]:
    """Fields of a policy message that are set, as the records hold them."""
    message: Message = getattr(holder, part)
    values = {}
    for name in _PARTS[part]:
        if name == "preset":
            continue
        if name in _ENUMS:
            # Not said leaves it to the preset: robotmem's own is not the general default.
            number: int = getattr(message, name)
            if number:
                values[name] = _ENUMS[name].from_wire(number, f"guard.{name}")
        elif message.HasField(name):
            values[name] = getattr(message, name)
    return values


def guard_to_wire(value: policy.GuardPolicy) -> types_pb2.GuardPolicy:
    """All thresholds that are on."""
    return types_pb2.GuardPolicy(
        preset=PRESETS.to_wire(value.preset),
        exact=value.exact,
        jaccard_above=value.jaccard_above,
        cosine_distance_below=value.cosine_distance_below,
        cosine_at_least=value.cosine_at_least,
        session_cosine_at_least=value.session_cosine_at_least,
        judged_from=value.judged_from,
        similar_above=value.similar_above,
        link_distance_below=value.link_distance_below,
        tokenizer=TOKENIZERS.to_wire(value.tokenizer),
        on_duplicate=ACTIONS.to_wire(value.on_duplicate),
        on_update=ACTIONS.to_wire(value.on_update),
        on_contradiction=ACTIONS.to_wire(value.on_contradiction),
        on_refinement=ACTIONS.to_wire(value.on_refinement),
        refuse_forgotten=value.refuse_forgotten,
    )


def diversity_to_wire(value: policy.DiversityPolicy) -> types_pb2.DiversityPolicy:
    """All fields, defaults too."""
    return types_pb2.DiversityPolicy(**{name: getattr(value, name) for name in _PARTS["diversity"]})


def decay_to_wire(value: policy.DecayPolicy) -> types_pb2.DecayPolicy:
    """All fields, defaults too, but for rates that kinds do not have of their own."""
    return types_pb2.DecayPolicy(**{name: getattr(value, name) for name in _PARTS["decay"]})


def retention_to_wire(value: policy.RetentionPolicy) -> types_pb2.RetentionPolicy:
    """All fields, defaults too."""
    return types_pb2.RetentionPolicy(**{name: getattr(value, name) for name in _PARTS["retention"]})


def blast_to_wire(value: policy.BlastPolicy) -> types_pb2.BlastPolicy:
    """All fields, defaults too."""
    return types_pb2.BlastPolicy(**{name: getattr(value, name) for name in _PARTS["blast"]})


def tidy_to_wire(value: policy.TidyPolicy) -> types_pb2.TidyPolicy:
    """All fields, defaults too."""
    return types_pb2.TidyPolicy(**{name: getattr(value, name) for name in _PARTS["tidy"]})


def model_to_wire(value: ModelIdentity | None) -> types_pb2.EmbeddingModel | None:
    """A model's identity; no model stays absent."""
    if value is None:
        return None
    return types_pb2.EmbeddingModel(
        name=value.name,
        version=value.version,
        weights_sha256=value.weights_sha256,
        dimension=value.dimension,
    )


def collection_to_wire(value: CollectionInfo) -> types_pb2.Collection:
    """Settings of a collection."""
    return types_pb2.Collection(
        name=value.name,
        description=value.description,
        guard=guard_to_wire(value.guard),
        diversity=diversity_to_wire(value.diversity),
        decay=decay_to_wire(value.decay),
        retention=retention_to_wire(value.retention),
        blast=blast_to_wire(value.blast),
        tidy=tidy_to_wire(value.tidy),
        model=model_to_wire(value.model),
        created_time=time_to_wire(value.created_us),
        revision=value.revision,
        settings_revision=value.settings_revision,
        calibration=calibration_to_wire(calibration.effective(value.calibration, value.model)),
    )


def calibration_to_wire(value: calibration.Calibration | None) -> types_pb2.Calibration | None:
    """How the verdict was fitted; not at all stays absent."""
    if value is None:
        return None
    return types_pb2.Calibration(
        model=model_to_wire(value.model),
        false_merge_budget=value.false_merge_budget,
        false_merge_rate=value.false_merge_rate,
        duplicate_recall=value.duplicate_recall,
        pair_count=value.pair_count,
        created_time=time_to_wire(value.created_us),
    )
