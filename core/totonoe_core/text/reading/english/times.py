"""When something is: times stand anywhere in a clause."""

from __future__ import annotations

from totonoe_core.text.reading.english import closed
from totonoe_core.text.reading.english.closing import Closing
from totonoe_core.text.reading.model import PieceType


class Times(Closing):
    """Reads phrases that say when."""

    def _is_time(self, at: int) -> bool:
        token = self.tokens[at]
        if token.value is not None:
            return token.value.type in (PieceType.DATE, PieceType.TIME)
        return token.tag == "N" and token.lemma in closed.TIME_NOUNS

    def _time_alone(self, at: int) -> bool:
        """Whether a date is a phrase by itself, not the modifier of a noun ("the 9:30 train")."""
        if not self._is_time(at) or (at and self.tokens[at - 1].tag in "T$QA"):
            return False
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if following is None or following.tag not in "NMA#":
            return True
        opens = at == 0 or self.tokens[at - 1].tag in ".,"
        return bool(self._prep) or (opens and "relative" in self.tokens[at].form)

    def _time_ends(self, start: int, head: int) -> bool:
        """Whether "At bedtime" is over before the noun that follows."""
        return bool(self._prep) and head == start and self._is_time(head)

    def _timed(self, head: int, stop: int) -> bool:
        """A time is told of the whole clause, wherever it stands."""
        here = self._here
        if self._prep not in ("", "in", "on", "at", "during", "over"):
            return False
        told = here.predicate >= 0 or here.complement >= 0
        if not self._prep and not told:
            following = self.tokens[stop] if 0 <= stop < len(self.tokens) else None
            opens = not here.subjects and not here.be
            if not opens or following is None or following.tag not in "T$OMNQA#,":
                return False
        self._prep = ""
        value = self.tokens[head].value
        clock = value is not None and value.type is PieceType.TIME
        self.role[head] = "prep:at" if clock else "prep:on"
        self.head[head] = -2
        here.objects.append(-1 - head)
        return True
