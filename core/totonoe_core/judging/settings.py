"""Settings of the judge: its kind, the pairs that it gets, and the deadline."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from totonoe_core.base import limits
from totonoe_core.judging.protocol import Judge, misconfigured

JudgeKind = Literal["none", "own", "openai", "decisions"]
KINDS: tuple[JudgeKind, ...] = get_args(JudgeKind)
JudgeDialect = Literal["openai", "systemone"]
DIALECTS: tuple[JudgeDialect, ...] = get_args(JudgeDialect)
OWN_DEADLINE_S, OTHER_DEADLINE_S = 0.3, 2.0


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of the judge; fields a kind does not need are left empty.

    Attributes
    ----------
    kind : str
        One of `KINDS`. With "none" there is no judge; "own" is the model that ships.
    path : str
        own: directory of another model; empty for the shipped one.
    processes : int
        own: processes that judge.
    url : str
        openai, decisions: with the version, as in `http://127.0.0.1:11434/v1`.
    model : str
        openai, decisions: the model's name, as the server calls it.
    api_key_env : str
        openai, decisions: environment variable that holds the key; empty for none.
    dialect : str
        decisions: one of `DIALECTS`.
    agreed_from : float
        decisions: least probability of the chosen relation, in both orders of the texts, for an
        opinion. In (0.5, 1].
    deadline_s : float or None
        Longest time that a write waits, for all its pairs together. In (0, JUDGE_DEADLINE_S_MAX].
        `None`: 0.3 s for "own", 2 s for others.
    asked_from : float
        Least probability of a duplicate, 0..1, from which on a rewording is judged.
    refinements : bool
        Judge pairs too in which one text has a little more, from cosine 0.95 on.

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED, naming the field.
    """

    kind: JudgeKind = "none"
    path: str = ""
    processes: int = 1
    url: str = ""
    model: str = ""
    api_key_env: str = ""
    dialect: JudgeDialect = "openai"
    agreed_from: float = 0.99
    deadline_s: float | None = None
    asked_from: float = 0.5
    refinements: bool = False

    def __post_init__(self) -> None:
        _require(self.kind in KINDS, "kind", self.kind, " | ".join(KINDS))
        _require(
            self.deadline_s is None or 0 < self.deadline_s <= limits.JUDGE_DEADLINE_S_MAX,
            "deadline_s",
            self.deadline_s,
            f"above 0, at most {limits.JUDGE_DEADLINE_S_MAX}",
        )
        _require(0 <= self.asked_from <= 1, "asked_from", self.asked_from, "0..1")
        _require(self.dialect in DIALECTS, "dialect", self.dialect, " | ".join(DIALECTS))
        _require(
            0.5 < self.agreed_from <= 1, "agreed_from", self.agreed_from, "above 0.5, at most 1"
        )
        if self.kind in ("openai", "decisions"):
            _require(
                self.model.split() == [self.model],
                "model",
                repr(self.model),
                "the name of a model, without white space",
            )
            _require(
                self.url.startswith(("http://", "https://")) and not {"@", "?"} & set(self.url),
                # Not shown: a URL may carry a secret, which is why "@" and "?" are refused.
                "url",
                "another form",
                "http(s)://host/v1, without a password or a query",
            )

    @property
    def patience_s(self) -> float:
        """Longest time that a write waits."""
        if self.deadline_s is not None:
            return self.deadline_s
        return OWN_DEADLINE_S if self.kind == "own" else OTHER_DEADLINE_S


def make_judge(settings: JudgeSettings) -> Judge:
    """Make the judge; the processes of "own" load beside this one.

    Raises
    ------
    Precondition
        JUDGE_MISCONFIGURED: an uninstalled package, a missing file, a variable that is not set,
        or no judge.
    """
    # Imported only when chosen: a daemon without a judge does not load its packages.
    if settings.kind == "openai":
        from totonoe_core.judging.openai import OpenAIJudge

        return OpenAIJudge(
            url=settings.url,
            model=settings.model,
            api_key_env=settings.api_key_env,
            timeout_s=settings.patience_s,
        )
    if settings.kind == "decisions":
        from totonoe_core.judging.decisions import DecisionsJudge

        return DecisionsJudge(
            url=settings.url,
            model=settings.model,
            dialect=settings.dialect,
            agreed_from=settings.agreed_from,
            api_key_env=settings.api_key_env,
            timeout_s=settings.patience_s,
        )
    if settings.kind == "own":
        from totonoe_core.judging.own import SHIPPED
        from totonoe_core.judging.processes import ProcessJudge

        directory = Path(settings.path) if settings.path else SHIPPED
        return ProcessJudge(directory, settings.processes)
    raise misconfigured(field="kind", got=settings.kind, allowed="a kind that judges")


def has_own_judge() -> bool:
    """Return whether this installation has what the daemon's own judge needs."""
    packages = all(find_spec(name) is not None for name in ("onnxruntime", "sentencepiece"))
    return packages and (Path(__file__).parent / "model" / "judge.json").is_file()


def _require(holds: bool, field: str, got: object, allowed: str) -> None:
    if not holds:
        raise misconfigured(field=field, got=got, allowed=allowed)
