"""Settings of the daemon, read once: options of `serve`, then the environment, then defaults.

`docs/configuration.md` shows them to users; a test holds that it names every one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from platformdirs import user_state_path
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from totonoe_core.base import limits
from totonoe_server.life.addresses import Address, parse_addresses
from totonoe_server.life.logs import LogFormat

ADDRESS_DEFAULT = "127.0.0.1:7766"
ENVIRONMENT_PREFIX = "TOTONOE_"

EmbedderKind = Literal["use", "hashing", "openai", "sentence-transformers", "model2vec", "none"]
JudgeKind = Literal["none", "openai", "nli"]
LogLevel = Literal["debug", "info", "warning", "error"]


class SettingsError(ValueError):
    """A setting is outside what is allowed. The message is one line that names it."""


class Settings(BaseSettings):
    """All settings. Each can be given as `TOTONOE_` and its name in capitals.

    Variables with the prefix that are unknown here are left alone: clients have their own.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, frozen=True, extra="forbid"
    )

    address: str = Field(
        ADDRESS_DEFAULT,
        description="Where to listen: host:port or unix:/path, several with commas. "
        "Loopback and Unix sockets only.",
    )
    data_dir: Path = Field(
        default_factory=lambda: user_state_path("totonoe"),
        description="Directory that holds everything; made with mode 0700.",
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
    judge: JudgeKind = Field("none", description="What is asked about borderline pairs of texts.")
    judge_url: str = Field(
        "", description="openai: address of the service, with the version: http://host/v1."
    )
    judge_model: str = Field("", description="openai: name of the model.")
    judge_api_key_env: str = Field(
        "", description="openai: environment variable that holds the key."
    )
    judge_path: str = Field("", description="nli: directory of the saved model.")
    judge_deadline_s: float = Field(
        2.0, gt=0, le=10, description="How long a write waits for the judge at most."
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
    log_level: LogLevel = Field("info", description="Least severe records that are logged.")
    log_format: LogFormat = Field("console", description="Form of a log line.")

    @field_validator("address")
    @classmethod
    def _address_allowed(cls, value: str) -> str:
        parse_addresses(value)
        return value

    @field_validator("data_dir")
    @classmethod
    def _data_dir_absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Places to listen, parsed."""
        return parse_addresses(self.address)


def load_settings(**given: object) -> Settings:
    """Settings from `given` (what is `None` counts as not given) over the environment.

    Raises
    ------
    SettingsError
        Names each wrong setting, and what is allowed.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        lines = []
        for fault in error.errors(include_url=False, include_context=False):
            message = fault["msg"].removeprefix("Value error, ")
            place = ".".join(str(part) for part in fault["loc"])
            lines.append(message if place == "address" else f"{place}: {message}")
        raise SettingsError("; ".join(lines)) from None
