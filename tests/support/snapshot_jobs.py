"""Forks children that do one thing with snapshots and are killed in it, before the n-th change of
a file's name or the n-th sync: python -m support.snapshot_jobs, one JSON job a line."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from support.engines import opened
from support.waits import wait_s
from totonoe_core.domain.memories import Purge
from totonoe_core.domain.snapshots import SnapshotUse

SECRET = "Zanzibar is the password of pump seven"
EVENTS = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"})
KINDS = ("create", "rewrite", "delete", "restore", "replace")


def carry_out(store: Any, kind: str, named: dict[str, str]) -> None:
    """One of the KINDS, to its answer."""
    engine, name = store.engine, store.collection
    if kind == "create":
        engine.create_snapshot(name, "op", agent_id="anna", name="", comment="").result(wait_s())
    elif kind == "delete":
        engine.delete_snapshot(named["snapshot"], "op", agent_id="anna").result(wait_s())
    elif kind == "rewrite":
        store.apply(Purge("anna", (named["secret"],)), operation_id="op")
        engine.purge_snapshots(
            name, "anna", [named["secret"]], SnapshotUse.REWRITE, dry_run=False
        ).result(wait_s())
    else:
        into = "other" if kind == "restore" else name
        token = ""
        for _ in range(2):
            answer = engine.restore_snapshot(
                named["snapshot"], into, "op", agent_id="anna", confirmation_token=token
            ).result(wait_s())
            token = answer.confirmation_token
            if answer.restored:
                return


class Death:
    """Kills the process before the n-th change or sync, from when it is armed."""

    def __init__(self, root: Path, last: int) -> None:
        self.root, self.last, self.count, self.armed = str(root), last, 0, False
        sys.addaudithook(self.hook)
        sync = os.fsync

        def counted(descriptor: int) -> None:
            self.step()
            sync(descriptor)

        os.fsync = counted

    def hook(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.armed or event not in EVENTS or not str(given[0]).startswith(self.root):
            return
        if event == "open" and not str(given[1] or "").startswith(("w", "x")):
            return
        self.step()

    def step(self) -> None:
        if not self.armed:
            return
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


def work(job: dict[str, Any], answered: int) -> None:
    root = Path(job["directory"])
    death = Death(root, job["last"])
    with opened(root) as store:
        store.collection = job["named"]["collection"]
        store.list()
        death.armed = True
        carry_out(store, job["kind"], job["named"])
        os.write(answered, b"1")
        death.armed = False


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            work(job, write)
            os._exit(0)
        os.close(write)
        said = os.read(read, 1)
        os.close(read)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(json.dumps([bool(said), os.waitstatus_to_exitcode(status)]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
