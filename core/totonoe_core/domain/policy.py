"""Policies of a collection: guard, diversity of Recall, decay, retention, blast radius, tidy.

Presets `ego` and `robotmem` reproduce the designs of those names (docs/sources.md; cosine distance
< 0.05; hash, Jaccard > 0.70, cosine >= 0.85); `standard` is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from totonoe_core.domain.records import (
    TRUST,
    Finding,
    Judgement,
    Kind,
    Source,
    StateKind,
    Verdict,
)

LIKELY_FROM = 0.42
"""Default of `GuardPolicy.likely_from`. It belongs to the fit of `same_probability`."""
SHOWN_FROM = 0.15
"""Default of `GuardPolicy.shown_from`. It belongs to the fit of `same_probability` as well.

From it on a sixth of the look-alikes kept aside are refused, asked about or shown with a judge, a
third without one (docs/quality.md).
"""
CERTAIN_FROM = 0.775
"""Default of `GuardPolicy.certain_from`. It belongs to the fit of `same_probability` with a judge.

From it on no look-alike of five streams is lost, and of those of the groups kept aside for tuning
at most five in a thousand (`make judge-figures`; docs/quality.md).
"""


class Preset(StrEnum):
    """Named sets of guard thresholds."""

    STANDARD = "standard"
    EGO = "ego"
    ROBOTMEM = "robotmem"


class Tokenizer(StrEnum):
    """Selects how tokens are made for the Jaccard layer."""

    SCRIPT_AWARE = "script_aware"
    WHITESPACE = "whitespace"


class Action(StrEnum):
    """Reaction of a save to a memory that a verdict names."""

    REFUSE = "refuse"
    LINK = "link"
    SUPERSEDE = "supersede"


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """Thresholds of the guard's layers; `None` switches a layer off.

    Attributes
    ----------
    exact : bool
        Refuse equal text (refusing form) with equal payload.
    jaccard_above : float or None
        Refuse above this token Jaccard similarity (strictly), 0..1.
    cosine_distance_below : float or None
        Refuse below this cosine distance (strictly), 0..2.
    cosine_at_least : float or None
        Refuse from this cosine similarity on, -1..1.
    session_cosine_at_least : float or None
        The same threshold among memories of the same non-empty session.
    judged_from : float or None
        From this cosine similarity on, and where the words are the same in the same order
        (`text.normalize.canonical_form`), the texts are compared and the verdict decides, -1..1.
    likely_from : float or None
        From this `same_probability` on, and without a hard difference, a saved memory is linked
        `likely_same` to the one that probably says the same; and no verdict refuses below it.
        0..1. It counts only together with `judged_from`.
    shown_from : float or None
        From this `same_probability` on, and without a hard difference, the answer of a save that
        asks nothing shows the memory that most probably says the same. 0..1, at most
        `likely_from`. It counts only together with `judged_from`.
    certain_from : float or None
        From this `same_probability` on, and without a hard difference, the daemon's own judge makes
        a DUPLICATE, 0..1. `None`: it refuses nothing by itself. It counts only together with
        `judged_from`.
    similar_above : float
        Show as similar above this similarity, cosine or Jaccard.
    link_distance_below : float
        After a save, link to memories nearer than this cosine distance; 0 makes no links.
    on_duplicate, on_update, on_contradiction, on_refinement, on_contained : Action
        Action for each verdict. RELATED and NEW always link. A text that says less than a memory is
        refused only if what it leaves out restricts nothing (`Finding.SEPARATE`).
    learns : bool
        Let the answers of callers move `likely_from` and `certain_from`, as far as nobody set them.
    refuse_forgotten : bool
        Refuse a text that says the same as a forgotten memory; otherwise it is saved with a note.
    review_from : Source or None
        Save texts of this source, and of less trusted ones, pending: until somebody confirms them.
        `None`: none. No preset changes it.
    """

    preset: Preset
    exact: bool
    jaccard_above: float | None
    cosine_distance_below: float | None
    cosine_at_least: float | None
    session_cosine_at_least: float | None
    judged_from: float | None
    similar_above: float
    link_distance_below: float
    tokenizer: Tokenizer
    on_duplicate: Action = Action.REFUSE
    on_update: Action = Action.LINK
    on_contradiction: Action = Action.LINK
    on_refinement: Action = Action.LINK
    refuse_forgotten: bool = False
    likely_from: float | None = LIKELY_FROM
    on_contained: Action = Action.LINK
    shown_from: float | None = SHOWN_FROM
    certain_from: float | None = CERTAIN_FROM
    learns: bool = True
    review_from: Source | None = None

    def reviews(self, source: Source) -> bool:
        """Return whether a text of a source waits for a review."""
        return self.review_from is not None and TRUST[source] <= TRUST[self.review_from]

    def with_actions(self, actions: Iterable[tuple[Verdict, Action]]) -> GuardPolicy:
        """Return the policy with other actions for some verdicts."""
        named: dict[str, Any] = {f"on_{verdict.value}": action for verdict, action in actions}
        return replace(self, **named)

    @property
    def supersedes(self) -> bool:
        """Return whether a verdict can replace an old memory by a new one."""
        return self.judged_from is not None and Action.SUPERSEDE in self._actions.values()

    @property
    def asks(self) -> bool:
        """Return whether there is a band of what is likely the same."""
        return self.judged_from is not None and self.likely_from is not None

    def in_order(self) -> GuardPolicy:
        """Return the policy with `shown_from` not above `likely_from`."""
        if self.likely_from is None or self.shown_from is None:
            return self
        return replace(self, shown_from=min(self.shown_from, self.likely_from))

    def settled(self, judgement: Judgement) -> Judgement:
        """Return the judgement by which the policy acts.

        A duplicate is certain only if `same_probability` is not against it.
        """
        if judgement.verdict is Verdict.DUPLICATE and self.asks and not self._reached(judgement):
            return replace(judgement, verdict=Verdict.RELATED)
        return judgement

    def is_certain(self, judgement: Judgement) -> bool:
        """Return whether the daemon's own judge may call two texts a duplicate."""
        return (
            self.judged_from is not None
            and self.certain_from is not None
            and not judgement.hard
            and judgement.same_probability >= max(self.certain_from, self.likely_from or 0.0)
        )

    def is_likely(self, judgement: Judgement) -> bool:
        """Return whether two texts that are both kept probably say the same."""
        return self.asks and not judgement.hard and self._reached(judgement)

    def is_shown(self, judgement: Judgement) -> bool:
        """Return whether a caller should see a memory beside a text that is saved."""
        if self.judged_from is None or self.shown_from is None or judgement.hard:
            return False
        return judgement.same_probability >= self.shown_from

    def _reached(self, judgement: Judgement) -> bool:
        return judgement.same_probability >= (self.likely_from or 0.0)

    def action(self, judgement: Judgement) -> Action:
        """Return the action for a judgement."""
        action = self._actions.get(judgement.verdict, Action.LINK)
        if action is Action.REFUSE and judgement.verdict is Verdict.CONTAINED:
            # What is left out may restrict the memory: then the text says something else.
            separate = any(line.finding is Finding.SEPARATE for line in judgement.evidence)
            return Action.REFUSE if separate else Action.LINK
        return action

    @property
    def _actions(self) -> dict[Verdict, Action]:
        return {
            Verdict.DUPLICATE: self.on_duplicate,
            Verdict.UPDATE: self.on_update,
            Verdict.CONTRADICTION: self.on_contradiction,
            Verdict.REFINEMENT: self.on_refinement,
            Verdict.CONTAINED: self.on_contained,
        }


