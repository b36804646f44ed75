"""Apply changed settings to the running daemon, and name those that need a restart.

Whoever can take a change over joins with `on`: a function and the names of its settings. SIGHUP
calls `reload`, which reads all sources of settings again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from totonoe_server.life.config import Settings, SettingsError
from totonoe_server.logger import logger, trace_of

Apply = Callable[[Settings], None]


@dataclass(frozen=True, slots=True)
class _Taker:
    names: frozenset[str]
    apply: Apply


class Reloader:
    """The settings that the daemon runs with, and the takers of new ones. Event loop only.

    Parameters
    ----------
    settings : Settings
        The daemon started with these.
    load : callable
        Reads all sources again. Raises `SettingsError`.
    """

    def __init__(self, settings: Settings, load: Callable[[], Settings]) -> None:
        self.settings = settings
        self._load = load
        self._takers: list[_Taker] = []

    def on(self, names: tuple[str, ...], apply: Apply) -> None:
        """Join. `apply` is called at every reload, also if its settings are the same.

        So whoever reads a file that a setting names (a certificate) reads it again. If `apply`
        raises `OSError` or `ValueError`, the daemon goes on with the earlier values of `names`.
        """
        self._takers.append(_Taker(frozenset(names), apply))

    def reload(self) -> None:
        """Read the settings again and apply what can be applied. Logs all of it; never raises."""
        try:
            new = self._load()
        except SettingsError as error:
            logger.error("settings are not reloaded", why=str(error))
            return
        before = self.settings
        changed = {
            name for name in Settings.model_fields if getattr(new, name) != getattr(before, name)
        }
        taken: set[str] = set()
        for taker in self._takers:
            try:
                taker.apply(new)
            except (OSError, ValueError) as error:
                logger.error(
                    "settings are not applied", names=sorted(taker.names), **trace_of(error)
                )
            else:
                taken |= taker.names
        # What waits for a restart keeps its value, so that the next reload names it again.
        self.settings = before.model_copy(
            update={name: getattr(new, name) for name in changed & taken}
        )
        reloadable = {name for taker in self._takers for name in taker.names}
        waiting = sorted(changed - reloadable)
        logger.log(
            logging.WARNING if waiting else logging.INFO,
            "settings reloaded",
            changed=sorted(changed & taken),
            needs_restart=waiting,
        )
