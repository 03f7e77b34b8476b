"""The template library: what is in it, what a name, a file or a text means, and what a broken file is told."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.models import methods
from semsearch.prompts import Prompt
from semsearch.prompts.library import KINDS, Template, find, resolve, resolve_all, templates, to_toml

AGREED = """mean cls cls-pooler first-last first-last-embeddings static static-debiased promptbert promptbert-t2
promptroberta promptroberta-t2 cot-bert cot-bert-positive cot-bert-negative cot-roberta cot-roberta-positive
cot-roberta-negative masks-1 masks-4 masks-1-excl masks-2-quest masks-3-sep masks-4-none prompteol promptsth promptsum
pretended-cot knowledge-enhancement simcse sup-simcse sg optiprompt promptbert-sup promptroberta-sup"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_agreed_name_is_there() -> None:
    assert set(AGREED.split()) <= templates().keys()


@pytest.mark.parametrize("template", templates().values(), ids=lambda one: one.name)
def test_a_template_says_where_it_comes_from_and_for_which_models(template: Template) -> None:
    assert template.description and "https://arxiv.org/abs/" in template.source
    assert template.kinds and set(template.kinds) <= set(KINDS)


@pytest.mark.parametrize("template", templates().values(), ids=lambda one: one.name)
def test_a_templates_masks_are_those_that_its_method_reads(template: Template) -> None:
    pytest.importorskip("torch")
    method = methods.make(template.method, template.options)
    prompts = template.prompts
    assert {prompt.masks for prompt in prompts.values()} == {method.masks}
    assert (method.kind == "causal") == (template.kinds == ("causal",))


def test_the_library_loads_neither_numpy_nor_torch() -> None:
    script = "import sys; from semsearch.prompts.library import templates; templates(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "tokenizers", "transformers"} & set(ran.stdout.split())


def test_an_unknown_name_offers_the_nearest_and_the_other_ways() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'promptbert'") as caught:
        resolve("prompt-bert")
    assert "TOML" in caught.value.fix and "[X]" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "causal", "method", "like"),
    [
        ("query: [X]", False, "mean", "mean"),
        ('This sentence : "[X]" means in one word:"', True, "prompteol", "prompteol"),
        ('"[X]" means [MASK] .', False, "promptbert", "promptbert"),
        ("[X] [MASK] [MASK] .", False, "cot_bert", "cot-bert"),
        ("[X] [MASK] [MASK] [MASK] [MASK] .", False, "n_mask", "masks-4"),
    ],
)
def test_a_texts_masks_choose_its_method_and_rules(text: str, causal: bool, method: str, like: str) -> None:
    found = resolve(text, causal=causal)
    assert found.method == method
    assert found.rules == find(like).rules and found.options == find(like).options
    assert found.text["query"] == found.text["passage"] == text


def test_a_name_of_the_library_means_the_same_on_every_model() -> None:
    assert resolve("mean", causal=True) is resolve("mean") is find("mean")


def test_a_file_without_tables_is_one_template(tmp_path: Path) -> None:
    path = written(tmp_path, "text = 'In short: [X] [MASK].'\n")
    found = resolve(str(path))
    assert (found.name, found.method, found.rules) == ("mine", "promptbert", find("promptbert").rules)
    assert found.prompts["query"] == Prompt("In short: ", " [MASK].", **find("promptbert").rules)


def test_a_template_says_over_what_its_file_says(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        method = "mean"
        rules = { spaces = true, ending = "." }
        [templates.one]
        text = { query = "query: [X]", passage = "passage: [X]" }
        rules = { ending = "!", endings = "!" }
        [templates.two]
        text = "[X]"
        method = "cls"
        options = { head = "pooler" }
        """,
    )
    one, two = resolve(f"{path}:one"), resolve(f"{path}:two")
    assert one.prompts["query"] == Prompt("query: ", ending="!", endings="!", spaces=True)
    assert one.prompts["passage"].before == "passage: "
    assert (two.method, two.options, two.rules) == ("cls", {"head": "pooler"}, {"spaces": True, "ending": "."})


def test_rules_can_be_switched_off(tmp_path: Path) -> None:
    path = written(tmp_path, "text = '[X] [MASK]'\nrules = {}\n")
    assert resolve(str(path)).prompts["query"] == Prompt("", " [MASK]")


def test_of_several_templates_one_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "text = '[X]'\n[templates.one]\n[templates.two]\n")
    with pytest.raises(UsageError, match=r"holds 2 templates.*one, two"):
        resolve(str(path))
    with pytest.raises(UnknownName, match="Did you mean 'two'"):
        resolve(f"{path}:tow")
    assert [one.name for one in resolve_all(str(path))] == ["one", "two"]


def test_a_text_that_is_no_template_is_told_how_to_write_one() -> None:
    with pytest.raises(UsageError, match=r"no slots.*Write \[X\] once"):
        resolve("This sentence means [MASK] .")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("text = [X]", "not a template file"),
        ("text = 'no slot'", "no slots"),
        ("text = '[X] and [X]'", "2 slots"),
        ("method = 'mean'", "needs a text"),
        ("text = { query = '[X]' }", "needs a text"),
        ("text = '[X]'\nkinds = ['bret']", "Did you mean 'bert'"),
        ("text = '[X]'\nkinds = 'bert'", "It is a list"),
        ("text = '[X]'\nrules = { ending = true }", "It is a string"),
        ("text = '[X]'\nrules = { endigs = '.' }", "Did you mean 'endings'"),
        ("text = '[X]'\nmetod = 'mean'", "Did you mean 'method'"),
        ("text = '[X]'\n[templates]\n", "holds no table"),
    ],
)
def test_a_broken_file_is_told_what_is_wrong_and_where(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        resolve(str(written(tmp_path, content)))


def test_an_absent_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"absent\.toml"):
        resolve(str(tmp_path / "absent.toml"))


@pytest.mark.parametrize("template", templates().values(), ids=lambda one: one.name)
def test_a_template_written_to_a_file_is_the_same_again(template: Template, tmp_path: Path) -> None:
    again = resolve(str(written(tmp_path, to_toml(template))))
    assert again == replace(template, name="mine")


def test_what_toml_has_to_escape_is_written_so(tmp_path: Path) -> None:
    odd = Template("mine", {"query": 'q\\ "[X]" \t\x7f é😀', "passage": "[X]"}, "mean", options={"a b": 1})
    assert resolve(str(written(tmp_path, to_toml(odd)))).text == odd.text


def test_a_method_that_does_not_exist_is_refused_with_the_nearest(tmp_path: Path) -> None:
    template = resolve(str(written(tmp_path, "text = '[X]'\nmethod = 'promtbert'")))
    with pytest.raises(UnknownName, match="Did you mean 'promptbert'"):
        methods.check_name(template.method)
