"""Embedders, which turn texts into unit vectors, and the service that runs them in processes."""

from totonoe_core.domain.records import ModelIdentity
from totonoe_core.embedding.chunking import chunks
from totonoe_core.embedding.protocol import (
    Embedder,
    IdentityChanged,
    client_vectors,
)
from totonoe_core.embedding.service import EmbeddingService, EmbeddingStats, open_service
from totonoe_core.embedding.settings import EmbedderSettings, make_embedder

__all__ = [
    "Embedder",
    "EmbedderSettings",
    "EmbeddingService",
    "EmbeddingStats",
    "IdentityChanged",
    "ModelIdentity",
    "chunks",
    "client_vectors",
    "make_embedder",
    "open_service",
]
