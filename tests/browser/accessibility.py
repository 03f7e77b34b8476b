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
PALE = """
const channel = (each) => (each <= 10.3 ? each / 3294.6 : ((each / 255 + 0.055) / 1.055) ** 2.4);
const light = (colour) => {
  const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number).map(channel);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
};
const page = light(getComputedStyle(document.querySelector(".stApp")).backgroundColor);
const texts = [...document.querySelectorAll(".stVegaLiteChart svg text")].filter((text) => !text.closest(".role-mark"));
return texts.flatMap((text) => {
  const own = light(getComputedStyle(text).fill), contrast = Math.max(own, page) / Math.min(own, page);
  return contrast < 4.5 ? [`${text.textContent} in a chart: contrast ${contrast.toFixed(2)}`] : [];
});
"""  # of words on the page, not on coloured cells


def violations(browser: Any) -> list[str]:
    """What axe-core calls serious or critical on the page, and pale words of charts, at which it does not look."""
    browser.set_script_timeout(PATIENCE)
    browser.execute_script(AXE)
    return [*browser.execute_async_script(RUN), *browser.execute_script(PALE)]
