"""The threads of asynchronous calls: a pool of four for all indexes of a process. A fifth call waits for its turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")


async def in_a_thread(call: Callable[[], T]) -> T:
    """What `call` returns, while the event loop goes on."""
    import asyncio  # 25 ms, and only asynchronous callers need it

    return await asyncio.get_running_loop().run_in_executor(_pool(), call)


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # for asynchronous callers only

    return ThreadPoolExecutor(max_workers=4, thread_name_prefix="semsearch")
