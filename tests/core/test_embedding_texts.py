"""Hashing embedder, chunks and vector arithmetic: everything that needs no process."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.embedding import assert_unit_rows
from totonoe_core.base import errors
from totonoe_core.embedding import EmbedderSettings, ModelIdentity, chunks, make_embedder
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.embedding.protocol import client_vectors
from totonoe_core.embedding.vectors import hashed_unit_vector, mean_of_chunks, unit_rows

TEXTS = [
    "The gripper slips at 12.5N when the object is wet.",
    "The gripper slips at 15N when the object is wet.",
    "好きな色は青です。",
    "Gift für Mäuse",
    "!!!",
    "",
]
ALPHABET = st.sampled_from('ab 12.\n。！？!?"」 \t\u3000é😀')


def test_hashing_any_batch_gives_same_bits() -> None:
    embedder = HashingEmbedder()
    together = embedder.embed(TEXTS)
    assert_unit_rows(together, len(TEXTS), 384)
    for i, text in enumerate(TEXTS):
        assert np.array_equal(embedder.embed([text])[0], together[i])
    assert embedder.embed([]).shape == (0, 384)


def test_hashing_is_the_same_on_every_machine() -> None:
    vectors = HashingEmbedder(64).embed(TEXTS)
    # Rounded: the last bit of a division may differ; a change of the hash may not pass.
    digest = hashlib.sha256(np.round(vectors * 1000).astype("<i4").tobytes()).hexdigest()
    assert digest == "5a955196b48463ea2dcca24b76350485ed75e4e95261a3f94eadcace6843ad3e"


def test_hashing_near_identical_texts_are_close_and_others_are_not() -> None:
    vectors = HashingEmbedder().embed(
        [*TEXTS[:3], "the gripper slips at 12.5N when the OBJECT is wet"]
    )
    similarity = vectors @ vectors.T
    assert 0.7 < similarity[0, 1] < 0.99
    assert 0.7 < similarity[0, 3] < 0.999
    assert abs(similarity[0, 2]) < 0.2


def test_hashing_white_space_does_not_matter() -> None:
    a, b = HashingEmbedder().embed(["a  b\n c", " a b c "])
    assert np.array_equal(a, b)


@given(st.lists(st.text(), max_size=5), st.integers(1, 97))
def test_hashing_any_text_gives_unit_rows(texts: list[str], dimension: int) -> None:
    assert_unit_rows(HashingEmbedder(dimension).embed(texts), len(texts), dimension)


@given(st.text(ALPHABET, max_size=400), st.integers(2, 60))
def test_chunks_joined_are_the_text(text: str, size_chars: int) -> None:
    parts = chunks(text, size_chars)
    assert "".join(parts) == text
    assert all(len(part) <= size_chars for part in parts)
    assert all(len(part) > size_chars / 2 for part in parts[:-1])
    assert all(parts) or parts == [""]
    assert len(parts) <= 2 * len(text) / size_chars + 1


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It is 12.5N now. Then it fell down", "It is 12.5N now. "),
        ("箱は赤い。次の箱は青い。箱は全部で三つある。", "箱は赤い。次の箱は青い。"),
        ('he said "no more." and left the room', 'he said "no more." '),
        ("one two three four five six seven", "one two three four "),
        ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst"),
        ("a line of words\nand another one", "a line of words\n"),
    ],
)
def test_chunks_cut_at_best_place(text: str, first: str) -> None:
    assert chunks(text, 20)[0] == first


def test_chunks_short_text_is_one_chunk() -> None:
    assert chunks("") == [""]
    assert chunks("a" * 1000) == ["a" * 1000]
    assert len(chunks("a" * 32768)) == 33
    with pytest.raises(ValueError, match="size_chars"):
        chunks("abc", 1)


def test_unit_rows_rows_without_direction_get_their_stand_in() -> None:
    raw = np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 0.0], [1e200, 1e200]])
    texts = ["a", "b", "c", "d", "e"]
    rows = unit_rows(raw, texts)
    assert_unit_rows(rows, 5, 2)
    np.testing.assert_allclose(rows[0], [0.6, 0.8], atol=1e-7)
    for i in range(1, 5):
        assert np.array_equal(rows[i], hashed_unit_vector(texts[i], 2))
    with pytest.raises(ValueError, match="shape"):
        unit_rows(np.ones(3), ["a"])


def test_hashed_unit_vector_resembles_nothing() -> None:
    vectors = np.stack([hashed_unit_vector(f"text {i}", 512) for i in range(40)])
    assert_unit_rows(vectors, 40, 512)
    similarity = vectors @ vectors.T - np.eye(40)
    assert np.abs(similarity).max() < 0.25
    assert np.array_equal(hashed_unit_vector("a", 5), hashed_unit_vector("a", 5))


def test_mean_of_chunks_weighs_by_length_and_keeps_a_single_one() -> None:
    x, y = np.eye(2, dtype=np.float32)
    assert np.array_equal(mean_of_chunks(x[None], ["abc"]), x)
    np.testing.assert_allclose(
        mean_of_chunks(np.stack([x, y]), ["abcd", "abc   "]), [0.8, 0.6], atol=1e-7
    )
    assert np.array_equal(mean_of_chunks(np.stack([x, -x]), ["ab", "cd"]), x)
    assert np.array_equal(mean_of_chunks(np.stack([y, x]), ["  ", " "]), y)


def test_identity_key_is_one_line_that_tells_models_apart() -> None:
    one = ModelIdentity(name="a", version="1", weights_sha256="f" * 64, dimension=3)
    assert one.key == f"a@1/3/{'f' * 64}/r2"
    others = [
        ModelIdentity(name="b", version="1", weights_sha256="f" * 64, dimension=3),
        ModelIdentity(name="a", version="2", weights_sha256="f" * 64, dimension=3),
        ModelIdentity(name="a", version="1", weights_sha256="", dimension=3),
        ModelIdentity(name="a", version="1", weights_sha256="f" * 64, dimension=4),
        client_vectors(3),
    ]
    assert len({one.key, *(other.key for other in others)}) == 6
    assert all(other.key.split() == [other.key] for other in others)


@pytest.mark.parametrize("bad", [{"name": "a b"}, {"version": "1\n"}, {"dimension": 4097}])
def test_identity_with_bad_field_is_refused(bad: dict[str, object]) -> None:
    good = {"name": "a", "version": "", "weights_sha256": "", "dimension": 3}
    with pytest.raises(errors.InvalidArgument):
        ModelIdentity(**{**good, **bad})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"kind": "word2vec"}, "embedder.kind"),
        ({"kind": "use", "dimension": 5000}, "embedder.dimension"),
        ({"kind": "use", "dimension": -1}, "embedder.dimension"),
        ({"kind": "openai", "base_url": "http://h/v1"}, "embedder.model"),
        ({"kind": "openai", "model": "a b", "base_url": "http://h/v1"}, "embedder.model"),
        ({"kind": "openai", "model": "m"}, "embedder.base_url"),
        ({"kind": "openai", "model": "m", "base_url": "ftp://h"}, "embedder.base_url"),
        ({"kind": "openai", "model": "m", "base_url": "http://u:p@h"}, "embedder.base_url"),
        (
            {"kind": "openai", "model": "m", "base_url": "http://h", "timeout_s": 0},
            "embedder.timeout_s",
        ),
        ({"kind": "model2vec"}, "embedder.path"),
        ({"kind": "sentence-transformers"}, "embedder.path"),
    ],
)
def test_settings_with_bad_field_are_refused(settings: dict[str, object], field: str) -> None:
    with pytest.raises(errors.Precondition) as raised:
        EmbedderSettings(**settings)  # type: ignore[arg-type]
    assert raised.value.reason == "EMBEDDER_MISCONFIGURED"
    assert raised.value.details["field"] == field
    assert "u:p" not in str(raised.value)


def test_make_embedder_kind_none_has_none() -> None:
    with pytest.raises(errors.Precondition):
        make_embedder(EmbedderSettings(kind="none"))
    assert make_embedder(EmbedderSettings(kind="hashing", dimension=32)).identity.dimension == 32
