"""Policies, models and collections: presets, overlays, masks, Calibrate."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from google.protobuf.message import Message

from totonoe.v1 import admin_service_pb2, types_pb2
from totonoe_core.base.errors import InvalidArgument
from totonoe_core.domain import calibration, policy
from totonoe_core.domain.collections import (
    Calibrate,
    ChangeSettings,
    CollectionInfo,
    SettingsChanged,
)
from totonoe_core.domain.queries import CollectionPage
from totonoe_core.domain.records import ModelIdentity
from totonoe_server.wire.mapping import answer, decoder, encoder
from totonoe_server.wire.scalars import PRESETS, TABLES, required

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

_P = TypeVar(
    "_P",
    policy.DiversityPolicy,
    policy.DecayPolicy,
    policy.RetentionPolicy,
    policy.BlastPolicy,
    policy.TidyPolicy,
)


def guard_from_wire(holder: Message) -> policy.GuardPolicy:
    """The preset that `guard` of a request names, overlaid with the fields that are set.

    A `shown_from` that is not set goes down with `likely_from`.
    """
    base = policy.PRESETS[_preset(holder)]
    named = _set_fields(holder, "guard")
    made = replace(base, **named, preset=base.preset)
    return made if "shown_from" in named else made.in_order()


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
        kind = message.DESCRIPTOR.fields_by_name[name].enum_type
        if kind is not None:
            # Not said leaves it to the preset: robotmem's own is not the general default.
            number: int = getattr(message, name)
            if number:
                values[name] = TABLES[kind.full_name].from_wire(number, f"guard.{name}")
        elif message.HasField(name):
            values[name] = getattr(message, name)
    return values


guard_to_wire = encoder(policy.GuardPolicy, types_pb2.GuardPolicy)
model_to_wire = encoder(ModelIdentity, types_pb2.EmbeddingModel)
calibration_to_wire = encoder(calibration.Calibration, types_pb2.Calibration)


def _calibration(value: CollectionInfo) -> types_pb2.Calibration | None:
    """Return how the verdict was fitted to the model that the collection has."""
    found = calibration.effective(value.calibration, value.model)
    return None if found is None else calibration_to_wire(found)


collection_to_wire = encoder(
    CollectionInfo, types_pb2.Collection, computed={"calibration": _calibration}
)
collections_to_wire = encoder(CollectionPage, admin_service_pb2.ListCollectionsResponse)
settings_changed_to_wire = answer(SettingsChanged, admin_service_pb2.UpdateCollectionResponse)
calibrate_from_wire = decoder(
    admin_service_pb2.CalibrateRequest,
    Calibrate,
    defaults={"false_merge_budget": calibration.FALSE_MERGE_BUDGET},
    without=("dry_run",),
)
