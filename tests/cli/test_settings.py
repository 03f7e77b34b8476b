"""Settings: their precedence, the values that are refused, and the locations of files."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from semsearch import admin, settings
from semsearch.errors import UnknownName, UsageError


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with no settings, in an empty project folder."""
    for field in settings.Settings.__dataclass_fields__:
        monkeypatch.delenv(f"SEMSEARCH_{field.upper()}", raising=False)
    for variable, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache")):
        monkeypatch.setenv(variable, str(tmp_path / folder))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def write_user_file(text: str) -> None:
    settings.user_file().parent.mkdir(parents=True, exist_ok=True)
    settings.user_file().write_text(text, encoding="utf-8")


def write_project_file(text: str) -> None:
    Path("semsearch.toml").write_text(text, encoding="utf-8")


def test_a_flag_beats_the_environment_beats_the_project_beats_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.load().k == 10
    write_user_file("k = 11")
    assert settings.resolve()["k"] == (11, str(settings.user_file().resolve()))
    write_project_file("k = 12")
    assert settings.resolve()["k"] == (12, str(Path("semsearch.toml").resolve()))
    monkeypatch.setenv("SEMSEARCH_K", "13")
    assert settings.resolve()["k"] == (13, "SEMSEARCH_K")
    assert settings.resolve({"k": 14})["k"] == (14, "flag")
    assert settings.load({"k": None}).k == 13  # None: the flag was not used


def test_every_setting_has_a_variable_and_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    good = {
        "home": "/h", "model": "m", "device": "cuda:1", "threads": "2", "k": "3", "mode": "keyword", "cache": "/c",
        "embedding_cache_mb": "0", "offline": "yes", "reranker": "r",
        "read_seconds": "4", "read_memory_mb": "65", "read_output_mb": "5",
    }  # fmt: skip
    assert set(good) == set(settings.Settings.__dataclass_fields__)
    for key, value in good.items():
        monkeypatch.setenv(f"SEMSEARCH_{key.upper()}", value)
    loaded = settings.load()
    assert (loaded.home, loaded.cache) == (Path("/h"), Path("/c"))
    assert (loaded.model, loaded.device, loaded.mode, loaded.reranker) == ("m", "cuda:1", "keyword", "r")
    assert (loaded.threads, loaded.k, loaded.embedding_cache_mb, loaded.offline) == (2, 3, 0, True)
    assert (loaded.read_seconds, loaded.read_memory_mb, loaded.read_output_mb) == (4, 65, 5)


@pytest.mark.parametrize(
    ("key", "value"),
    [("k", "0"), ("k", "many"), ("threads", "-1"), ("device", "tpu"), ("mode", "fuzzy"), ("offline", "maybe")],
)
def test_an_invalid_variable_is_refused_by_name(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"SEMSEARCH_{key.upper()}", value)
    with pytest.raises(UsageError, match=f"SEMSEARCH_{key.upper()}"):
        settings.load()


@pytest.mark.parametrize("text", ["k = 2.5", "k = true", "k = '2x'", "offline = 1", "model = 3", "home = ''", "k = "])
def test_an_invalid_file_is_refused_by_name(text: str) -> None:
    write_user_file(text)
    with pytest.raises(UsageError, match=r"semsearch\.toml"):
        settings.load()


def test_a_file_that_is_not_text_is_refused_by_name() -> None:
    Path("semsearch.toml").write_bytes(b"k = 1 # \xff")
    with pytest.raises(UsageError, match=r"semsearch\.toml"):
        settings.load()


def test_an_unknown_key_names_the_file_and_the_closest_key() -> None:
    write_user_file("thread = 2")
    with pytest.raises(UnknownName) as caught:
        settings.load()
    assert str(settings.user_file()) in caught.value.message
    assert "'threads'" in caught.value.fix


@pytest.mark.parametrize(
    "text",
    [
        "home = '/tmp/elsewhere'", "home = '../elsewhere'", "home = '~/elsewhere'", "model = './weights'",
        "model = 'hf:someone/something'", "model = '/weights'", "reranker = './weights'",
        "offline = false", "cache = 'c.db'",
        "embedding_cache_mb = 999999",
        "read_seconds = 31",
        "read_memory_mb = 1025",
        "read_output_mb = 11",
    ],
)  # fmt: skip
def test_a_project_cannot_reach_beyond_its_folder(text: str) -> None:
    write_project_file(text)
    with pytest.raises(UsageError, match="a project may not set"):
        settings.load()
    Path("semsearch.toml").unlink()
    write_user_file(text)
    settings.load()  # the user may


