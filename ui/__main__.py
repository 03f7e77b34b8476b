"""`python -m semsearch_ui`: the process that `semsearch ui` becomes."""

from __future__ import annotations

import sys

if __name__ == "__main__":  # a process that multiprocessing spawns imports this module too
    from semsearch_ui.server.run import main

    sys.exit(main(sys.argv[1:]))
