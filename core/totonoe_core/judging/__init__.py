"""An optional judge for pairs that the verdict cannot decide, called off the writer's thread.

`Hearing` is not imported here: judging processes load this package, and must not load the guard.
"""

from totonoe_core.judging.protocol import Judge, JudgeFailed, Opinion, Relation, TextPair
from totonoe_core.judging.service import JudgingService, open_service
from totonoe_core.judging.settings import JudgeSettings

__all__ = [
    "Judge",
    "JudgeFailed",
    "JudgeSettings",
    "JudgingService",
    "Opinion",
    "Relation",
    "TextPair",
    "open_service",
]
