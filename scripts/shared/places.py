"""Where things are: the checkout, the collection that it comes with, and the folder of public data."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SEMSEARCH_DATA") or CHECKOUT.parent / "shared" / "data")
SAMPLE = CHECKOUT / "scripts" / "sample"
