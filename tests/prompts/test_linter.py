"""What lint finds in a template, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch.models import methods
from semsearch.models.tokenization import Tokenizer
from semsearch.prompts.library import Template, find, templates
from semsearch.prompts.linter import Finding, family, lint, translated

BERT = {"mask": "[MASK]", "sep": "[SEP]", "cls": "[CLS]", "pad": "[PAD]"}
ROBERTA = {"mask": "<mask>", "sep": "</s>", "cls": "<s>", "pad": "<pad>"}
MODELS = {"tiny-bert": BERT, "tiny-roberta": ROBERTA, "tiny-opt": {}, "tiny-llama": {}}
KINDS = {"tiny-bert": "bert", "tiny-roberta": "roberta", "tiny-opt": "causal", "tiny-llama": "causal"}


def codes(findings: list[Finding], *severities: str) -> list[str]:
    return [finding.code for finding in findings if not severities or finding.severity in severities]


def tokenizer(golden: Path, model: str, max_tokens: int = 256) -> Tokenizer:
    return Tokenizer(golden / "models" / model / "tokenizer.json", max_tokens, MODELS[model])


@pytest.mark.parametrize("template", templates().values(), ids=lambda one: one.name)
def test_the_papers_templates_are_clean_on_the_models_they_are_for(template: Template) -> None:
    for kind in ("bert", "roberta", "causal"):
        if kind in template.kinds or "any" in template.kinds:
            assert codes(lint(template, kind=kind), "error", "warning") == []


@pytest.mark.parametrize(
    ("text", "code", "severity"),
    [
        ("This sentence means [MASK] .", "slot", "error"),
        ("[X] and [X] mean [MASK] .", "slot", "error"),
        ("{} means [MASK] .", "slot", "error"),
        ("{sentence} means [MASK] .", "slot", "error"),
        ("<sentence> means [MASK] .", "slot", "error"),
        ("[X] {} means [MASK] .", "slot", "warning"),
        ("[X] means <mask> .", "mask-spelling", "error"),
        ("[X] means [mask] .", "mask-spelling", "error"),
        ("[X] means [MASK .", "mask-spelling", "error"),
        ('*cls*_This_sentence_of_"*sent_0*"_means*mask*.*sep+*', "mini-language", "error"),
        ('This_sentence_of_"[X]"_means_[MASK].', "underscores", "error"),
        ("[CLS] [X] means [MASK] .", "doubled-token", "warning"),
        ("[X] means [MASK] .</s>", "literal-token", "warning"),
        ("[X] means [MASK]", "ending", "warning"),
        ("the sentence“[X]” means [MASK] .", "curly-quotes", "warning"),
        ('the words "[X]" mean [MASK] .', "quotes", "warning"),
        ("the words ' [X] ' mean [MASK] .", "apostrophes", "note"),
        ('the words "[X] mean [MASK] .', "unbalanced-quotes", "warning"),
        ("the words '[X]\" mean [MASK] .", "unbalanced-quotes", "warning"),
        ("[X] means [MASK] . ", "trailing-blank", "warning"),
        (" [X] means [MASK] .", "leading-blank", "note"),
        ("[X]  means [MASK] .", "blanks", "warning"),
        ("[X]\nmeans [MASK] .", "blanks", "warning"),
        ("'[X] ' means [MASK] .", "slot-blanks", "warning"),
        ("the[X] means [MASK] .", "glued", "warning"),
    ],
)
def test_a_fault_is_found(text: str, code: str, severity: str) -> None:
    found = {(finding.code, finding.severity) for finding in lint(text)}
    assert (code, severity) in found


@pytest.mark.parametrize("text", ["[X]", "query: [X]", "[X] means [MASK] .", "[X] [MASK] [MASK] [MASK] !"])
def test_what_is_right_is_left_alone(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize(
    ("text", "method", "kind", "faulty"),
    [
        ("[X] means [MASK] .", "cot_bert", "", True),
        ("[X] means [MASK] .", "promptbert", "", False),
        ("[X] means [MASK] .", "mean", "", True),
        ("[X] means .", "promptbert", "", True),
        ("[X] means [MASK] .", "", "causal", True),
        ("[X] means in one word:", "", "causal", False),
        ("[X] means in one word:", "prompteol", "bert", True),
        ("[X] [MASK] [MASK] [MASK] .", "n_mask", "bert", False),
        ("[X] [MASK] [MASK] .", "n_mask", "bert", False),
        ("[X] .", "n_mask", "bert", True),
        ("[X] [MASK] [MASK] [MASK] .", "cot_bert", "bert", True),
    ],
)
def test_masks_have_to_fit_the_method_and_the_model(text: str, method: str, kind: str, faulty: bool) -> None:
    assert bool(codes(lint(text, method=method, kind=kind), "error")) == faulty


def test_a_template_without_the_rule_for_full_stops_is_told_what_that_costs() -> None:
    bare = Template("mine", {"query": "[X] is [MASK] .", "passage": "[X] is [MASK] ."}, "promptbert")
    (finding,) = lint(bare)
    assert finding.code == "sentence-ending" and "62" in finding.message and "67" in finding.message
    ruled = Template("mine", bare.text, "promptbert", rules={"ending": ".", "endings": "."})
    assert lint(ruled) == []


def test_a_bert_template_on_roberta_and_the_other_way_round() -> None:
    assert {"kind", "slot-blanks"} <= set(codes(lint(find("promptbert"), kind="roberta"), "warning"))
    assert "kind" in codes(lint(find("promptroberta"), kind="bert"), "warning")
    assert "kind" in codes(lint(find("promptroberta").text["query"], kind="bert"), "warning")


def test_the_mini_language_is_translated_to_the_librarys_own_text() -> None:
    published = '*cls*_The_sentence_of_"*sent_0*"_means_*mask*_,_so_it_can_be_summarized_as_*mask*_.*sep+*'
    assert translated(published) == find("cot-bert").text["query"]
    (finding,) = lint(published)
    assert find("cot-bert").text["query"] in finding.fix


def test_errors_come_first_and_each_finding_once() -> None:
    two = Template("two", {"query": "a [X] ", "passage": "{} "}, "mean")
    found = lint(two)
    assert codes(found) == ["slot", "trailing-blank"]


@pytest.mark.parametrize("model", MODELS)
def test_the_tokenizer_tells_the_kind_of_model(golden: Path, model: str) -> None:
    assert family(tokenizer(golden, model)) == KINDS[model]


def test_the_tokens_of_a_prompt_are_counted(golden: Path) -> None:
    bert = tokenizer(golden, "tiny-bert")
    (cost,) = [finding for finding in lint(find("cot-bert"), tokenizer=bert) if finding.code == "cost"]
    assert cost.severity == "note" and "18 of 256" in cost.message and "238" in cost.message


@pytest.mark.parametrize(("max_tokens", "severity"), [(64, "note"), (40, "warning"), (18, "error")])
def test_a_prompt_that_leaves_no_room_is_an_error(golden: Path, max_tokens: int, severity: str) -> None:
    found = lint(find("cot-bert"), tokenizer=tokenizer(golden, "tiny-bert", max_tokens))
    assert [finding.severity for finding in found if finding.code == "cost"] == [severity]


def test_a_model_without_masks_refuses_a_template_with_one(golden: Path) -> None:
    found = lint(find("promptbert"), tokenizer=tokenizer(golden, "tiny-opt"))
    assert codes(found, "error") == ["masks"]


def test_a_token_of_template_and_sentence_is_noted(golden: Path) -> None:
    merging = Template("mine", {"query": "The man said [X]layer .", "passage": "The man said [X]layer ."}, "mean")
    roberta = tokenizer(golden, "tiny-roberta")
    tokens = roberta.parts("p", merging.prompts["query"])
    assert "both" in {part for _, part in tokens}
    assert "".join(token for token, _ in tokens).replace("Ġ", " ") == "<s>The man said player .</s>"


@pytest.mark.parametrize(
    ("method", "options"), [("promptbert", {"nonsense": 1}), ("promptbert", {"top_k": -1}), ("n_mask", {"count": "x"})]
)
def test_options_that_the_method_refuses_are_an_error(method: str, options: dict[str, object]) -> None:
    text = "[X] [MASK] ."
    mine = Template("mine", {"query": text, "passage": text}, method, options=options)
    assert codes(lint(mine, check_options=methods.make)) == ["options"]


@pytest.mark.parametrize("causal", [True, False])
def test_what_the_model_is_matters_more_than_its_mask(causal: bool, golden: Path) -> None:
    bert = Tokenizer(golden / "models" / "tiny-bert" / "tokenizer.json", 256, {})
    assert family(bert, causal) == ("causal" if causal else "bert")


@pytest.mark.parametrize("model", ["default", "minilm"])
def test_an_encoder_that_names_no_tokens_is_known_by_its_tokenizer(model: str) -> None:
    from semsearch.evaluation import check_template

    found = check_template('This sentence : "[X]" means [MASK] .', model=model)
    assert found.kind == "bert"
    assert codes(list(found.findings), "error") == []
    assert found.sample is not None and found.sample["cost"] == 10


@pytest.mark.parametrize("template", templates().values(), ids=lambda one: one.name)
def test_the_librarys_templates_draw_no_remark_on_quotes_and_endings(template: Template) -> None:
    assert not {"quotes", "ending", "sentence-ending"} & set(codes(lint(template)))
    spaced = template.text["passage"].replace("means[MASK].", "means [MASK] .")
    assert "quotes" not in codes(lint(spaced))
