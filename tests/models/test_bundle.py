"""Saved encoders: found by name, checked on reading, and told apart by fingerprint."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from semsearch.encoders.encoder import Encoder
from semsearch.errors import Corrupt, NotFound
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.prompts import Prompt, library


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the default encoder to break."""
    return Path(shutil.copytree(model_folders.find("minilm"), tmp_path / "copy"))


def test_a_folder_is_an_encoder_as_its_name_is(copy: Path, minilm_encoder: Encoder) -> None:
    assert Encoder.load(copy).fingerprint == minilm_encoder.fingerprint
    assert Encoder.load(str(copy)).fingerprint == minilm_encoder.fingerprint


@pytest.mark.parametrize("part", ["model.onnx", "tokenizer.json"])
def test_one_flipped_byte_is_noticed(copy: Path, part: str) -> None:
    content = bytearray((copy / part).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / part).write_bytes(content)
    with pytest.raises(Corrupt, match="not what was written"):
        Encoder.load(copy)


def test_a_lost_part_is_named(copy: Path) -> None:
    (copy / "model.onnx").unlink()
    with pytest.raises(NotFound, match=r"lacks its weights.*model\.onnx"):
        Encoder.load(copy)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 99}'])
def test_a_broken_manifest_is_corrupt(copy: Path, content: str) -> None:
    (copy / "encoder.json").write_text(content)
    with pytest.raises(Corrupt, match="cannot be read"):
        bundles.read(copy)


@pytest.mark.parametrize("key", ["max_tokens", "dim", "background", "licence"])  # some are not in the fingerprint
def test_an_edited_manifest_is_corrupt(copy: Path, key: str) -> None:
    content = json.loads((copy / "encoder.json").read_text())
    content[key] = content[key][1:] if isinstance(content[key], list | str) else 128
    (copy / "encoder.json").write_text(json.dumps(content))
    with pytest.raises(Corrupt, match="was changed"):
        bundles.read(copy)


def test_a_manifest_of_before_has_no_checksum_and_is_read(copy: Path) -> None:
    content = json.loads((copy / "encoder.json").read_text())
    del content["sha256"]
    (copy / "encoder.json").write_text(json.dumps(content))
    assert bundles.read(copy).name == content["name"]


def test_writing_and_reading_gives_the_same_bundle(copy: Path) -> None:
    bundle = bundles.read(copy)
    written = bundles.write(replace(bundle, prompts={"query": Prompt("ask:  ", " ."), "passage": Prompt()}), copy)
    assert bundles.read(copy) == written
    assert written.fingerprint != bundle.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"method": "cls"},
        {"prompts": {"query": Prompt("query: "), "passage": Prompt()}},
        {"prompts": {"query": Prompt(" "), "passage": Prompt()}},
        {"weights_sha256": "0" * 64},
        {"tokenizer_sha256": "0" * 64},
        {"pooling": "cls"},
        {"layer": -2},
        {"max_tokens": 128},
        {"normalize": False},
        {"precision": "fp32"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_decides_a_vector_changes_the_fingerprint(change: dict[str, object]) -> None:
    bundle = bundles.read(model_folders.find("minilm"))
    assert replace(bundle, **change).with_fingerprint().fingerprint != bundle.fingerprint  # type: ignore[arg-type]


def test_name_and_figures_do_not_change_the_fingerprint() -> None:
    bundle = bundles.read(model_folders.find("minilm"))
    other = replace(bundle, name="mine", parity={}, background=(), licence="MIT", folder=Path("elsewhere"))
    assert other.with_fingerprint().fingerprint == bundle.fingerprint


def test_an_unknown_name_offers_a_near_one() -> None:
    with pytest.raises(NotFound, match="Did you mean 'default'") as caught:
        model_folders.find("defult")
    assert caught.value.exit_code == 3


def test_a_folder_without_a_manifest_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"has no encoder\.json"):
        bundles.read(tmp_path)


def test_every_name_of_the_catalogue_states_its_terms_and_loads_or_names_its_place_on_the_hub() -> None:
    for name, entry in model_folders.catalogue().items():
        assert {"licence", "size", "source", "template", "description"} <= set(entry)
        assert "folder" in entry or name == "hashing" or entry["source"] == f"https://huggingface.co/{entry['hub']}"
        if "hub" in entry:
            assert not entry["template"] or library.find(entry["template"])
            continue
        assert Encoder.load(name).dim > 0
        assert Encoder.load(Encoder.load(name).name).fingerprint == Encoder.load(name).fingerprint


def test_the_minilm_encoder_is_near_to_full_precision() -> None:
    parity = bundles.read(model_folders.find("minilm")).parity
    assert parity["mean_cosine"] >= 0.985
    assert parity["stsb_dev_fp32"] - parity["stsb_dev"] <= 0.5


def test_the_background_rises_and_is_that_of_unrelated_texts() -> None:
    background = bundles.read(model_folders.find("minilm")).background
    assert len(background) == 1001
    assert list(background) == sorted(background)
    assert -0.1 < background[500] < 0.15
