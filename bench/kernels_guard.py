"""The guard's whole query on arrays in memory: every layer, neighbours, float64 at the end.

No file and no lock: what the writer does beside it is measured by `bench.guard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench import common, material
from totonoe_core.domain.policy import PRESETS, GuardPolicy
from totonoe_core.domain.records import Judgement, Kind, StateKind, Status, Verdict
from totonoe_core.guard import candidates
from totonoe_core.index.arrays import KINDS, NEVER, STATE_KINDS, STATUSES, Arrays
from totonoe_core.index.selection import Selection, of_kind, readable
from totonoe_core.index.token_index import TokenIndex
from totonoe_core.text.tokens import token_hashes, tokens

UNLIKE = Judgement(Verdict.RELATED, 1.0, ())
"""Reading the texts costs as much as the texts are long: `bench.guard` has that."""


def filled(stored: material.Vectors, sentences: list[str]) -> Arrays:
    """Arrays with live facts of one agent; without sentences they have no tokens."""
    arrays = Arrays(stored.shape[1])
    values = {
        "status": STATUSES[Status.ACTIVE],
        "kind": KINDS[Kind.STATE],
        "state_kind": STATE_KINDS[StateKind.FACT],
        "replaced_by": NEVER,
    }
    none = token_hashes([])
    for place, vector in enumerate(stored):
        own = token_hashes(tokens(sentences[place])) if sentences else none
        arrays.append(values, vector, own)
    arrays.publish()
    return arrays


def rows(
    arrays: Arrays, asked: material.Vectors, sentences: list[str], count: int, limit_s: float
) -> Iterator[dict[str, Any]]:
    """A row for each preset, all scored in full; who is asked is worked out for each query.

    `sentences` are the texts of the queries.
    """
    words = [token_hashes(tokens(sentence)) for sentence in sentences]
    lexicon = TokenIndex()
    lexicon.catch_up(arrays.view())
    for preset, policy in PRESETS.items():
        refused: list[bool] = []

        def work(number: int, policy: GuardPolicy = policy, refused: list[bool] = refused) -> None:
            place = number % len(asked)
            view = arrays.view()
            visible = Selection(view, readable(0))
            comparable = visible.narrowed(of_kind(Kind.STATE, StateKind.FACT))
            probe = candidates.Probe(
                vector=asked[place],
                tokens=words[place % len(words)],
                payload=0,
                session=0,
                text_nominees=(),
                words_nominees=(),
                confirm_text=bool,
                judge=lambda *_: UNLIKE,
                fetch=lambda _: None,
            )
            found = candidates.search(
                view, probe, policy, comparable, visible, refuse=True, token_index=lexicon
            )
            refused.append(found.slot >= 0)

        times = common.repeat(work, count, limit_s)
        yield {
            "kernel": "guard_query",
            "method": "totonoe",
            "preset": preset.value,
            "refused_share": float(np.mean(refused)),
            **times.row(),
        }
