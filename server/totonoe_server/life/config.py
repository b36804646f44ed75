"""Settings of the daemon: options of `serve`, then the environment, then a file, then defaults.

A new setting is one field of `Settings`, of which the option of `serve` is made, and one row of
`docs/configuration.md`; a test holds that the two agree.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, Union, get_args, get_origin
from urllib.parse import parse_qsl, urlsplit

from platformdirs import user_cache_path, user_state_path
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from totonoe_core.base import limits
from totonoe_server.life.addresses import PORT_MAX, Address, parse_addresses, socket_in
from totonoe_server.life.config_file import ConfigFileError, chosen_file, read_file

ADDRESS_DEFAULT = "127.0.0.1:7766"
ENVIRONMENT_PREFIX = "TOTONOE_"

EmbedderKind = Literal["use", "hashing", "openai", "sentence-transformers", "model2vec", "none"]
JudgeKind = Literal["none", "own", "openai", "decisions"]
JudgeDialect = Literal["openai", "systemone"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["console", "json"]


_STORE = "postgresql://user@host:port/database"


def check_store(text: str) -> None:
    """Raise `ValueError` unless a text is the address of a database, or empty.

    A password is refused: settings are shown, and options stand in the list of processes.
    """
    if not text:
        return
    try:
        parts = urlsplit(text)
        wanted = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise ValueError(f"allowed: {_STORE}") from None
    if ":" in parts.netloc.rpartition("@")[0] or "password" in wanted:
        raise ValueError(
            "no password belongs here; allowed: PGPASSWORD in the environment, or "
            "?passfile=FILE in the address"
        )
    names_database = len(parts.path) > 1 or "dbname" in wanted
    formed = parts.scheme in ("postgresql", "postgres") and not parts.fragment
    if not formed or not names_database:
        raise ValueError(f"allowed: {_STORE}")


class SettingsError(ValueError):
    """A setting is outside what is allowed. The message is one line that names it."""


_TRACING_ENDPOINT = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})/?")
_METRICS_ADDRESS = re.compile(r"(?:(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*):)?([0-9]{1,5})")


def parse_metrics_address(text: str) -> tuple[str, int] | None:
    """Return host and port of a place for metrics, `None` for an empty text.

    A port alone, or with an empty host, is one of 127.0.0.1: whoever wants to show metrics to
    other machines has to name an address of this one.

    Raises
    ------
    ValueError
    """
    if not text:
        return None
    match = _METRICS_ADDRESS.fullmatch(text)
    if match is None or int(match[2]) > PORT_MAX:
        raise ValueError("allowed: host:port, or a port of 127.0.0.1")
    return (match[1] or "127.0.0.1").strip("[]"), int(match[2])


def metrics_address_of(text: str, number: int) -> str:
    """Return where the daemon of a number, from 1 on, serves metrics if several share a setting.

    That is the next port for each. Raises `ValueError` where there is no such port.
    """
    place = parse_metrics_address(text)
    if place is None:
        return ""
    host, port = place
    own = port + number - 1 if port else 0
    if own > PORT_MAX:
        raise ValueError(f"metrics_address: ports end at {PORT_MAX}")
    return Address(host, own).target


class Settings(BaseSettings):
    """All settings. Each can be given as `TOTONOE_` and its name in capitals, or in a file.

    Variables with the prefix that are unknown here are left alone: clients have their own. Make
    one with `load`, which knows the order of the sources.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, frozen=True, extra="forbid"
    )

    address: str = Field(
        ADDRESS_DEFAULT,
        description="Where to listen: host:port or unix:/path, several with commas. By default "
        "on totonoe.sock in the data directory as well.",
    )
    tls_cert: str = Field(
        "", description="File with the certificate, and those that vouch for it, in PEM."
    )
    tls_key: str = Field("", description="File with the key of the certificate, in PEM.")
    tls_client_ca: str = Field(
        "", description="File with the authority whose certificates clients must have, in PEM."
    )
    data_dir: Path = Field(
        default_factory=lambda: user_state_path("totonoe"),
        description="Directory that holds everything; made with mode 0700.",
    )
    store: str = Field(
        "",
        description="Database that daemons share, in the place of a data directory: "
        "postgresql://user@host:port/database, without a password (PGPASSWORD or passfile gives "
        "it).",
    )
    store_pooler: bool = Field(
        False,
        description="store: a transaction pooler lies in between; no statement is prepared then.",
    )
    daemons: int = Field(
        1,
        ge=1,
        le=limits.DAEMONS_PER_MACHINE_MAX,
        description="store: daemons that are started here, behind the same addresses.",
    )
    daemon_silent_s: float = Field(
        30.0,
        ge=2,
        le=3600,
        description="daemons: one that shows no sign of life for so long is killed and started "
        "again.",
    )
    embedder: EmbedderKind = Field("use", description="What makes vectors of texts.")
    embedder_model: str = Field("", description="openai: name of the model.")
    embedder_path: str = Field(
        "", description="sentence-transformers, model2vec: directory of the saved model."
    )
    embedder_base_url: str = Field(
        "", description="openai: address of the service, with the version: http://host/v1."
    )
    embedder_api_key_env: str = Field(
        "", description="openai: environment variable that holds the key."
    )
    embedder_dimension: int = Field(
        0,
        ge=0,
        description="hashing: length of the vectors, 0 for 384. Others: the length to expect, "
        "0 for whatever the model has.",
    )
    embedder_timeout_s: float = Field(
        10.0, gt=0, le=300, description="openai: limit for each try of a request."
    )
    embedder_workers: int = Field(
        1, ge=1, le=64, description="Processes that embed; each holds the model in memory."
    )
    judge: JudgeKind | None = Field(
        None,
        description="What is asked about pairs of texts. By default own, if its model is "
        "installed, else none.",
    )
    judge_processes: int = Field(
        1, ge=1, le=8, description="own: processes that judge; each holds the model in memory."
    )
    judge_url: str = Field(
        "",
        description="openai, decisions: address of the service, with the version: http://host/v1.",
    )
    judge_model: str = Field("", description="openai, decisions: name of the model.")
    judge_api_key_env: str = Field(
        "", description="openai, decisions: environment variable that holds the key."
    )
    judge_dialect: JudgeDialect = Field(
        "openai", description="decisions: openai asks url/decisions, systemone url/systemone."
    )
    judge_agreed_from: float = Field(
        0.99,
        gt=0.5,
        le=1,
        description="decisions: least probability of the same relation in both orders of the "
        "texts; below it the judge has no opinion.",
    )
    judge_deadline_s: float | None = Field(
        None,
        gt=0,
        le=10,
        description="How long a write waits for the judge at most; by default 0.3 s for own, else "
        "2 s.",
    )
    judge_from: float = Field(
        0.5, ge=0, le=1, description="Least probability of a duplicate that is asked about."
    )
    judge_refinements: bool = Field(
        False, description="Ask too where one text has a little more, from cosine 0.95 on."
    )
    collection_idle_s: float = Field(
        300.0,
        ge=0,
        description="After so long without a call a collection is closed, that is: its memory "
        "given back. 0: never.",
    )
    memory_budget_mb: int = Field(
        0,
        ge=0,
        description="What open collections may hold in memory before the longest unused ones are "
        "closed. 0: half of the machine's memory.",
    )
    purge_deleted_days: float = Field(
        0.0,
        ge=0,
        le=36_500,
        description="After so many days a deleted collection is purged from the disk, and an Undo "
        "brings it back no more. 0: never.",
    )
    verify_interval_h: float = Field(
        24.0, ge=0, le=8760, description="Hours from one look at everything to the next; 0: never."
    )
    verify_share: float = Field(
        0.05, gt=0, le=1, description="Share of one core that looking at everything takes."
    )
    snapshot_every_h: float = Field(
        0.0,
        ge=0,
        le=8784,
        description="Take a snapshot of what changed, every so many hours; 0: never.",
    )
    snapshot_keep: int = Field(
        7,
        ge=1,
        le=limits.SNAPSHOTS_KEPT_MAX,
        description="How many of these stay, for each collection: the newest.",
    )
    grace_s: float = Field(
        10.0, ge=0, le=3600, description="How long running calls may go on after SIGTERM."
    )
    metrics_address: str = Field(
        "",
        description="Where Prometheus reads metrics, by HTTP: host:port, or a port of 127.0.0.1. "
        "Empty: nowhere.",
    )
    tracing_endpoint: str = Field(
        "",
        description="Where traces are sent, by OTLP over gRPC: http://host:port, or https. "
        "Empty: nowhere.",
    )
    log_level: LogLevel = Field("info", description="Least severe records that are logged.")
    log_calls: LogLevel = Field(
        "debug", description="Severity of the record of each call: one line for one call."
    )
    log_format: LogFormat = Field("console", description="Form of a log line.")

    @field_validator("address")
    @classmethod
    def _address_allowed(cls, value: str) -> str:
        parse_addresses(value)
        return value

    @field_validator("metrics_address")
    @classmethod
    def _metrics_address_formed(cls, value: str) -> str:
        parse_metrics_address(value)
        return value

    @field_validator("tracing_endpoint")
    @classmethod
    def _tracing_endpoint_formed(cls, value: str) -> str:
        match = _TRACING_ENDPOINT.fullmatch(value)
        if value and (match is None or not 1 <= int(match[2]) <= PORT_MAX):
            raise ValueError("allowed: http://host:port or https://host:port")
        return value

    @field_validator("store")
    @classmethod
    def _store_formed(cls, value: str) -> str:
        check_store(value)
        return value

    @field_validator("data_dir")
    @classmethod
    def _data_dir_absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @model_validator(mode="after")
    def _certificate_whole(self) -> Self:
        if bool(self.tls_cert) != bool(self.tls_key):
            raise ValueError("tls_cert and tls_key: give both, or neither")
        if self.tls_client_ca and not self.tls_cert:
            raise ValueError("tls_client_ca: needs tls_cert and tls_key")
        return self

    @model_validator(mode="after")
    def _one_store(self) -> Self:
        if self.store and "data_dir" in self.model_fields_set:
            raise ValueError(
                "data_dir and store: give one: a daemon keeps its collections in one place"
            )
        return self

    @model_validator(mode="after")
    def _each_daemon_has_a_place(self) -> Self:
        if self.daemons > 1 and not self.store:
            raise ValueError(
                "daemons: got "
                f"{self.daemons}, allowed: 1 without store: a data directory has one daemon"
            )
        for place in parse_addresses(self.address):
            count = place.last_port - place.port + 1 if place.last_port else self.daemons
            if count != self.daemons:
                raise ValueError(
                    f"address: {place.target} has {count} ports, allowed: one for each of "
                    f"{self.daemons} daemons"
                )
        return self

    @property
    def derived_dir(self) -> Path:
        """Below it, a daemon of a database keeps files that can be made anew."""
        return user_cache_path("totonoe") / "stores"

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Places to listen, parsed; and the data directory's socket unless others are given."""
        given = parse_addresses(self.address)
        if "address" in self.model_fields_set or self.store:
            return given
        return (*given, *socket_in(self.data_dir))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the names of pydantic-settings
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is handed in: `load` joins the sources, and knows where a value is from."""
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, and where the value of each is from.

    Attributes
    ----------
    origins : dict of str to str
        By name: an option, a variable, a file's path, or "default".
    file : Path or None
        The file that was read.
    """

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None


