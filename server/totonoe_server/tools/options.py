"""Options that several commands of the server take."""

from __future__ import annotations

from typing import Annotated

import typer

EmbedderModel = Annotated[
    str | None, typer.Option(help="openai: name of the model. [TOTONOE_EMBEDDER_MODEL]")
]
EmbedderPath = Annotated[
    str | None,
    typer.Option(
        help="sentence-transformers, model2vec: directory of the model. [TOTONOE_EMBEDDER_PATH]"
    ),
]
EmbedderBaseUrl = Annotated[
    str | None,
    typer.Option(help="openai: http://host/v1 of the service. [TOTONOE_EMBEDDER_BASE_URL]"),
]
EmbedderApiKeyEnv = Annotated[
    str | None,
    typer.Option(help="openai: environment variable with the key. [TOTONOE_EMBEDDER_API_KEY_ENV]"),
]
EmbedderDimension = Annotated[
    int | None,
    typer.Option(help="Length of the vectors, 0 for the model's. [TOTONOE_EMBEDDER_DIMENSION]"),
]
