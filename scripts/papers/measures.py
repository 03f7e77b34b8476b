"""Measures of an encoder by the name of their column in the tables, all from semsearch.evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from scripts.papers import data as sources
from scripts.papers.jobs import Absent
from scripts.papers.tables import MEANS, TOP
from semsearch.encoders.encoder import Encoder
from semsearch.evaluation import geometry, sts, sts_benchmarks
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference

DRAWN = 2024  # the seed with which pairs are drawn
WIKI_WORDS = 32  # of a sentence for anisotropy, in lower case, as in PromptBERT's code
TOP_WORDS = 5
HIDDEN = 50  # units of the classifiers in SG's tables 4 and 9
LINEAR = "-linear"  # after the name of a transfer task: a classifier without hidden units, as in PromptBERT's table 13
MEMORY = "gpu-gb"


@dataclass(frozen=True, slots=True)
class Ruler:
    """Measures on the files in `data`, on samples drawn with DRAWN: `pairs` of each STS task, `labelled` rows of
    another test set (0 for all), and `texts` for anisotropy."""

    data: Path
    pairs: int = 0
    labelled: int = 0
    texts: int = 100_000
    device: str = "auto"

    def measure(self, name: str, encoder: Encoder) -> float | str:
        """One figure; correlations in percent. Raises Absent if a file that it needs does not exist."""
        if compares(name):
            return self.correlation(name, self.cosines(name, encoder))
        special: dict[str, Callable[[Encoder], float | str]] = {
            "alignment-4.0": lambda one: self._alignment(one, "> 4.0"),
            "alignment-4.5": lambda one: self._alignment(one, "> 4.5"),
            "uniformity": self._uniformity,
            "anisotropy": self._anisotropy,
            "token-anisotropy": _token_anisotropy,
            "encode-seconds": self._seconds,
            MEMORY: self._memory,
        }
        if name in special:
            return special[name](encoder)
        if name.removesuffix(LINEAR) in MEANS["transfer"]:
            return self._transfer(name.removesuffix(LINEAR), encoder, 0 if name.endswith(LINEAR) else HIDDEN)
        if name.startswith(TOP):
            return _words(encoder, name.partition(":")[2])
        raise Absent(f"semsearch has no measure {name}")

    def cosines(self, name: str, encoder: Encoder) -> list[float]:
        """The cosines of the pairs of a measure that `compares`."""
        return [float(value) for value in sts.cosines(self.judged(name).pairs, encoder)]

    def correlation(self, name: str, cosines: Sequence[float]) -> float:
        """Their Spearman with the judgements, in percent."""
        return 100 * sts.spearman(cosines, self.judged(name).gold)

    def judged(self, name: str) -> sts_benchmarks.Subset:
        """The pairs of a measure that `compares`, the subsets of a task joined ('all'). Raises Absent."""
        if name in sts_benchmarks.TASKS or name == "stsb-dev":
            task, split = ("stsb", "dev") if name == "stsb-dev" else (name, "test")
            subsets = sts_benchmarks.sts_pairs(task, self.data, split).values()
            pairs = [pair for subset in subsets for pair in subset.pairs]
            gold, most = [score for subset in subsets for score in subset.gold], self.pairs
        else:
            pairs, gold = sources.labelled(name, self.data, "test")
            most = self.labelled
        chosen = self._drawn(len(pairs), most)
        return sts_benchmarks.Subset(tuple(pairs[at] for at in chosen), tuple(gold[at] for at in chosen))

    def _drawn(self, count: int, most: int) -> list[int]:
        """`most` of `count` row numbers, the same ones every time; 0 is all."""
        if not most or most >= count:
            return list(range(count))
        return sorted(np.random.default_rng([DRAWN, count]).permutation(count)[:most].tolist())

    def _test(self) -> sts_benchmarks.Subset:
        (subset,) = sts_benchmarks.sts_pairs("stsb", self.data, "test").values()
        chosen = self._drawn(len(subset.pairs), 3 * self.pairs)
        return sts_benchmarks.Subset(tuple(subset.pairs[at] for at in chosen), tuple(subset.gold[at] for at in chosen))

    def _alignment(self, encoder: Encoder, threshold: str) -> float:
        subset = self._test()
        left, right = (encoder.encode([pair[side] for pair in subset.pairs], role="passage") for side in (0, 1))
        return geometry.alignments(left, right, subset.gold)[threshold][0]

    def _uniformity(self, encoder: Encoder) -> float:
        texts = [text for pair in self._test().pairs for text in pair]
        return geometry.uniformity(geometry.unit(encoder.encode(texts, role="passage")))

    def _anisotropy(self, encoder: Encoder) -> float:
        texts = islice(sources.sentences(self.data), self.texts)
        cut = [" ".join(text.lower().split()[:WIKI_WORDS]) for text in texts]
        return geometry.anisotropy(geometry.unit(encoder.encode(cut, role="passage")))

    def _seconds(self, encoder: Encoder) -> float:
        """Both sides of all pairs of STS-B test, one after the other."""
        (subset,) = sts_benchmarks.sts_pairs("stsb", self.data, "test").values()
        begun = time.perf_counter()
        encoder.encode([text for pair in subset.pairs for text in pair], role="passage")
        return time.perf_counter() - begun

    def _memory(self, encoder: Encoder) -> float:
        """The peak of the GPU's memory while the sentences of STS-B test are embedded, weights included, in GB."""
        reset_memory()
        self._seconds(encoder)
        return peak_memory()

    def _transfer(self, name: str, encoder: Encoder, hidden: int) -> float:
        """Accuracy in percent. Classifiers learn for hours on a CPU, so the small setting has none."""
        if self.pairs:
            raise Absent("the small setting leaves out the transfer tasks")
        from semsearch.encoders.device import torch_device
        from semsearch.evaluation.papers import transfer, transfer_tasks

        learning = replace(transfer.FULL, hidden=hidden)
        task, (embed, _) = transfer_tasks.read(name, self.data), transfer.features_of(encoder)
        return transfer.run(task, embed, learning, device=torch_device(self.device)).accuracy


def reset_memory() -> None:
    """Begin to look for the peak of the GPU's memory. Raises Absent without a GPU."""
    import torch

    if not torch.cuda.is_available():
        raise Absent("this is the memory of a GPU, and there is none")
    torch.cuda.reset_peak_memory_stats()


def peak_memory() -> float:
    """The peak since reset_memory, in GB."""
    import torch

    return float(torch.cuda.max_memory_allocated() / 1e9)


def compares(name: str) -> bool:
    """Whether a measure is the rank correlation of cosines with judgements of pairs."""
    return name in sts_benchmarks.TASKS or name in ("stsb-dev", "snli") or name in sources.CHINESE


def _token_anisotropy(encoder: Encoder) -> float:
    """The mean cosine between the word vectors of two tokens."""
    from semsearch.models.networks import loading

    reference = Reference.parse(encoder.reference)
    network = loading.masked(model_folders.find(reference.model, reference.revision))
    return geometry.anisotropy(geometry.unit(network.model.get_input_embeddings().weight.detach().float().numpy()))


def _words(encoder: Encoder, sentence: str) -> str:
    """The likeliest words for the [MASK] after `sentence`, separated by commas (PromptBERT, table 7)."""
    from semsearch.evaluation import fill_mask

    ((*_, words),) = fill_mask(encoder, [sentence], TOP_WORDS)
    return ",".join(word.token for word in words)
