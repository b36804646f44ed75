"""Settings of a collection as a message, and what is read of a GetCollection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from totonoe.call.lazily import collections_models as models
from totonoe.v1 import admin_service_pb2 as admin_pb
from totonoe.v1 import types_pb2
from totonoe.wire.mapping import decoder, encode
from totonoe.wire.scalars import encode_texts


def encode_settings(
    description: str | None, policies: Mapping[str, Any], unset: Iterable[str]
) -> tuple[types_pb2.Collection, list[str]]:
    """Makes the message of new settings, and their mask.

    A field that is said is put into the mask alone, so that the others stay as they are;
    the preset comes first, so that fields said beside it win over its values. Paths in
    `unset` go into the mask without a value.
    """
    paths = [] if description is None else ["description"]
    for prefix, policy in policies.items():
        # `preset` is the first field of its policy, and the daemon goes by this order.
        names = [field.name for field in fields(policy)] if policy is not None else []
        paths += [f"{prefix}.{name}" for name in names if getattr(policy, name) is not None]
    paths += [path for path in encode_texts(unset, "unset") if path not in paths]
    return encode(types_pb2.Collection, {"description": description, **policies}), paths


def collection_of(answer: admin_pb.GetCollectionResponse) -> models.CollectionInfo:
    """Reads the collection of an answer, which holds nothing else."""
    return decoder(models.CollectionInfo, types_pb2.Collection)(answer.collection)
