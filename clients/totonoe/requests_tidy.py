"""Requests about tidying: turns, runs, plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from totonoe import convert_tidy, tidy_models
from totonoe.prepared import MEMORY_SERVICE as _MEMORY
from totonoe.prepared import Caller, Prepared, new_operation_id
from totonoe.v1 import tidy_pb2 as pb

Plan = str | Mapping[str, Any] | Iterable[tidy_models.TidyUpdate]
"""A plan: its JSON form as text or as an object, or its updates."""


class TidyRequests(Caller):
    """What is asked about tidying a collection."""

    def record_turn(
        self, operation_id: str, collection: str | None
    ) -> Prepared[tidy_models.TurnRecorded]:
        """RecordTurn."""
        request = pb.RecordTurnRequest(
            collection=self._where(collection),
            agent_id=self._agent_id,
            operation_id=operation_id or new_operation_id(),
        )
        return Prepared(
            _MEMORY + "RecordTurn", request, pb.RecordTurnResponse, convert_tidy.decode_recorded
        )

    def tidy(
        self,
        apply: bool,
        plan: bool,
        reason: str,
        distance_below: float | None,
        clusters_max: int,
        page_token: str,
        operation_id: str,
        collection: str | None,
    ) -> pb.TidyRequest:
        """Tidy."""
        return pb.TidyRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            apply=apply,
            reason=reason,
            plan=plan,
            distance_below=distance_below,
            clusters_max=clusters_max,
            page_token=page_token,
        )

    def apply_tidy_plan(
        self,
        plan: Plan,
        only: Iterable[int],
        reason: str,
        operation_id: str,
        collection: str | None,
    ) -> Prepared[tidy_models.PlanApplied]:
        """ApplyTidyPlan, in the form that the plan is given in."""
        request = pb.ApplyTidyPlanRequest(
            collection=self._where(collection),
            operation_id=operation_id or new_operation_id(),
            agent_id=self._agent_id,
            only=list(only),
            reason=reason,
        )
        if isinstance(plan, str):
            request.plan_json = plan
        elif isinstance(plan, Mapping):
            request.plan_json = json.dumps(dict(plan), ensure_ascii=False)
        else:
            request.plan.CopyFrom(convert_tidy.encode_plan(plan))
        return Prepared(
            _MEMORY + "ApplyTidyPlan",
            request,
            pb.ApplyTidyPlanResponse,
            convert_tidy.decode_applied,
        )
