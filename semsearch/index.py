"""Index: a folder that holds texts, their vectors and everything needed to search them.

>>> import tempfile; folder = tempfile.mkdtemp() + "/notes"
>>> from semsearch import Document, Index
>>> with Index.create(folder, encoder="hashing") as index:
...     diesel = Document("a", "Diesel engines ignite by compression.")
...     report = index.add([diesel, Document("b", "Bread needs salt.")])
...     index.search("a diesel engine", k=1)[0].document
'a'
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch import settings
from semsearch.changing import Changing
from semsearch.encoders.base import as_encoder
from semsearch.errors import NotFound, UsageError
from semsearch.opened import load
from semsearch.stores.local.store import Store
from semsearch.types import EncoderLike
from semsearch.utils.writer_lock import LOCK, PID, WriterLock
from semsearch.vector_index import cache_files

if TYPE_CHECKING:
    from semsearch.chunking.splitter import Splitter
    from semsearch.encoders.encoder import Encoder


class Index(Changing):
    """An index that is open: for reading until the first write, then also for writing until `close()`.

    Readers never wait and never see half a document. A writer in another process or another Index is refused
    with `Locked`. Threads may share one Index: writing calls take turns, and a search beside them waits for a
    single commit at most (compact, verify and audit keep it waiting until they are done).
    """

    @classmethod
    def create(
        cls,
        name: str | Path,
        *,
        encoder: EncoderLike | str = "default",
        home: Path | None = None,
        splitter: Splitter | None = None,
        backend: str = "auto",
        exist_ok: bool = False,
    ) -> Index:
        """A new, empty index called `name` (below the home of indexes) or at the path `name`.

        Raises UsageError where one exists, unless `exist_ok`, which opens it.
        """
        from semsearch.chunking.splitter import Splitter

        folder = settings.index_folder(name, home)
        if exist_ok and settings.is_index(folder):
            return cls.open(folder, encoder=encoder)
        loaded: Encoder | None = None
        if isinstance(encoder, str):
            encoder = loaded = load(encoder)
        running = as_encoder(encoder)
        recipe = {
            "encoder": running.reference,
            "splitter": asdict(splitter or Splitter()),
            "backend": backend,
        }

        def fill(store: Store) -> None:
            store.set_recipe(recipe)
            info = {**running.info, "background": list(running.background)}
            store.add_space(running.fingerprint, running.name, running.dim, info)

        index = cls(Store.create(folder, fill), running)
        index._loaded = loaded
        return index

    @classmethod
    def open(
        cls,
        name: str | Path,
        *,
        encoder: EncoderLike | str | None = None,
        home: Path | None = None,
        remember: int = 0,
    ) -> Index:
        """The index called `name`, or at the path `name`. Without `encoder` the one it was built with is used.

        The vectors of the last `remember` texts that were asked stay in memory: to ask the same in another mode or
        with another filter encodes nothing, and `plan["encoded"]` of the results is 0.

        Raises NotFound. The encoder is loaded by the first call that needs it, and refused with
        EncoderMismatch if its fingerprint is another than the index was built with.
        """
        return cls(Store.open(settings.index_folder(name, home)), encoder, remember)

    @staticmethod
    def names(home: Path | None = None) -> list[str]:
        """The indexes of the home of indexes, sorted."""
        return settings.names(home)

    @staticmethod
    def folder(name: str | Path, home: Path | None = None) -> Path:
        """Where the index called `name` lives, or would. Raises UsageError for what cannot be a name."""
        return settings.index_folder(name, home)

    @staticmethod
    def remove(name: str | Path, home: Path | None = None) -> list[str]:
        """Remove an index; the files that were indexed stay. The names of what in its folder is not its own, and stays.

        Raises NotFound, Locked.
        """
        folder = settings.index_folder(name, home)
        if not settings.is_index(folder):
            raise NotFound(f"there is no index {folder.name!r}.", "Nothing was removed.")
        lock = WriterLock(folder)
        try:
            store = folder / settings.STORE_FILE
            store.unlink(missing_ok=True)  # from here on it is no index
            for file in [*folder.glob(f"{settings.STORE_FILE}-*"), *folder.glob(cache_files.FILES)]:
                file.unlink(missing_ok=True)
        finally:
            lock.release()
        for file in (folder / LOCK, folder / PID):
            file.unlink(missing_ok=True)
        left = sorted(file.name for file in folder.iterdir())
        if not left:
            folder.rmdir()
        return left

    @staticmethod
    def rename(name: str | Path, new: str, home: Path | None = None) -> Path:
        """Give an index another name, in the folder where it lies; its new path. All that it holds stays.

        Raises NotFound, Locked, UsageError for what cannot be a name or is one already.
        """
        from semsearch.stores.local.renaming import rename

        folder = settings.index_folder(name, home)
        if Path(new).name != new:
            raise UsageError(f"{new!r} cannot be the name of an index.", "Use letters, digits, '-' and '_'.")
        target = settings.index_folder(new, folder.parent)
        rename(folder, target)
        return target

    @classmethod
    def restore(cls, file: Path, name: str | Path, *, home: Path | None = None) -> Index:
        """A new index out of a dump. Raises UsageError where one exists, Corrupt for a damaged file."""
        from semsearch.stores.local import backup

        folder = settings.index_folder(name, home)
        backup.restore(file, folder)
        return cls.open(folder)
