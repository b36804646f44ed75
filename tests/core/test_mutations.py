"""Edits that change what a sentence says, on sentences of the probe set: none is a duplicate.

A sample of `python -m bench.mutations`, with one high cosine for all pairs in place of vectors.
"""

from __future__ import annotations

from collections import Counter

import pytest

from bench.mutations import KINDS, edited, probe_texts, spread
from totonoe_core.domain.records import Verdict
from totonoe_core.domain.shipped import WEIGHTS
from totonoe_core.guard.verdict import compare

COSINE = 0.97
TEXTS, EDITS_PER_KIND = 500, 25
REFUSED_SHARE_MAX = 0.005


@pytest.mark.parametrize("language", sorted(KINDS))
def test_edits_that_change_the_meaning_are_not_refused(language: str) -> None:
    counts: Counter[str] = Counter()
    refused: dict[str, list[tuple[str, str]]] = {}
    for pair in edited(language, spread(probe_texts(language), TEXTS)):
        if counts[pair.kind] == EDITS_PER_KIND:
            continue
        counts[pair.kind] += 1
        if compare(pair.b, pair.a, COSINE, WEIGHTS).judgement.verdict is Verdict.DUPLICATE:
            refused.setdefault(pair.kind, []).append((pair.a, pair.b))
    assert len(KINDS[language]) >= 40
    assert len(counts) >= 0.8 * len(KINDS[language])
    # One of so few edits is no evidence; two are.
    worse = {kind: pairs for kind, pairs in refused.items() if len(pairs) > 1}
    assert not worse
    assert sum(map(len, refused.values())) <= REFUSED_SHARE_MAX * counts.total()


def test_edited_texts_differ_from_their_sentence() -> None:
    for language in KINDS:
        for pair in edited(language, probe_texts(language)[:60]):
            assert pair.a != pair.b
