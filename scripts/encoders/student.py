"""A student: a BERT read by CoT-BERT's method, and a linear map of what it reads to the space of its teachers.

Queries are read under one template, passages under another. The word vectors stay as they are, but for that of [MASK],
which stands in no text: it is the learned part of both prompts. As an encoder the student is a folder of `semsearch`,
and the linear map its post-processing.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from scripts.encoders.corpus import Text
from scripts.encoders.rounding import round_layers, round_words
from semsearch import Encoder
from semsearch.encoders import factory
from semsearch.evaluation.papers import whitening
from semsearch.models import bundle as bundles
from semsearch.models import hf_config
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.model_ref import Reference
from semsearch.models.networks import pooling, post, saving
from semsearch.models.networks.masked import Inputs
from semsearch.models.networks.post import Whitening
from semsearch.prompts import Prompt, library
from semsearch.training.model import READING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Role, Vectors

MAX_TOKENS = 256
TOKENS = 512  # in a forward pass on a CPU, padding included: with 2,048 two fifths of a step are padding
GPU_TOKENS = 16_384
PREFIX = "embeddings."


class Student(nn.Module):
    """The network in `folder` under `template`, with a map to `width` numbers. Dropout is off."""

    def __init__(self, folder: Path, template: str, width: int, device: str = "cpu") -> None:
        super().__init__()
        encoder = Encoder.load(f"{folder}#max_tokens={MAX_TOKENS},template={template}", device=device, backend="torch")
        self.backend = factory.torch_backend(encoder, "training")
        self.network: Any = self.backend.network.train(False)
        self.prompts, self._template = self.backend.prompts, template
        self.tokenizer = self.backend.new_tokenizer()
        self.mask = self.tokenizer.frame(self.prompts["passage"]).mask
        words = self.network.model.get_input_embeddings()
        round_words(words)
        self.mask_word = nn.Parameter(words.weight[self.mask].detach().clone())
        self.device = torch.device(self.backend.device)
        self._is_rounded = False
        self.head = nn.Linear(self.network.width, width).to(self.device)
        for name, value in self.network.named_parameters():
            value.requires_grad_(not name.removeprefix("model.").startswith(PREFIX))

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that are trained, by name."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}

    def round_layers(self) -> None:
        """Compute as the int8 export does from now on; the parameters stay the same."""
        self._is_rounded = True
        round_layers(self.network.model.encoder)

    def rows(self, texts: Sequence[Text]) -> list[list[int]]:
        """Token ids under the template of each text's role."""
        rows: list[list[int]] = [[] for _ in texts]
        for role, prompt in self.prompts.items():
            places = [at for at, each in enumerate(texts) if each.role == role]
            for at, ids in zip(places, self.tokenizer.ids([texts[at].text for at in places], prompt), strict=True):
                rows[at] = list(ids)
        return rows

    def read(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The hidden state of the last [MASK] of every row: (n, h), with gradients where they are on.

        On a GPU in bfloat16 where gradients are wanted, until layers are rounded: their steps are finer than bfloat16.
        """
        half = self.device.type == "cuda" and torch.is_grad_enabled() and not self._is_rounded
        states: list[Tensor] = []
        order: list[NDArray[np.int64]] = []
        most = TOKENS if self.device.type == "cpu" else GPU_TOKENS
        for batch in batches_by_length([len(row) for row in rows], max_texts=len(rows), max_tokens=most):
            ids, mask = (torch.from_numpy(each).to(self.device) for each in pad([rows[at] for at in batch]))
            words = torch.where((ids == self.mask)[..., None], self.mask_word, self.network.words(ids))
            at = pooling.positions_of(ids, self.mask, 1)
            with torch.autocast(self.device.type, torch.bfloat16, enabled=half):
                states.append(self.network.read(Inputs(ids, mask, words=words), at)[:, 0].float())
            order.append(batch)
        return torch.cat(states)[torch.from_numpy(np.argsort(np.concatenate(order)))]

    @cached_property
    def views(self) -> tuple[Mapping[Role, Prompt], ...]:
        """The prompts of anchor, positive and negative: the template NAME, NAME-positive and NAME-negative."""
        return self.prompts, *(library.resolve(f"{self._template}-{kind}").prompts for kind in ("positive", "negative"))

    def denoised(self, texts: Sequence[Text], prompts: Mapping[Role, Prompt]) -> Tensor:
        """What is read of every text under its role's prompt, less the same of as many [PAD]s: (n, h).

        CoT-BERT, section 3.3, of a BERT, whose positions are those of the sentence by themselves.
        """
        rows: list[list[int]] = []
        empty: list[tuple[int, ...]] = []
        for text, role in texts:
            frame = self.tokenizer.frame(prompts[role])
            rows += map(list, self.tokenizer.ids([text], prompts[role]))
            empty.append((*frame.before, *[frame.pad] * max(0, len(rows[-1]) - len(frame)), *frame.after))
        distinct = list(dict.fromkeys(empty))
        return self.read(rows) - self.read(distinct)[[distinct.index(each) for each in empty]]

    def forward(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Unit vectors (n, width)."""
        return nn.functional.normalize(self.head(self.read(rows)), dim=1)

    @torch.no_grad()
    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit vectors (n, width); equal texts are read once."""
        places = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        vectors = self(self.rows([Text(text, role) for text in places]))
        return np.asarray(vectors[[places[text] for text in texts]].cpu().numpy(), np.float32)

    @torch.no_grad()
    def fit_head(self, texts: Sequence[Text], targets: NDArray[np.float32], ridge: float = 1e-3) -> None:
        """Set the map by ridge regression of `targets` (n, width) on what the network reads of `texts`."""
        self.fit_head_of_rows(self.rows(texts), targets, ridge)

    @torch.no_grad()
    def fit_head_of_rows(
        self, rows: Sequence[Sequence[int]], targets: NDArray[np.float32], ridge: float = 1e-3
    ) -> None:
        """The same on token ids."""
        hidden = self.read(rows).double()
        goals, centre = torch.from_numpy(targets).to(self.device).double(), hidden.mean(0)
        away = hidden - centre
        gram = away.T @ away
        gram += ridge * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype, device=self.device)
        kernel = torch.linalg.solve(gram, away.T @ (goals - goals.mean(0)))
        self.head.weight.copy_(kernel.T)
        self.head.bias.copy_(goals.mean(0) - centre @ kernel)

    @torch.no_grad()
    def whiten(self, texts: Sequence[Text], power: float) -> None:
        """Put a whitening of what the map gives of `texts`, in part, into the map."""
        fitted = whitening.fit([self.head(self.read(self.rows(texts))).numpy()], power=power)
        kernel, mean = torch.from_numpy(fitted.kernel), torch.from_numpy(fitted.mean)
        self.head.weight.copy_(kernel.T @ self.head.weight.double())
        self.head.bias.copy_((self.head.bias.double() - mean) @ kernel)

    @torch.no_grad()
    def save(self, out: Path, name: str, trained: dict[str, Any]) -> bundles.Bundle:
        """Write the current weights as an encoder with the map as its post-processing; `trained` says how it was made.

        (u − mean) kernel is the map where mean · kernel = −bias, which a square map has a solution for.
        """
        self.network.model.get_input_embeddings().weight[self.mask] = self.mask_word
        kernel = self.head.weight.T.double().numpy()
        linear = Whitening.of(-np.linalg.solve(kernel.T, self.head.bias.double().numpy()), kernel)
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        read = self.backend.bundle
        (out / bundles.TOKENIZER).write_bytes(read.path("tokenizer").read_bytes())
        saving.save(self.network, read, out)
        post.save(nn.Sequential(linear), out)
        written = hf_config.describe(out, Reference(str(out)), name=name, source=read.source)
        fitted = {"source": "learned with the network", "steps": trained["steps"]}
        fields = {key: getattr(read, key) for key in READING} | {"post": (post.step(linear, fitted),)}
        fields |= {"origin": {"trained": trained}}
        fields |= {"tokenizer": bundles.TOKENIZER, "tokenizer_sha256": bundles.sha256(out / bundles.TOKENIZER)}
        return bundles.write(replace(written, dim=linear.dim, **fields), out)