@dataclass(frozen=True, slots=True)
class DiversityPolicy:
    """Spread of Recall's answers; shares are of the k places, 0..1.

    The shares stand in order of importance (`search/diversity.py`). The numbers cost at most half
    a point of recall@10 (docs/quality.md).
    """

    enabled: bool = True
    mmr_lambda: float = 0.7
    kind_share_max: float = 0.9
    state_kind_share_max: float = 0.9
    life_stage_share_max: float = 0.9
    thread_share_max: float = 0.8


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """Fading of confidence while a memory is not recalled (docs/sources.md, 002, "Time Decay").

    A rate for a state kind or a kind of log replaces `rate_per_day` there, unless it is `None`.
    """

    rate_per_day: float = 0.01
    min_interval_days: float = 1.0
    floor: float = 0.05
    fact_rate_per_day: float | None = None
    relation_rate_per_day: float | None = None
    task_rate_per_day: float | None = None
    summary_rate_per_day: float | None = None
    long_mood_rate_per_day: float | None = None
    event_rate_per_day: float | None = None
    affect_rate_per_day: float | None = None

    def rate_of(self, kind: Kind, state_kind: StateKind) -> float:
        """Return the loss a day of a memory, 0..1."""
        name = state_kind.value or kind.value
        own: float | None = getattr(self, f"{name}_rate_per_day", None)
        return self.rate_per_day if own is None else own


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Automatic purge of memories that were forgotten so many days ago; 0 is never."""

    purge_forgotten_days: float = 0.0


@dataclass(frozen=True, slots=True)
class BlastPolicy:
    """Number of memories that rule-based work may close or supersede in one run and in one day.

    The limit is the larger of `rows_min` memories and `percent` (0..100) of the live ones.
    """

    rows_min: int = 20
    percent: float = 1.0


@dataclass(frozen=True, slots=True)
class TidyPolicy:
    """Schedule and size of automatic tidying (docs/sources.md, 004).

    Attributes
    ----------
    enabled : bool
        Tidy after turns.
    first_turn, every_turns : int
        The first turn after which a run begins, and turns between runs from then on.
    closes_max : int
        Memories that one run closes at most.
    read_max : int
        States that one run reads at most; the next run goes on after them.
    """

    enabled: bool = False
    first_turn: int = 10
    every_turns: int = 200
    closes_max: int = 200
    read_max: int = 5000


STANDARD_DIVERSITY = DiversityPolicy()
STANDARD_DECAY = DecayPolicy()
NO_RETENTION = RetentionPolicy()
STANDARD_TIDY = TidyPolicy()
STANDARD_BLAST = BlastPolicy()


_STANDARD = GuardPolicy(
    preset=Preset.STANDARD,
    exact=True,
    jaccard_above=None,
    cosine_distance_below=None,
    cosine_at_least=None,
    session_cosine_at_least=None,
    judged_from=0.75,
    similar_above=0.7,
    link_distance_below=0.3,
    tokenizer=Tokenizer.SCRIPT_AWARE,
)
_EGO = replace(
    _STANDARD,
    preset=Preset.EGO,
    exact=False,
    cosine_distance_below=0.05,
    judged_from=None,
    shown_from=None,
    certain_from=None,
    similar_above=0.7,
)
_ROBOTMEM = GuardPolicy(
    preset=Preset.ROBOTMEM,
    exact=True,
    jaccard_above=0.70,
    cosine_distance_below=None,
    cosine_at_least=0.85,
    session_cosine_at_least=0.85,
    judged_from=None,
    similar_above=0.40,
    link_distance_below=0.3,
    tokenizer=Tokenizer.WHITESPACE,
    shown_from=None,
    certain_from=None,
)
PRESETS = {Preset.STANDARD: _STANDARD, Preset.EGO: _EGO, Preset.ROBOTMEM: _ROBOTMEM}
