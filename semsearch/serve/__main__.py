"""`python -m semsearch.serve`, which `semsearch serve` starts: one argument, the options as JSON."""

import sys

from semsearch.serve.run import main

raise SystemExit(main(sys.argv[1:]))
