"""Fixtures for every test: an encoder without a model, the encoder that ships, and the folder of public data."""

from __future__ import annotations

import functools
import gc
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.mark.expression import Expression
from helpers import linters
from hypothesis import HealthCheck, is_hypothesis_test, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from helpers.commandline import CommandLine

    from scripts.shared.postgres_server import PostgresServer
    from semsearch.encoders.encoder import Encoder
    from semsearch.encoders.hashing import HashingEncoder

CHECKOUT = Path(__file__).resolve().parents[1]
if sys.dont_write_bytecode:  # each of the hundreds of Python processes that tests start would compile torch: 20 s for 5
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(CHECKOUT / ".pytest_cache" / "bytecode")

MEMORY = Path("/dev/shm")  # where there is room for the folders of a run, its commits wait for no disk
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# a suite in the background of a script inherits an ignored SIGINT; what it starts would inherit that in turn
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

settings.register_profile(
    "usual", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)  # a busy machine, or a first import, is no failure
settings.register_profile("long", settings.get_profile("usual"), max_examples=200)
settings.load_profile("usual")


KINDS = {  # marker -> files that have it; where `-m` leaves out a kind, they are not imported either
    "browser": ("browser/",),
    "pages": ("ui/",),
    "training": (
        *("training/", "cli/test_cli_train", "docs/test_docs_training", "encoders/test_trained_folder"),
        *("contracts/test_every_objective", "golden/test_training_forward", "models/test_gradients"),
        *("models/test_saving", "models/test_whitening_and_flow"),
        "scripts/test_reproduction",
    ),
    "export": ("export/", "models/test_post", "docs/test_docs.py"),
    "slow": (
        *("contracts/test_backends", "contracts/test_every_method", "docs/", "encoders/test_causal"),
        *("evaluation/test_figures", "evaluation/test_fill_mask", "evaluation/test_transfer", "faults/", "golden/"),
        *("integrations/", "models/", "scripts/", "test_index_compatibility", "vector_index/test_nearest"),
    ),
}
AT_RANDOM = "faults/"  # files that try what is random: with `-m long` all of it is tried more often
FIRST = (  # a worker takes a file at a time: the longest ones first, or one of them is what all wait for in the end
    *(
        "export/test_exporting",
        "training/test_adapting",
        "docs/",
        "faults/test_kill",
        "scripts/",
        "export/",
        "cli/test_cli_train",
        "models/test_post",
    ),
    *("browser/", "faults/", "ui/test_pages_evaluate", "training/", "contracts/", "test_index_model"),
    *("vector_index/test_nearest", "vector_index/test_race"),
)


class ExamplesAlone:
    """Doctests are looked for in files that have some: each worker would import any other for nothing."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if file_path.suffix != ".py" or b">>> " in file_path.read_bytes():
            return found
        return [each for each in found if type(each) is pytest.Module]  # not of the class that doctests derive from it


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ExamplesAlone())  # for semsearch/ too: a hook of this file is for tests/
    if config.option.markexpr == "long":
        settings.load_profile("long")
        os.environ.setdefault("SEMSEARCH_FAULTS", "sample")
    if linters.are_due(config):
        config.pluginmanager.register(linters.Linters())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end: nobody looks through half a million objects for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that `-m` leaves out for its kind: most of those that load PyTorch are of such a kind."""
    kinds = kinds_of(collection_path)
    if not kinds or not config.option.markexpr:
        return None
    chosen = Expression.compile(config.option.markexpr)
    left_out = chosen.evaluate(lambda *_, **__: False) and not chosen.evaluate(lambda name, **_: name in kinds)
    return left_out or None


def within_tests(path: Path) -> str:
    """The path of a file below `tests`; "" of any other."""
    tests = CHECKOUT / "tests"
    return path.relative_to(tests).as_posix() if path.is_relative_to(tests) else ""


@functools.cache
def kinds_of(path: Path) -> frozenset[str]:
    within = within_tests(path)
    return frozenset(kind for kind, begins in KINDS.items() if within.startswith(begins))


@functools.cache
def turn_of(path: Path) -> int:
    """Where the tests of a file stand in the order of `FIRST`."""
    within = within_tests(path)
    return next((at for at, begin in enumerate(FIRST) if within.startswith(begin)), len(FIRST))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every test the marker of its kind, and begin with the longest files."""
    long = config.option.markexpr == "long"
    for item in items:
        for kind in kinds_of(item.path):
            item.add_marker(kind)
        if long and (within_tests(item.path).startswith(AT_RANDOM) or is_hypothesis_test(getattr(item, "obj", None))):
            item.add_marker("long")
    items.sort(key=lambda item: turn_of(item.path))


@pytest.fixture(autouse=True)
def logging_as_it_comes() -> None:
    """What a library that ran in this process has changed of logging is no business of the next test."""
    logging.disable(logging.NOTSET)
    ours = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "semsearch"]
    for logger in (logging.getLogger(name) for name in ours):
        logger.disabled, logger.propagate = False, True
        logger.setLevel(logging.NOTSET)
    logging.root.setLevel(logging.WARNING)


@pytest.fixture(scope="session", autouse=True)
def shared_null_distributions() -> Iterator[None]:
    """What is measured of an index is taken from one with the same rows, where a test of this process has made one."""
    from helpers import null_distributions

    with pytest.MonkeyPatch.context() as patch:
        null_distributions.shared(patch)
        yield


@pytest.fixture(scope="session")
def hashing() -> HashingEncoder:
    """Shared spelling is shared direction: fast, deterministic, 256 wide."""
    from semsearch.encoders.hashing import HashingEncoder

    return HashingEncoder()


@pytest.fixture(scope="session")
def minilm_encoder() -> Encoder:
    """The smaller encoder of those that ship, without an embedding cache."""
    from semsearch.encoders.encoder import Encoder

    return Encoder.load("minilm")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data: SEMSEARCH_DATA, else ../shared/data beside the checkout."""
    folder = Path(os.environ.get("SEMSEARCH_DATA", CHECKOUT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"public data is not here: {folder} (set SEMSEARCH_DATA)")
    return folder


@pytest.fixture(scope="session")
def golden(data: Path) -> Path:
    """The folder of golden figures, beside the public data."""
    folder = data.parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"golden figures are not here: {folder}")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server with pgvector, for all tests of this process."""
    from helpers import postgres

    postgres.skip_without()
    with postgres.postgres_server.running(*postgres.postgres_server.FAST) as server:
        yield server


@pytest.fixture(scope="session")
def null_queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the vectors of null queries in the user's cache: to encode them takes seconds for each encoder."""
    return tmp_path_factory.mktemp("null_queries")


@pytest.fixture
def cli(tmp_path: Path, null_queries: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line of a user with no settings, in an empty folder, with the encoder that needs no model."""
    from helpers.commandline import CommandLine

    for name in [name for name in os.environ if name.startswith("SEMSEARCH_")]:
        monkeypatch.delenv(name)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SEMSEARCH_MODEL", "hashing")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]))
    cache = tmp_path / "xdg_cache_home" / "semsearch"
    cache.mkdir(parents=True)
    (cache / "null_queries").symlink_to(null_queries, target_is_directory=True)
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    return CommandLine()