def load(file: Path | None, given: Mapping[str, object], *, listens: bool = True) -> LoadedSettings:
    """Join options, the environment and a file; an option wins, then a variable, then the file.

    Parameters
    ----------
    file : Path or None
        See `config_file.chosen_file`.
    given : mapping of str to object
        Options by the name of the setting; `None` counts as not given.
    listens : bool
        False for a command that serves nothing. Then `address` is left at its default: the same
        variable holds the address of clients, which may be that of another machine.

    Raises
    ------
    SettingsError
        Names the file, or each wrong setting, where it is from, and what is allowed.
    """
    options = {name: value for name, value in given.items() if value is not None}
    variables = EnvSettingsSource(Settings)()
    if not listens:
        variables.pop("address", None)
    try:
        written = {} if file is None else read_file(file, Settings.model_fields.keys())
    except ConfigFileError as error:
        raise SettingsError(str(error)) from None
    origins = {
        **dict.fromkeys(Settings.model_fields, "default"),
        **dict.fromkeys(written, str(file)),
        **{name: ENVIRONMENT_PREFIX + name.upper() for name in variables},
        **{name: "--" + name.replace("_", "-") for name in options},
    }
    kinds = [_wrong_kind(name, value) for name, value in written.items()]
    if faults := [f"{fault} ({file})" for fault in kinds if fault]:
        raise SettingsError("; ".join(faults))
    try:
        settings = Settings(**{**written, **variables, **options})
    except ValidationError as error:
        raise SettingsError("; ".join(_faults(error, origins))) from None
    return LoadedSettings(settings, origins, file)


