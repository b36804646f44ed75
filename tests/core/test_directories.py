"""Data directories that are open to other users: closed, or refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from support.engines import opened
from totonoe_core.store import directories


def modes(path: Path) -> dict[str, int]:
    """The mode of a directory and of all in it, links left out."""
    found = [path, *path.rglob("*")]
    return {
        str(file.relative_to(path)): stat.S_IMODE(file.lstat().st_mode)
        for file in found
        if not file.is_symlink()
    }


def open_all(path: Path) -> int:
    """Gives everybody every right; says of how many."""
    found = [path, *path.rglob("*")]
    for file in found:
        file.chmod(0o777 if file.is_dir() else 0o666)
    return len(found)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with opened(path) as store:
        store.save("text")
        store.create_snapshot()
    return path


def test_what_is_open_to_others_is_closed(data: Path) -> None:
    count = open_all(data)
    assert directories.tighten(data) == count
    found = modes(data)
    assert found.pop(".") == 0o700
    assert set(found.values()) == {0o700, 0o600}
    assert directories.tighten(data) == 0
    with opened(data) as store:
        assert [memory.content for memory in store.list()] == ["text"]


def test_only_our_own_files_are_touched_and_no_link_is_followed(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("")
    other.chmod(0o644)
    beside = data / "notes.txt"
    beside.write_text("")
    beside.chmod(0o644)
    (data / "collections" / "link").symlink_to(other)
    directories.tighten(data)
    assert stat.S_IMODE(other.stat().st_mode) == stat.S_IMODE(beside.stat().st_mode) == 0o644


def test_rights_of_the_owner_stay_as_they_are(data: Path) -> None:
    (data / "catalog.db").chmod(0o444)
    directories.tighten(data)
    assert modes(data)["catalog.db"] == 0o400


@pytest.mark.parametrize("names", [(), ("LOCK",), ("LOCK", "lost+found")])
def test_empty_directory_that_is_open_is_taken(tmp_path: Path, names: tuple[str, ...]) -> None:
    place = tmp_path / "data"
    place.mkdir()
    for name in names:
        (place / name).touch()
    place.chmod(0o755)
    assert directories.tighten(place) >= 1
    assert modes(place)["."] == 0o700


def test_directory_of_other_things_that_is_open_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "home"
    place.mkdir()
    (place / "letters").touch(0o644)
    place.chmod(0o755)
    before = modes(place)
    with pytest.raises(PermissionError) as caught:
        directories.tighten(place)
    assert caught.value.filename == str(place)
    assert "mode 0755" in str(caught.value.strerror)
    assert "holds other files" in str(caught.value.strerror)
    assert modes(place) == before
    place.chmod(0o700)
    assert directories.tighten(place) == 0


def test_what_another_user_owns_is_refused(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data / "catalog.db").chmod(0o640)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    with pytest.raises(PermissionError) as caught:
        directories.tighten(data)
    assert caught.value.filename == str(data / "catalog.db")
    assert "mode 0640" in str(caught.value.strerror)
    assert "another user" in str(caught.value.strerror)


def test_directory_that_is_not_there_is_left_to_be_made(tmp_path: Path) -> None:
    assert directories.tighten(tmp_path / "data") == 0
    assert not (tmp_path / "data").exists()


def test_files_made_within_private_are_for_their_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with directories.private():
            (tmp_path / "one").write_text("")
        (tmp_path / "two").write_text("")
        assert modes(tmp_path)["one"] == 0o600
        assert modes(tmp_path)["two"] == 0o644
    finally:
        os.umask(before)
