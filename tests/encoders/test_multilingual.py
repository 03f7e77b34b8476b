"""`multilingual` of the package: what it states, that it reads its languages, and that it needs no PyTorch."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tokenizers import Tokenizer

from semsearch import Encoder
from semsearch.models import bundle as bundles
from semsearch.models import model_folders

FOLDER = model_folders.ASSETS / "multilingual"
MOST_BYTES = 48_000_000
MEANT = {  # a question, its answer, and another text
    "de": (
        "Wie backt man Brot?",
        "Der Teig geht auf und kommt in den heißen Ofen.",
        "Die Steuererklärung wird im Juli abgegeben.",
    ),
    "fr": (
        "cuire du pain",
        "La pâte lève, puis elle entre dans le four chaud.",
        "La déclaration d'impôts se remet en juillet.",
    ),
    "ru": ("Как испечь хлеб?", "Тесто поднимается и ставится в горячую печь.", "Налоговую декларацию подают в июле."),
    "ja": ("パンの焼き方", "生地を発酵させて熱いオーブンに入れます。", "確定申告は三月に提出します。"),
    "zh": ("怎么烤面包？", "面团发酵后放进热烤箱。", "纳税申报表在七月提交。"),
    "ar": ("كيف أخبز الخبز؟", "يختمر العجين ثم يوضع في الفرن الساخن.", "يقدم الإقرار الضريبي في يوليو."),
    "hi": ("रोटी कैसे सेंकें?", "आटा फूलने के बाद गर्म ओवन में रखा जाता है।", "कर विवरणी जुलाई में जमा की जाती है।"),
}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load("multilingual")


def test_it_is_small_needs_no_torch_and_names_no_place_of_a_machine() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= MOST_BYTES
    code = (
        "import sys; from semsearch import Encoder; Encoder.load('multilingual').encode('a');"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert "/root" not in (FOLDER / "encoder.json").read_text(encoding="utf-8")


def test_it_states_its_languages_and_both_prompts(encoder: Encoder) -> None:
    assert len(encoder.languages) == 38 and {*MEANT, "en", "ko", "tr"} <= {*encoder.languages}
    prompts = {role: prompt.before for role, prompt in bundles.read(FOLDER).prompts.items()}
    assert prompts == {"query": "query: ", "passage": "passage: "}


@pytest.mark.parametrize("language", MEANT)
def test_an_answer_is_nearer_than_another_text(encoder: Encoder, language: str) -> None:
    question, answer, other = MEANT[language]
    query = encoder.encode(question, role="query")
    assert query @ encoder.encode(answer, role="passage") > query @ encoder.encode(other, role="passage")


def test_a_question_finds_its_answer_in_another_language(encoder: Encoder) -> None:
    query = encoder.encode("How is bread baked?", role="query")
    near, far = encoder.encode([MEANT["ru"][1], MEANT["ru"][2]], role="passage")
    assert query @ near > query @ far


@pytest.mark.parametrize(
    "text", ["Straße", "čeština", "العربية", "ภาษาไทย", "한국어", "日本語", "汉字", "हिन्दी", "ελληνικά", "שלום"]
)
def test_no_letter_of_its_languages_is_unknown(text: str) -> None:
    assert "<unk>" not in Tokenizer.from_file(str(FOLDER / "tokenizer.json")).encode(text).tokens


def test_a_vector_does_not_depend_on_what_is_encoded_beside_it(encoder: Encoder) -> None:
    alone, beside = encoder.encode("Brot"), encoder.encode(["ein sehr langer Satz über etwas ganz anderes", "Brot"])[1]
    assert alone == pytest.approx(beside, abs=1e-6)
