"""A folder of test sets in SentEval's layout, small enough for tests: STS-B, and STS13 with its three subsets."""

from __future__ import annotations

from pathlib import Path

PAIRS = (
    ("a man is playing a guitar", "a man plays a guitar", 4.8),
    ("a diesel engine has no spark plug", "the diesel engine needs no spark plug", 4.6),
    ("bread needs salt and time", "bread needs time and some salt", 4.2),
    ("the dough rises slowly", "a soup is cooked slowly", 1.5),
    ("a petrol engine turns fast", "the pot is on the stove", 0.2),
    ("a cat sleeps", "zeppelins are filled with gas", 0.0),
)


def tiny_sts(folder: Path) -> Path:
    """Write them below `folder`, which is then what SEMSEARCH_DATA names."""
    bench = folder / "STS" / "STSBenchmark"
    bench.mkdir(parents=True)
    for split in ("dev", "test"):
        rows = (f"main\tmade\t2017\t{at:04}\t{gold}\t{a}\t{b}\n" for at, (a, b, gold) in enumerate(PAIRS))
        (bench / f"sts-{split}.csv").write_text("".join(rows), encoding="utf-8")
    sts13 = folder / "STS" / "STS13-en-test"
    sts13.mkdir()
    for name, pairs in (("FNWN", PAIRS), ("headlines", PAIRS[::2]), ("OnWN", PAIRS[1:])):
        (sts13 / f"STS.input.{name}.txt").write_text("".join(f"{a}\t{b}\n" for a, b, _ in pairs), encoding="utf-8")
        (sts13 / f"STS.gs.{name}.txt").write_text("".join(f"{gold}\n" for *_, gold in pairs), encoding="utf-8")
    return folder