def test_a_project_cannot_leave_its_folder_through_a_link(tmp_path: Path) -> None:
    Path("inside").symlink_to(tmp_path)
    write_project_file("home = 'inside/indexes'")
    with pytest.raises(UsageError, match="a project may not set home"):
        settings.load()


def test_a_project_may_set_what_is_harmless() -> None:
    write_project_file(
        "home = 'data/indexes'\nmodel = 'static-1.0'\noffline = true\nk = 3\nmode = 'keyword'\nthreads = 1"
    )
    loaded = settings.load()
    assert (loaded.home, loaded.model, loaded.offline, loaded.k) == (Path("data/indexes"), "static-1.0", True, 3)


def test_home_is_the_flag_the_variable_the_checkout_the_users_data(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.home() == tmp_path / "data" / "semsearch" / "indexes"
    (machine / "indexes").mkdir()
    assert settings.home().resolve() == machine / "indexes"
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path / "elsewhere"))
    assert settings.home() == tmp_path / "elsewhere"
    assert settings.home(tmp_path / "flag") == tmp_path / "flag"


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMSEARCH_HOME", "")
    monkeypatch.setenv("SEMSEARCH_K", "")
    assert settings.load() == settings.Settings()


def test_an_index_is_below_home_unless_its_name_is_a_path(tmp_path: Path) -> None:
    assert settings.index_folder("notes", tmp_path) == tmp_path / "notes"
    assert settings.index_folder("./notes", tmp_path) == Path("notes")
    assert settings.index_folder(Path("notes"), tmp_path) == Path("notes")
    assert settings.index_folder("/somewhere/notes", tmp_path) == Path("/somewhere/notes")


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "-n", "a\nb", "a\x00b"])
def test_an_unsafe_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        settings.index_folder(name, tmp_path)


def test_only_folders_with_a_store_are_indexes(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
    for name in ("b", "a"):
        (tmp_path / name / "store.db").touch()
    assert admin.names(tmp_path) == ["a", "b"]
    assert admin.names(tmp_path / "nowhere") == []
    assert [admin.exists(name, tmp_path) for name in "abc"] == [True, True, False]


def test_the_embedding_cache_is_the_users_and_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings.cache_file() == tmp_path / "cache" / "semsearch" / "embeddings.db"
    monkeypatch.setenv("SEMSEARCH_CACHE", str(tmp_path / "fast.db"))
    assert settings.cache_file() == tmp_path / "fast.db"


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.mkdir()


def _socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(file.name)  # the address of a socket is short, so the name is relative to the working directory


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_pipe, "no regular file"),
        (_folder, "no regular file"),
        (_socket, "no regular file"),
        (lambda file: file.symlink_to("/dev/zero"), "no regular file"),
        (lambda file: file.symlink_to("/dev/tty"), "no regular file"),
        (lambda file: file.symlink_to(file), "cannot be read"),
        (lambda file: file.write_text("#" * 1_000_001), "larger than 1,000,000 bytes"),
        (lambda file: file.write_text("k = " + "[" * 20_000), "nested too deeply"),
        (lambda file: file.write_text("k = " + "{a=" * 20_000), "nested too deeply|Expected|Cannot"),
        (lambda file: file.write_text("k = " + "9" * 20_000), "digits"),
        (lambda file: file.write_bytes(b"k = \xff"), "cannot be read"),
    ],
)
@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_settings_file_that_is_none_is_one_clear_error(
    make: Callable[[Path], object], reason: str, whose: str
) -> None:
    file = Path("semsearch.toml") if whose == "project" else settings.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    if make is _socket and whose == "user":
        pytest.skip("its address would be too long")
    make(file)
    signal.alarm(20)  # ends a run that waits for the other end of a pipe
    try:
        with pytest.raises(UsageError, match=rf"semsearch\.toml: .*({reason})") as caught:
            settings.load()
    finally:
        signal.alarm(0)
    assert len(str(caught.value)) < 400


def test_a_settings_file_may_be_a_link_to_one() -> None:
    Path("shared.toml").write_text("k = 17", encoding="utf-8")
    Path("semsearch.toml").symlink_to("shared.toml")
    assert settings.load().k == 17
