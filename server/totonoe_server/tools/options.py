"""Options that several commands of the server take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from totonoe_core.engine.factory import Database
    from totonoe_server.life.config import Settings

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file, in TOML. [TOTONOE_CONFIG, else totonoe.toml of "
        "~/.config/totonoe or, on macOS, ~/Library/Application Support/totonoe if it is there]",
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Database that daemons share: postgresql://user@host:port/database, without a "
        "password (PGPASSWORD or passfile gives it). [TOTONOE_STORE]",
    ),
]
EmbedderOfTool = Annotated[
    str | None,
    typer.Option(
        help="use, hashing, openai, sentence-transformers or model2vec. [TOTONOE_EMBEDDER, use]"
    ),
]
"""Of a tool that measures: unlike a daemon it needs one."""
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
Judge = Annotated[
    str | None,
    typer.Option(
        help="What is asked about pairs of texts: own, none, openai or decisions. "
        "[TOTONOE_JUDGE, own if its model is installed]"
    ),
]
JudgeProcesses = Annotated[
    int | None, typer.Option(help="own: processes that judge. [TOTONOE_JUDGE_PROCESSES, 1]")
]
JudgeUrl = Annotated[
    str | None,
    typer.Option(help="openai, decisions: http://host/v1 of the service. [TOTONOE_JUDGE_URL]"),
]
JudgeModel = Annotated[
    str | None, typer.Option(help="openai, decisions: name of the model. [TOTONOE_JUDGE_MODEL]")
]
JudgeApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        help="openai, decisions: environment variable with the key. [TOTONOE_JUDGE_API_KEY_ENV]"
    ),
]
JudgeDialect = Annotated[
    str | None,
    typer.Option(help="decisions: openai or systemone. [TOTONOE_JUDGE_DIALECT, openai]"),
]
JudgeAgreedFrom = Annotated[
    float | None,
    typer.Option(
        help="decisions: least probability of the same relation in both orders of the texts. "
        "[TOTONOE_JUDGE_AGREED_FROM, 0.99]"
    ),
]
JudgeDeadlineS = Annotated[
    float | None,
    typer.Option(help="What a write waits for it at most. [TOTONOE_JUDGE_DEADLINE_S, 0.3 for own]"),
]
JudgeFrom = Annotated[
    float | None,
    typer.Option(help="Least probability that is asked about. [TOTONOE_JUDGE_FROM, 0.5]"),
]
JudgeRefinements = Annotated[
    bool | None,
    typer.Option(
        "--judge-refinements",
        help="Ask too where one text has a little more. [TOTONOE_JUDGE_REFINEMENTS]",
    ),
]


def data_dir_of(given: Path | None) -> Path:
    """The data directory: the one given, else that of `serve`.

    Raises `SettingsError`, also if the settings name a database and none is given.
    """
    from totonoe_server.life.config import SettingsError, served_settings

    if given is not None:
        return served_settings(data_dir=given, store="", daemons=1).data_dir
    settings = served_settings()
    if settings.store:
        raise SettingsError(
            "store: the settings name a database; this command is for a data directory: name one"
        )
    return settings.data_dir


def database_of(settings: Settings) -> Database:
    """The database that settings name. Raises `SettingsError` without the extra `postgres`."""
    return database_at(settings.store, pooled=settings.store_pooler)


def database_at(url: str, *, pooled: bool) -> Database:
    """The database of an address. Raises `SettingsError` without the extra `postgres`."""
    from totonoe_server.life.config import SettingsError
    from totonoe_server.life.daemon import StartupError, database_at

    try:
        return database_at(url, pooled=pooled)
    except StartupError as error:
        raise SettingsError(str(error)) from None


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn a wrong setting, name or file into one line on standard error and exit code 2."""
    from totonoe_core.base.errors import TotonoeError
    from totonoe_server.access.errors import FileError, SettingError
    from totonoe_server.life.config import SettingsError

    try:
        yield
    except (FileError, SettingError, SettingsError, TotonoeError) as error:
        typer.echo(f"totonoe: {error}", err=True)
        raise typer.Exit(2) from None
