"""One string names a model and how it is read; written and read again it means the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import UsageError
from semsearch.models.model_ref import Reference

COT = 'The sentence of "[X]" means [MASK] , so it can be summarized as [MASK] .'


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("default", Reference("default")),
        ("./bert#cot-bert", Reference("./bert", "cot-bert")),
        ("bert#cot-bert,dtype=bf16", Reference("bert", "cot-bert", "bf16")),
        ("bert#dtype=float16,layer=-2,template=my, own=[X]", Reference("bert", "my, own=[X]", "fp16", -2)),
        (f"bert#{COT}", Reference("bert", COT)),
        (f"bert#denoise=pad,template={COT}", Reference("bert", COT, options={"denoise": "pad"})),
        ("bert#my.toml:second", Reference("bert", "my.toml:second")),
        ("bert#count=2,specials=false", Reference("bert", options={"count": 2, "specials": False})),
        ("hf:owner/name@v1.0#simcse", Reference("hf:owner/name", "simcse", revision="v1.0")),
        ("hf:owner/name@refs/pr/1", Reference("hf:owner/name", revision="refs/pr/1")),
        ("opt#dtype=4bit,max_tokens=64", Reference("opt", dtype="nf4", max_tokens=64)),
        ("a#b=[X]", None),
    ],
)
def test_a_reference_says_what_it_looks_like(text: str, meant: Reference | None) -> None:
    if meant is None:  # a key of that name: an option that the method will refuse
        assert Reference.parse(text).options == {"b": "[X]"}
        return
    assert Reference.parse(text) == meant
    assert Reference.parse(str(meant)) == meant


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
TEMPLATES = st.one_of(st.sampled_from(["", "cot-bert", COT, "a.toml:b"]), st.tuples(WORDS, WORDS).map("[X]".join))


@given(
    st.sampled_from(["bert", "/a/b c", "hf:owner/name"]),
    TEMPLATES,
    st.sampled_from(["", "fp32", "bf16"]),
    st.one_of(st.none(), st.integers(-24, 24)),
    st.dictionaries(st.sampled_from(["denoise", "head", "norm"]), st.sampled_from(["pad", True, 3]), max_size=2),
    st.sampled_from(["", "main", "v1"]),
)
def test_what_is_written_is_read_again(
    model: str, template: str, dtype: str, layer: int | None, options: dict[str, object], revision: str
) -> None:
    reference = Reference(model, template, dtype, layer, None, revision, options)
    assert Reference.parse(str(reference)) == reference


def test_a_folder_may_have_a_hash_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c#sharp").mkdir()
    assert Reference.parse("c#sharp") == Reference("c#sharp")
    assert Reference.parse("c#sharp#cot-bert") == Reference("c#sharp", "cot-bert")
    assert Reference.parse("other#sharp") == Reference("other", "sharp")
    assert Reference.parse(Path("c#d")) == Reference("c#d")  # a path is a path


@pytest.mark.parametrize(
    "text", ["#cot-bert", "", "b#dtype=fp8", "b#layer=last", "b#layer=true", "b#max_tokens=0", "b#layer=1,layer=2"]
)
def test_what_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Reference.parse(text)
    assert caught.value.exit_code == 2 and caught.value.fix


def test_what_is_given_beside_the_name_wins_and_none_says_nothing() -> None:
    said = Reference.parse("bert#dtype=bf16,head=pooler,template=cls")
    both = said.with_(template="cot-bert", dtype=None, layer=None, options={"denoise": "pad"})
    assert both == Reference("bert", "cot-bert", "bf16", options={"head": "pooler", "denoise": "pad"})
