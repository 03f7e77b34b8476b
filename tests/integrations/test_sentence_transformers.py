"""A semsearch encoder is a SentenceTransformer with the same vectors, and the reverse."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from helpers.checkpoints import shallow

from semsearch import Encoder, UsageError

TEXTS = ["A man is playing a guitar.", "", "rain " * 500, "Zürich and its lake", "A man is playing a guitar."]


@pytest.fixture(autouse=True, scope="module")
def library() -> Any:
    """Not imported above: every worker of the suite reads this file, and one runs it."""
    return pytest.importorskip("sentence_transformers", reason="needs sentence-transformers: pip install -e '.[dev]'")


def sentence_transformer(encoder: Encoder | str) -> Any:
    return import_module("semsearch.integrations.sentence_transformers").sentence_transformer(encoder)


def test_a_bundle_has_the_same_vectors(minilm_encoder: Encoder, library: Any) -> None:
    model = sentence_transformer(minilm_encoder)
    assert isinstance(model, library.SentenceTransformer)
    assert np.array_equal(model.encode(TEXTS), minilm_encoder.encode(TEXTS))
    assert np.array_equal(model.encode_query(TEXTS[0]), minilm_encoder.encode_query(TEXTS[0]))
    assert (model.get_embedding_dimension(), model.max_seq_length) == (384, minilm_encoder.max_tokens)
    assert float(model.similarity(model.encode(TEXTS[0]), model.encode(TEXTS[4]))) == pytest.approx(1, abs=1e-6)
    assert model.encode(TEXTS[:2], truncate_dim=16, convert_to_tensor=True).shape == (2, 16)


def test_templates_denoising_and_prompts_of_roles_are_kept(golden: Path, tmp_path: Path) -> None:
    shallow(golden, "tiny-bert", tmp_path / "bert", layers=1)
    encoder = Encoder.load(tmp_path / "bert", template="cot-bert-denoised")
    model = sentence_transformer(encoder)
    assert "[MASK]" in model.prompts["document"] and "[X]" in model.prompts["document"]
    np.testing.assert_allclose(model.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(model.encode_document(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_queries_and_passages_have_their_own_prompts(golden: Path, tmp_path: Path) -> None:
    shallow(golden, "tiny-bert", tmp_path / "bert", layers=1)
    template = tmp_path / "e5.toml"
    template.write_text(
        'method = "mean"\ntext = { query = "query: [X]", passage = "passage: [X]" }\n', encoding="utf-8"
    )
    encoder = Encoder.load(tmp_path / "bert", template=str(template))
    model = sentence_transformer(encoder)
    assert model.prompts == {"query": "query: ", "document": "passage: "}
    for ours, theirs in ((encoder.encode_query, model.encode_query), (encoder.encode_document, model.encode_document)):
        np.testing.assert_allclose(theirs(TEXTS), ours(TEXTS), atol=1e-6)
    assert not np.allclose(model.encode_query(TEXTS[0]), model.encode(TEXTS[0]), atol=1e-3)
    own = model.encode(TEXTS, prompt="title: ")
    np.testing.assert_allclose(own, encoder.encode(TEXTS, prompt="title: "), atol=1e-6)
    assert not np.allclose(own, model.encode(TEXTS), atol=1e-3)


def test_a_saved_model_opens_in_both_libraries(minilm_encoder: Encoder, library: Any, tmp_path: Path) -> None:
    sentence_transformer(minilm_encoder).save(str(tmp_path / "saved"), create_model_card=False)
    expected = minilm_encoder.encode(TEXTS)
    assert np.array_equal(Encoder.load(tmp_path / "saved").encode(TEXTS), expected)
    shutil.move(tmp_path / "saved", tmp_path / "moved")
    again = library.SentenceTransformer(str(tmp_path / "moved"), trust_remote_code=True, device="cpu")
    assert np.array_equal(again.encode(TEXTS), expected)
    with pytest.raises(UsageError, match="not an exported encoder"):
        sentence_transformer("hashing").save(str(tmp_path / "no"))


def test_a_folder_of_sentence_transformers_opens_as_an_encoder(golden: Path, library: Any, tmp_path: Path) -> None:
    shallow(golden, "tiny-bert", tmp_path / "bert", layers=1)
    modules = import_module("sentence_transformers.sentence_transformer.modules")
    transformer = modules.Transformer(str(tmp_path / "bert"))
    pooling = modules.Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    theirs = library.SentenceTransformer(modules=[transformer, pooling, modules.Normalize()], device="cpu")
    theirs.save(str(tmp_path / "st"), create_model_card=False)
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(Encoder.load(tmp_path / "st").encode(texts), theirs.encode(texts), atol=1e-5)
