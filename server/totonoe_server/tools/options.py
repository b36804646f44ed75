"""Options that several commands of the server take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file, in TOML. [TOTONOE_CONFIG, else totonoe.toml of "
        "~/.config/totonoe or, on macOS, ~/Library/Application Support/totonoe if it is there]",
    ),
]
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


def data_dir_of(given: Path | None) -> Path:
    """The data directory: the one given, else that of `serve`. Raises `ValueError`."""
    from totonoe_server.life.config import served_settings

    return served_settings(data_dir=given).data_dir


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a wrong setting, name or file into one line on standard error and exit code 2."""
    from totonoe_server.access.errors import FileError, SettingError
    from totonoe_server.life.config import SettingsError

    try:
        yield
    except (FileError, SettingError, SettingsError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(2) from None
