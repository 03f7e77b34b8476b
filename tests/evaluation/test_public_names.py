"""The public names of semsearch.evaluation: they resolve, cost nothing until used, and say what they need."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import semsearch.evaluation


def run(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_every_public_name_resolves() -> None:
    pytest.importorskip("torch")
    for name in semsearch.evaluation.__all__:
        value = getattr(semsearch.evaluation, name)
        assert callable(value) or isinstance(value, ModuleType), name


def test_the_package_loads_nothing_heavy() -> None:
    script = "import sys, semsearch.evaluation; print([name for name in ('numpy', 'torch') if name in sys.modules])"
    assert run(script) == "[]"


def test_without_torch_only_the_names_that_need_it_fail_and_say_so() -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from semsearch import SemsearchError, evaluation\n"
        "failed = []\n"
        "for name in evaluation.__all__:\n"
        "    try: getattr(evaluation, name)\n"
        "    except SemsearchError as error: failed.append((name, 'train' in str(error)))\n"
        "print(sorted(failed))"
    )
    masks = ("LikeliestWords", "MaskComparison", "TokenAttribution", "compare_masks", "fill_mask", "likeliest_words")
    needing = (*masks, "mask_vectors", "token_attribution")
    assert run(script) == str([(name, True) for name in needing])
