"""Options that several commands of the server take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

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


def _once(ctx: typer.Context, option: typer.CallbackParam, given: list[str]) -> list[str]:
    """Refuse an option that is given twice, which would else leave all but the last one out."""
    if len(given or ()) > 1:
        message = f"given {len(given)} times, allowed: once"
        raise typer.BadParameter(message, ctx, param_hint=f"'--{option.name}'")
    return given


Store = Annotated[
    list[str] | None,
    typer.Option(
        callback=_once,
        metavar="URL",
        help="Database that daemons share: postgresql://user@host:port/database, without a "
        "password (PGPASSWORD or passfile gives it). [TOTONOE_STORE]",
    ),
]
EMBEDDER = (
    "embedder",
    "embedder_model",
    "embedder_path",
    "embedder_base_url",
    "embedder_api_key_env",
    "embedder_dimension",
)
"""The settings of an embedder that a tool takes."""
JUDGE = (
    "judge",
    "judge_url",
    "judge_model",
    "judge_api_key_env",
    "judge_dialect",
    "judge_agreed_from",
    "judge_deadline_s",
    "judge_from",
    "judge_refinements",
)
"""The settings of a judge that a tool takes."""


def with_settings(command: Callable[..., None], named: Collection[str] = ()) -> Callable[..., None]:
    """Add an option for each setting to a command, which gets what was given as `given`.

    That is a dictionary by the names of the settings, as `config.load` takes it.

    Parameters
    ----------
    named : collection of str
        The settings; by default all.
    """
    from totonoe_server.life.config import Settings

    fields = Settings.model_fields
    options = [_option(name, fields[name]) for name in named or fields]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        given = {option.name: arguments.pop(option.name) for option in options}
        for name in _LISTS & given.keys():
            given[name] = ",".join(given[name]) if given[name] else None
        command(**arguments, given=given)

    own = inspect.signature(command, eval_str=True).parameters.values()
    kept = [item for item in own if item.name != "given"]
    run.__signature__ = inspect.Signature([*kept, *options])  # type: ignore[attr-defined]
    return run


def add_with_settings(
    app: typer.Typer, name: str, command: Callable[..., None], named: Collection[str] = ()
) -> None:
    """Add a command as `with_settings` makes it, once somebody asks for its options.

    What checks the settings takes 0.1 s of CPU to load: too long for `totonoe --help`, which shows
    one line of the command.
    """

    class WithSettings(TyperCommand):
        made = False

        def get_params(self, ctx: Any) -> list[Any]:
            if not self.made:
                alone = typer.Typer()
                alone.command(name)(with_settings(command, named))
                whole = get_command(alone)
                self.params, self.callback, self.made = whole.params, whole.callback, True
            return super().get_params(ctx)

    def bare() -> None:
        """Stands in until then."""

    bare.__doc__ = command.__doc__
    app.command(name, cls=WithSettings)(bare)


_ONCE = {"store"}
"""Settings whose option is refused if it is repeated: a daemon has one store."""
_LISTS = {"address", *_ONCE}
"""Settings whose option gives a list; several places to listen are joined with commas."""


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    """Return the option of a setting: its description, the words allowed, variable and default."""
    from totonoe_server.life.config import ENVIRONMENT_PREFIX, types_of, words_of

    (plain,) = types_of(field.annotation) - {type(None)}
    kind: Any = list[plain] if name in _LISTS else plain  # type: ignore[valid-type]
    words = words_of(field.annotation)
    allowed = f" One of {', '.join(words[:-1])} or {words[-1]}." if words else ""
    default = field.default if isinstance(field.default, str | int | float) else ""
    shown = f", {default}" if default not in ("", False) else ""
    text = f"{field.description}{allowed} [{ENVIRONMENT_PREFIX}{name.upper()}{shown}]"
    flag = [f"--{name.replace('_', '-')}"] if plain is bool else []
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            kind | None,
            typer.Option(*flag, help=text, callback=_once if name in _ONCE else None),
        ],
    )


def store_of(given: list[str] | None) -> str | None:
    """Return the address that `Store` gave; `None` if it was not given."""
    return given[0] if given else None


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