def load_settings(**given: object) -> Settings:
    """Return settings from `given` and the environment, without a file. See `load`."""
    return load(None, given).settings


def served_settings(**given: object) -> Settings:
    """Return the settings that `serve` would have here, for a command that does not listen."""
    return load(chosen_file(None), given, listens=False).settings


def _faults(error: ValidationError, origins: Mapping[str, str]) -> list[str]:
    """Say each fault on one line: the setting, what is allowed, the value, where it is from."""
    lines = []
    for fault in error.errors(include_url=False, include_context=False):
        message = fault["msg"].removeprefix("Value error, ")
        place = ".".join(str(part) for part in fault["loc"])
        origin = origins.get(str(fault["loc"][0]), "") if fault["loc"] else ""
        # An address names itself, and a fault of several settings names them.
        named = place in ("address", "")
        # The address of a database may hold a password.
        got = "" if named or place == "store" else f", got {_shown(fault['input'])}"
        name = "" if named else f"{place}: "
        lines.append(f"{name}{message}{got} ({origin})" if origin else f"{name}{message}{got}")
    return lines


def _wrong_kind(name: str, value: object) -> str:
    """Return the fault of a file's value that has another type than its setting, or nothing.

    TOML has types: `true` is no number there, and "3" none either.
    """
    wanted = types_of(Settings.model_fields[name].annotation)
    if bool in wanted:
        allowed, fits = "true or false", isinstance(value, bool)
    elif float in wanted:
        allowed, fits = "a number", isinstance(value, int | float) and not isinstance(value, bool)
    elif int in wanted:
        allowed, fits = "a whole number", isinstance(value, int) and not isinstance(value, bool)
    elif wanted & {str, Path}:
        allowed, fits = "a string", isinstance(value, str)
    else:
        return ""
    return "" if fits else f"{name}: Input should be {allowed}, got {_shown(value)}"


def words_of(annotation: Any) -> tuple[str, ...]:
    """Return the words that a setting may be; none if it may be any text."""
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(word for part in get_args(annotation) for word in words_of(part))
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def types_of(annotation: Any) -> set[Any]:
    """Return the plain types of a setting: those of a union, and str for a set of words."""
    if get_origin(annotation) is Literal:
        return {type(word) for word in get_args(annotation)}
    if get_origin(annotation) in (Union, types.UnionType):
        return {kind for part in get_args(annotation) for kind in types_of(part)}
    return {annotation}


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."
