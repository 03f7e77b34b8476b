"""The space that an index is searched in, with its encoder and its searcher; after `reembed` it is another one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.encoders.query_cache import QueryCache
from semsearch.errors import NotFound, SemsearchError
from semsearch.search.searcher import Searcher
from semsearch.stores import recipe_trust
from semsearch.stores.recorded_spaces import other_spaces

if TYPE_CHECKING:
    from semsearch.encoders.encoder_pool import EncoderPool
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Space
    from semsearch.types import EncoderLike

T = TypeVar("T")


class InUse(NamedTuple):
    """A space, its encoder, and the searcher of both."""

    space: Space
    encoder: LazyEncoder
    searcher: Searcher


class CurrentSpace:
    """Follows the store from space to space, or stays with the `chosen` one. Threads may share it.

    encoder: that of the caller, None for the one on record; owned: it was loaded for the index, which closes it.
    encoders: a pool from which loaded ones are borrowed. The others are as for `Index.open`.
    """

    def __init__(
        self,
        reader: StoreReader,
        encoder: EncoderLike | str | None,
        *,
        owned: bool = False,
        chosen: int | None = None,
        query_cache_size: int = 0,
        like_files: bool = True,
        encoders: EncoderPool | None = None,
        most_characters: int | None = None,
    ) -> None:
        self.chosen = chosen
        self._reader = reader
        self._encoder, self._owned = encoder, owned
        self._query_cache_size = query_cache_size
        self._like_files, self._encoders, self._most_characters = like_files, encoders, most_characters
        self._following = threading.Lock()
        self._retired: list[LazyEncoder] = []  # of spaces before; a thread may still use one
        with reader.snapshot() as self._seen_version:
            pass
        self._in_use = self._using(self._space())

    def now(self) -> InUse:
        """What the current space is searched with: after `reembed`, in any process, another one is."""
        with self._reader.snapshot() as version:
            if self._seen_version != version:
                with self._following:
                    space = self._space()
                    if space.id != self._in_use.space.id:
                        self._use(space)
                    self._seen_version = version
        return self._in_use

    @property
    def last(self) -> InUse:
        """What the last search was in."""
        return self._in_use

    def searched(self, search: Callable[[Searcher], T]) -> T:
        """The answer in the current space; again in the next, if the index has switched to it since the last search.

        The search itself has seen whether anything was committed since then: to look before would be one more snapshot.
        """
        while True:
            used = self._in_use
            try:
                answer = search(used.searcher)
            except SemsearchError:
                if self.now() is used:
                    raise
            else:
                is_current = self._seen_version == used.searcher.version and self._in_use is used
                if is_current or self.now() is used:
                    return answer

    def switch(self, encoder: EncoderLike, *, owned: bool) -> InUse:
        """Use the store's current space, which is of this encoder, from now on."""
        self._encoder, self._owned = encoder, owned
        return self._use(self._reader.state().spaces[0])

    def close(self) -> None:
        """Close the encoders that were loaded here."""
        for encoder in (*self._retired, self._in_use.encoder):
            encoder.close()

    def _space(self) -> Space:
        """The current space, or the chosen one. Raises NotFound."""
        spaces = self._reader.state().spaces
        space = spaces[0] if self.chosen is None else next((one for one in spaces if one.id == self.chosen), None)
        if space is None:
            raise NotFound(f"index {self._reader.name} has no space {self.chosen}.", "See the spaces of info().")
        return space

    def _use(self, space: Space) -> InUse:
        self._retired.append(self._in_use.encoder)
        self._in_use = self._using(space)
        return self._in_use

    def _using(self, space: Space) -> InUse:
        """What a space is searched with."""
        recipe = self._reader.state().recipe
        references = {one.space.id: one.encoder for one in other_spaces(self._reader)}
        encoder = LazyEncoder(
            self._reader.name,
            space.name,
            space.fingerprint,
            space.dim,
            recorded=references.get(space.id, recipe.get("encoder", "default")),
            encoder=self._encoder,
            owned=self._owned,
            fetch=not recipe_trust.encoder(recipe),
            pool=self._encoders,
        )
        queries = QueryCache(encoder, self._query_cache_size)
        most, files = self._most_characters, self._like_files
        return InUse(space, encoder, Searcher(self._reader, space, queries, like_files=files, most_characters=most))
