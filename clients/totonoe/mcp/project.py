"""The collection of a project: named for the root of its git repository."""

from __future__ import annotations

import re
from pathlib import Path

NAME_CHARS_MAX = 64
"""Characters of the name of a collection."""
_FORBIDDEN = re.compile(r"[^a-z0-9_.-]+")


def git_root(folder: Path) -> Path | None:
    """Return the nearest folder, from `folder` upwards, that holds `.git`; `None`: there is none.

    A worktree and a submodule have a file of that name, and are roots of their own.
    """
    here = folder.resolve()
    return next((path for path in (here, *here.parents) if (path / ".git").exists()), None)


def project_collection(folder: Path) -> str:
    """Return the name of the collection of a project: that of its git root, in small letters.

    Characters that a name of a collection must not have become `-`.

    Raises
    ------
    ValueError
        If there is no git repository, or nothing of its name can be used.
    """
    root = git_root(folder)
    if root is None:
        raise ValueError(f"collection: got 'project', allowed: inside a git repository ({folder})")
    name = _FORBIDDEN.sub("-", root.name.lower()).strip("-_.")[:NAME_CHARS_MAX]
    if not name:
        raise ValueError(
            f"collection: got 'project' in {root}, allowed: a folder whose name has a letter "
            "a to z or a digit"
        )
    return name
