"""Plans of a tidy, in the forms that callers hand in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from totonoe.tidy.models import TidyUpdate
from totonoe.v1 import tidy_pb2
from totonoe.wire.mapping import encode

Plan: TypeAlias = str | Mapping[str, Any] | Iterable[TidyUpdate]
"""A plan: its JSON form as text or as an object, or its updates."""


def encode_plan(plan: Plan) -> Mapping[str, Any]:
    """The field of a request that takes a plan, in the form that the plan is given in.

    Raises `ValueError` or `TypeError` that name the field.
    """
    if isinstance(plan, str):
        return {"plan_json": plan}
    if isinstance(plan, Mapping):
        return {"plan_json": json.dumps(dict(plan), ensure_ascii=False)}
    updates = [_encode_update(update, f"plan[{at}]") for at, update in enumerate(plan)]
    return {"plan": tidy_pb2.TidyPlan(state_updates=updates)}


def _encode_update(update: TidyUpdate, field: str) -> tidy_pb2.TidyUpdate:
    if not isinstance(update, TidyUpdate):
        raise TypeError(f"{field}: got a {type(update).__name__}, allowed: a TidyUpdate")
    values = {item.name: getattr(update, item.name) for item in fields(update)}
    # The default is an empty mapping, which is not sent.
    values["payload"] = update.payload or None
    return encode(tidy_pb2.TidyUpdate, values, field)
