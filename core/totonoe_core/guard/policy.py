"""When the guard refuses, how Recall spreads, how confidence fades: per collection.

Presets `ego` and `robotmem` reproduce the designs of those names (cosine distance
< 0.05; hash, Jaccard > 0.70, cosine >= 0.85); `standard` is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Preset(StrEnum):
    """Named sets of guard thresholds."""

    STANDARD = "standard"
    EGO = "ego"
    ROBOTMEM = "robotmem"


class Tokenizer(StrEnum):
    """How tokens are made for the Jaccard layer."""

    SCRIPT_AWARE = "script_aware"
    WHITESPACE = "whitespace"


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
        The same among memories of the same non-empty session.
    cosine_needs_same_words : bool
        A cosine layer refuses only what has the same words in the same order
        (`text.normalize.canonical_form`).
    similar_above : float
        Show as similar above this similarity, cosine or Jaccard.
    link_distance_below : float
        After a save, link to memories nearer than this cosine distance; 0: no links.
    """

    preset: Preset
    exact: bool
    jaccard_above: float | None
    cosine_distance_below: float | None
    cosine_at_least: float | None
    session_cosine_at_least: float | None
    cosine_needs_same_words: bool
    similar_above: float
    link_distance_below: float
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True)
class DiversityPolicy:
    """How Recall spreads its answers; shares are of the k places, 0..1.

    The numbers cost at most half a point of recall@10 (docs/quality.md).
    """

    enabled: bool = True
    mmr_lambda: float = 0.7
    kind_share_max: float = 0.9
    state_kind_share_max: float = 0.9
    life_stage_share_max: float = 0.9
    thread_share_max: float = 0.8


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """How confidence fades while a memory is not recalled (002, "Time Decay")."""

    rate_per_day: float = 0.01
    min_interval_days: float = 1.0
    floor: float = 0.05


_STANDARD = GuardPolicy(
    preset=Preset.STANDARD,
    exact=True,
    jaccard_above=None,
    cosine_distance_below=0.05,
    cosine_at_least=None,
    session_cosine_at_least=None,
    cosine_needs_same_words=True,
    similar_above=0.6,
    link_distance_below=0.3,
    tokenizer=Tokenizer.SCRIPT_AWARE,
)
_EGO = replace(
    _STANDARD,
    preset=Preset.EGO,
    exact=False,
    cosine_needs_same_words=False,
    similar_above=0.7,
)
_ROBOTMEM = GuardPolicy(
    preset=Preset.ROBOTMEM,
    exact=True,
    jaccard_above=0.70,
    cosine_distance_below=None,
    cosine_at_least=0.85,
    session_cosine_at_least=0.85,
    cosine_needs_same_words=False,
    similar_above=0.40,
    link_distance_below=0.3,
    tokenizer=Tokenizer.WHITESPACE,
)
PRESETS = {Preset.STANDARD: _STANDARD, Preset.EGO: _EGO, Preset.ROBOTMEM: _ROBOTMEM}
