"""Scripts of this checkout as programs that another script starts."""

import sys


def command(module: str, *words: object) -> list[str]:
    """The command that runs `scripts.MODULE` with these words; its process has to start in the checkout."""
    return [sys.executable, "-m", f"scripts.{module}", *map(str, words)]
