"""`python -m semsearch.serve.mcp`, which `semsearch mcp` starts: one argument, the options as JSON."""

import sys

from semsearch.serve.mcp.run import main

raise SystemExit(main(sys.argv[1:]))
