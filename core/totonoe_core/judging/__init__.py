"""An optional judge for pairs that the verdict cannot decide, called off the writer's thread."""

from totonoe_core.judging.hearing import Hearing
from totonoe_core.judging.protocol import Judge, JudgeFailed, Opinion, Pair, Relation
from totonoe_core.judging.service import JudgingService, open_service
from totonoe_core.judging.settings import JudgeSettings

__all__ = [
    "Hearing",
    "Judge",
    "JudgeFailed",
    "JudgeSettings",
    "JudgingService",
    "Opinion",
    "Pair",
    "Relation",
    "open_service",
]
