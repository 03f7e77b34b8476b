"""axe-core in the page that the browser shows.

axe.min.js.gz is axe-core 4.14.1 by Deque Systems, under the Mozilla Public License 2.0, as npm has it.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from helpers.served import PATIENCE

AXE = gzip.decompress(Path(__file__).with_name("axe.min.js.gz").read_bytes()).decode("utf-8")
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(found => done(found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .flatMap(each => each.nodes.map(node => `${each.id}: ${node.target} ${node.any.map(why => why.message)}`))));
"""


def violations(browser: Any) -> list[str]:
    """What axe-core calls serious or critical on the page."""
    browser.set_script_timeout(PATIENCE)
    browser.execute_script(AXE)
    return list(browser.execute_async_script(RUN))
