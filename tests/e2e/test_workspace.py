"""`totonoe workspace` beside a real daemon: the files follow, whoever is killed meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import totonoe
from support.daemons import DaemonProcess, command_process, run_command
from support.waits import wait_s, wait_until
from totonoe.workspace.files import marked

HAND = "# What I think\n\nThese lines are mine.\n"


@contextmanager
def workspace(daemon: DaemonProcess, folder: Path) -> Iterator[Callable[[], None]]:
    """The command as a process that follows; gives what kills it with kill -9."""
    with command_process(daemon, "workspace", str(folder), "--agent", "planner") as process:

        def kill() -> None:
            process.kill()
            process.wait()

        yield kill
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            assert process.wait(wait_s()) == 0


def files(folder: Path) -> dict[str, set[str]]:
    """Entries by file, and the latest monologue."""
    found = {
        str(path.relative_to(folder)): {line for line in lines_of(path) if marked(line)}
        for path in [folder / "MEMORY.md", *folder.glob("memory/????-??-??.md")]
        if path.exists()
    }
    monologue = folder / "memory" / "inner-monologue-latest.md"
    if monologue.exists():
        found["monologue"] = set(lines_of(monologue))
    return {name: entries for name, entries in found.items() if entries}


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def wanted(client: totonoe.Client) -> dict[str, set[str]]:
    """What the files must hold for what anybody may see."""
    found: dict[str, set[str]] = {}
    for memory in client.list_all():
        then = memory.created_time
        label = f"[{memory.category}] " if memory.category else ""
        entry = f"{label}{memory.content} [id:{memory.id}]"
        daily = f"memory/{then:%Y-%m-%d}.md"
        found.setdefault(daily, set()).add(f"- {then:%H:%M} {entry}")
        if memory.importance >= 4 or memory.category in ("introspection", "constraint"):
            found.setdefault("MEMORY.md", set()).add(f"- {then:%Y-%m-%d} {entry}")
        if memory.category == "introspection":
            found["monologue"] = {memory.content}
    return found


@pytest.mark.timeout(240)
def test_workspace_follows_all_that_agents_do(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(HAND)
    with DaemonProcess(tmp_path / "data") as daemon:
        planner, coder, stranger = (
            totonoe.Client(daemon.address, agent_id=name) for name in ("planner", "coder", "third")
        )

        def follows() -> None:
            wait_until(lambda: files(folder) == wanted(stranger), lambda: files(folder))

        port = planner.remember("The staging database listens on port 5433.", importance=5)
        other = folder / "memory" / "plan.md"
        other.write_text(f"not yours [id:{port.memory_id}]\n")
        with workspace(daemon, folder) as kill:
            follows()
            cache = coder.remember("The cache holds 200 entries.", category="constraint")
            coder.remember("I looked twice today.", category="introspection")
            latest = planner.remember("I should have asked.", category="introspection")
            planner.remember("The vault opens at seven.", private=True)
            coder.remember("The drawer holds a key.", private=True, importance=5)
            follows()
            assert (folder / "memory" / "inner-monologue-latest.md").read_text() == (
                "I should have asked.\n"
            )

            changed = planner.update(cache.memory_id, content="The cache holds 300 entries.")
            follows()
            newer = coder.remember("Staging is on 5440 now.", supersede_ids=[port.memory_id])
            follows()
            twin = coder.remember("Postgres of staging: port 5440, since Tuesday.", importance=4)
            merged = planner.merge(newer.memory_id, [twin.memory_id], content="Staging: 5440.")
            assert merged.merged
            follows()
            planner.forget(latest.memory_id, reason="I did ask")
            follows()
            planner.undo(changed.operation_id)
            follows()
            hidden = coder.update(cache.memory_id, private=True)
            follows()
            assert cache.memory_id not in (folder / "MEMORY.md").read_text()
            coder.undo(hidden.operation_id)
            follows()
            assert cache.memory_id in (folder / "MEMORY.md").read_text()

            # By hand, while it follows.
            with (folder / "MEMORY.md").open("a") as file:
                file.write("Mine again, at the end\n")
            secret = coder.remember("The passphrase is tangerine.", importance=4)
            follows()
            assert "tangerine" in (folder / "MEMORY.md").read_text()
            run_command(daemon, "purge", secret.memory_id, "--yes", "--agent", "coder")
            follows()
            kill()

        # Nobody follows now.
        coder.undo(merged.operation_id)
        coder.forget(cache.memory_id, reason="dropped")
        kept = planner.remember("Deploys run at noon.", importance=4)
        own = planner.remember("A thought that I keep to myself later.")
        planner.update(own.memory_id, private=True)
        memory = (folder / "MEMORY.md").read_text()
        (folder / "MEMORY.md").write_text(memory.replace(HAND, HAND + "A line between\n"))

        with workspace(daemon, folder):
            follows()
            daemon.kill()
            daemon.start()
            coder.remember("After the crash all is there.", importance=4)
            follows()
            planner.forget(kept.memory_id, reason="they run at one")
            follows()

        memory = (folder / "MEMORY.md").read_text()
        assert memory.startswith(HAND + "A line between\n")
        assert memory.count("Mine again, at the end\n") == 1
        assert other.read_text() == f"not yours [id:{port.memory_id}]\n"
        everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        for word in (b"vault", b"drawer", b"tangerine", b"to myself"):
            assert word not in everything
