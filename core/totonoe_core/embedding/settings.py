"""Settings of the embedder, as plain data that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from totonoe_core.base import limits
from totonoe_core.embedding.protocol import Embedder, misconfigured

EmbedderKind = Literal["use", "hashing", "openai", "sentence-transformers", "model2vec", "none"]
KINDS: tuple[EmbedderKind, ...] = get_args(EmbedderKind)
TIMEOUT_S_MAX = 300.0


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """Settings of one embedder; fields a kind does not need are left empty.

    Attributes
    ----------
    kind : str
        One of `KINDS`. With "none" the clients bring their vectors and nothing is started.
    model : str
        openai: the model's name, as the server calls it.
    path : str
        sentence-transformers, model2vec: directory of the saved model.
    base_url : str
        openai: with the version, as in `http://127.0.0.1:11434/v1`.
    api_key_env : str
        openai: environment variable that holds the key; empty for none.
    dimension : int
        hashing: the dimension, 0 for 384. Others: the expected one, 0 for that of the model.
    timeout_s : float
        openai: for each try of a request. In (0, 300].

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED, naming the field.
    """

    kind: EmbedderKind = "use"
    model: str = ""
    path: str = ""
    base_url: str = ""
    api_key_env: str = ""
    dimension: int = 0
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        _require(self.kind in KINDS, "kind", self.kind, " | ".join(KINDS))
        _require(
            0 <= self.dimension <= limits.VECTOR_DIMENSION_MAX,
            "dimension",
            self.dimension,
            f"0..{limits.VECTOR_DIMENSION_MAX}",
        )
        _require(
            0 < self.timeout_s <= TIMEOUT_S_MAX,
            "timeout_s",
            self.timeout_s,
            f"above 0, at most {TIMEOUT_S_MAX:g}",
        )
        if self.kind == "openai":
            _require(
                self.model.split() == [self.model],
                "model",
                repr(self.model),
                "the name of a model, without white space",
            )
            _require(
                self.base_url.startswith(("http://", "https://")) and "@" not in self.base_url,
                # Not shown: a URL may carry a password, which is why "@" is refused.
                "base_url",
                "another form",
                "http(s)://host/v1, without a password",
            )
        if self.kind in ("sentence-transformers", "model2vec"):
            _require(bool(self.path), "path", "nothing", "the directory of a saved model")


def make_embedder(settings: EmbedderSettings) -> Embedder:
    """Load the embedder in this process.

    Raises
    ------
    Precondition
        EMBEDDER_MISCONFIGURED: the settings name a package or file that is missing, or another
        dimension; also for kind "none", which has no embedder.
    Unavailable
        EMBEDDER_UNAVAILABLE: a server that must be asked first does not answer.
    """
    # Each module is imported only when chosen, so that it does not pay for or need the others.
    if settings.kind == "use":
        from totonoe_core.embedding.use import UseEmbedder

        return UseEmbedder(settings.dimension)
    if settings.kind == "hashing":
        from totonoe_core.embedding.hashing import DIMENSION_DEFAULT, HashingEmbedder

        return HashingEmbedder(settings.dimension or DIMENSION_DEFAULT)
    if settings.kind == "openai":
        from totonoe_core.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            base_url=settings.base_url,
            model=settings.model,
            api_key_env=settings.api_key_env,
            dimension=settings.dimension,
            timeout_s=settings.timeout_s,
        )
    if settings.kind == "sentence-transformers":
        from totonoe_core.embedding.sentence_transformers import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder(settings.path, settings.dimension)
    if settings.kind == "model2vec":
        from totonoe_core.embedding.model2vec import Model2VecEmbedder

        return Model2VecEmbedder(settings.path, settings.dimension)
    raise misconfigured(field="kind", got=settings.kind, allowed="a kind that embeds")


def _require(holds: bool, field: str, got: object, allowed: str) -> None:
    if not holds:
        raise misconfigured(field=field, got=got, allowed=allowed)
