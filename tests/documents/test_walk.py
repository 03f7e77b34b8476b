"""The walk finds what a person expects, in a fixed order, and says why it left something out."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from semsearch.documents import walk
from semsearch.documents.walk import FileEntry, Rules
from semsearch.errors import GuardRail, NotFound
from semsearch.types import Skipped


def write(folder: Path, *names: str, text: str = "words") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(root: Path, rules: Rules | None = None) -> list[str]:
    return [f.relative for f in walk.files(root, rules or Rules()) if isinstance(f, FileEntry)]


def reasons(root: Path, rules: Rules | None = None) -> dict[str, str]:
    return {s.path: s.reason for s in walk.files(root, rules or Rules()) if isinstance(s, Skipped)}


def test_files_come_in_the_same_sorted_order_with_their_sizes(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a/z.txt", "a/b/c.txt", "c.txt")
    assert names(tmp_path) == ["a/b/c.txt", "a/z.txt", "b.txt", "c.txt"]
    assert all(isinstance(f, FileEntry) and f.size == 5 and f.path.is_file() for f in walk.files(tmp_path, Rules()))


def test_a_single_file_is_found_under_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/note.txt")
    assert names(tmp_path / ".hidden" / "note.txt") == ["note.txt"]


def test_a_path_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="absent"):
        list(walk.files(tmp_path / "absent", Rules()))


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert list(walk.files(tmp_path, Rules())) == []


def test_hidden_names_and_version_control_are_left_out_unless_included(tmp_path: Path) -> None:
    write(tmp_path, ".env", ".github/ci.yml", ".git/config", "CVS/Root", "a.txt", "sub/.x/y.md")
    assert names(tmp_path) == ["a.txt"]
    assert names(tmp_path, Rules(include=(".github/**", "*.txt"))) == [".github/ci.yml", "a.txt"]
    assert names(tmp_path, Rules(include=("**",))) == ["a.txt"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("*.md",), (), ["a.md", "docs/b.md", "docs/deep/c.md"]),
        (("docs/*.md",), (), ["docs/b.md"]),
        (("docs/**/*.md",), (), ["docs/b.md", "docs/deep/c.md"]),
        (("docs",), (), ["docs/b.md", "docs/deep/c.md", "docs/x.txt"]),
        ((), ("docs",), ["a.md", "t.txt"]),
        ((), ("deep/", "*.txt"), ["a.md", "docs/b.md"]),
        (("?.md",), ("a.*",), ["docs/b.md", "docs/deep/c.md"]),
    ],
)
def test_globs_choose_files(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]
) -> None:
    write(tmp_path, "a.md", "docs/b.md", "docs/deep/c.md", "docs/x.txt", "t.txt")
    assert names(tmp_path, Rules(include, exclude)) == expected


def test_ignore_files_work_as_git_does(tmp_path: Path) -> None:
    tree = ["a.txt", "a.log", "keep.log", "build/x.txt", "sub/build/y.txt", "sub/top.txt", "top.txt", "sub/b.log"]
    tree += [
        "sub/keep.log",
        "docs/a.tmp",
        "docs/deep/b.tmp",
        "docs/deep/c.txt",
        "x#y.txt",
        "space .txt",
        "sub/only.here",
    ]
    write(tmp_path, *tree)
    (tmp_path / ".gitignore").write_text(
        "*.log\n!keep.log\n/build/\n/top.txt\ndocs/*.tmp\n# no pattern\nspace\\ .txt\n"
    )
    (tmp_path / "sub" / ".gitignore").write_text("!b.log\nkeep.log\n/only.*\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard", "-z"]
    known_to_git = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    assert names(tmp_path) == sorted(n for n in known_to_git if n and ".gitignore" not in n)
    assert "sub/b.log" in names(tmp_path) and "sub/keep.log" not in names(tmp_path)
    assert set(names(tmp_path, Rules(use_ignore_files=False))) == set(tree)


def test_rules_above_the_root_apply_up_to_the_top_of_its_repository(tmp_path: Path) -> None:
    write(tmp_path, "repo/sub/a.txt", "repo/sub/a.log", "repo/sub/c.md", "repo/.git/HEAD")
    (tmp_path / ".gitignore").write_text("*.md\n")
    (tmp_path / "repo" / ".gitignore").write_text("*.log\n")
    assert names(tmp_path / "repo" / "sub") == ["a.txt", "c.md"]


def test_a_root_that_is_itself_ignored_is_read(tmp_path: Path) -> None:
    write(tmp_path, "build/a.txt", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert names(tmp_path) == []
    assert names(tmp_path / "build") == ["a.txt"]


def test_semsearchignore_wins_over_gitignore(tmp_path: Path) -> None:
    write(tmp_path, "a.log", "b.txt", "sub/c.log", "node_modules/m.js")
    (tmp_path / ".semsearchignore").write_text("!*.log\nb.txt\n")
    write(tmp_path, ".gitignore", "sub/.gitignore", text="*.log\n")
    assert names(tmp_path) == ["a.log", "sub/c.log"]


def test_a_link_inside_the_tree_gives_its_file_once(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "sub/b.txt", ".store/c.txt")
    (tmp_path / "again.txt").symlink_to("a.txt")
    (tmp_path / "folder").symlink_to("sub")
    (tmp_path / "sub" / "loop").symlink_to("..")
    (tmp_path / "c.txt").symlink_to(".store/c.txt")
    (tmp_path / "d.txt").symlink_to(".store/c.txt")
    assert names(tmp_path) == ["a.txt", "sub/b.txt", "c.txt"]
    assert reasons(tmp_path) == {}


def test_a_link_out_of_the_tree_or_to_nothing_is_skipped_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "outside.txt", "tree/a.txt", "elsewhere/b.txt")
    tree = tmp_path / "tree"
    (tree / "out.txt").symlink_to("../outside.txt")
    (tree / "far").symlink_to(tmp_path / "elsewhere")
    (tree / "dead").symlink_to("nowhere")
    (tree / "self").symlink_to("self")
    assert names(tree) == ["a.txt"]
    outside, nothing = "a link to outside the folder", "a broken link"
    assert reasons(tree) == {"out.txt": outside, "far": outside, "dead": nothing, "self": nothing}


def test_hard_links_are_two_files(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_pipes_sockets_and_devices_are_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")  # whoever opens it waits for ever
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.txt"))
    (tmp_path / "null.txt").symlink_to("/dev/null")
    found = reasons(tmp_path)
    assert found["pipe.txt"] == "a named pipe, not a file"
    assert found["s.txt"] == "a socket, not a file"
    assert names(tmp_path) == []
    assert reasons(tmp_path / "pipe.txt") == {"pipe.txt": "a named pipe, not a file"}


def test_a_file_over_the_limit_is_skipped_with_both_sizes(tmp_path: Path) -> None:
    for name in ("big.txt", "records.jsonl"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(12_900_000)
    with (tmp_path / "just.txt").open("wb") as file:
        file.truncate(10 * 2**20 + 1)
    assert reasons(tmp_path) == {
        "big.txt": "12.4 MB is over the limit of 10 MB for files",
        "just.txt": "10.1 MB is over the limit of 10 MB for files",
    }
    assert names(tmp_path) == ["records.jsonl"]
    assert "records.jsonl" in reasons(tmp_path, Rules(streamed=()))
    assert len(names(tmp_path, Rules(max_bytes=20 * 2**20))) == 3


def test_binary_files_are_recognised_by_name_and_reported(tmp_path: Path) -> None:
    write(tmp_path, "photo.JPG", "a.zip", "lib.so", "a.txt")
    (tmp_path / "photo.JPG").chmod(0)
    expected = {"photo.JPG": "image", "a.zip": "archive", "lib.so": "program"}
    assert reasons(tmp_path) == {name: f"binary file ({kind})" for name, kind in expected.items()}
    assert names(tmp_path, Rules(include=("*.zip",))) == ["a.zip"]


def test_names_that_are_not_utf8_can_be_stored_printed_and_opened(tmp_path: Path) -> None:
    raw = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")  # noqa: PTH118
    with open(raw, "wb") as file:  # noqa: PTH123
        file.write(b"words")
    (found,) = walk.files(tmp_path, Rules())
    assert isinstance(found, FileEntry)
    assert found.relative == "caf\\xe9.txt"
    assert found.path.read_text() == "words"
    assert sqlite3.connect(":memory:").execute("SELECT ?", (found.relative,)).fetchone() == (found.relative,)
    write(tmp_path, "naïve 文.txt")
    assert "naïve 文.txt" in names(tmp_path)


def test_a_folder_that_cannot_be_listed_is_skipped_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a/x.txt", "locked/y.txt", "z.txt")
    listing = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "locked":  # the suite may run as root, whom no permission stops
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tmp_path) == ["a/x.txt", "z.txt"]
    assert reasons(tmp_path) == {"locked": "cannot be read: Permission denied"}


def test_a_hidden_folder_that_may_not_be_entered_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ".locked/y.txt", "z.txt")
    status = os.stat

    def refuse(path: Any, **options: Any) -> os.stat_result:
        if Path(path).parent.name == ".locked":
            raise PermissionError(13, "Permission denied")
        return status(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    assert names(tmp_path) == ["z.txt"]
    assert reasons(tmp_path) == {}


def test_a_very_deep_tree_is_walked(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(900):
        deep = deep / "d"
    deep.mkdir(parents=True)
    write(deep, "x.txt")
    assert len(names(tmp_path)) == 1


def test_whole_disks_and_homes_are_guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for place in (Path("/"), tmp_path, tmp_path / "sub" / ".."):
        (tmp_path / "sub").mkdir(exist_ok=True)
        with pytest.raises(GuardRail, match="yes=True"):
            walk.guard(place, None, yes=False)
        walk.guard(place, 10**9, yes=True)
    walk.guard(tmp_path / "sub", walk.MAX_FILES, yes=False)
    with pytest.raises(GuardRail, match="100,000"):
        walk.guard(tmp_path / "sub", walk.MAX_FILES + 1, yes=False)


def test_mails_on_their_way_into_a_maildir_are_named(tmp_path: Path) -> None:
    for name in ("cur/1", "new/2", "tmp/3"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("From: a@example.org\nSubject: tea\n\nHot.\n")
    found = list(walk.files(tmp_path, walk.Rules()))
    assert [each.relative for each in found if isinstance(each, walk.FileEntry)] == ["cur/1", "new/2"]
    assert [each for each in found if isinstance(each, Skipped)] == [Skipped("tmp/3", walk.ON_ITS_WAY)]


def test_folders_of_a_maildir_are_walked_though_their_names_are_hidden(tmp_path: Path) -> None:
    for name in ("cur/1", ".Sent/cur/2", ".Sent/new/3", ".cache/4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("From: a@example.org\nSubject: tea\n\nHot.\n")
    found = [each.relative for each in walk.files(tmp_path, walk.Rules()) if isinstance(each, walk.FileEntry)]
    assert found == [".Sent/cur/2", ".Sent/new/3", "cur/1"]
