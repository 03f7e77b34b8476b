"""The encoders that a page compares. One that cannot be loaded shows an error of its own; the others stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from semsearch import Encoder, SemsearchError

from . import messages, model_picker, pool

MOST = 6
T = TypeVar("T")
ON_A_PAGE = {  # what an error says for the command line, and how it reads on a page
    r"semsearch models list": "the page Indexes & models",
    r"semsearch templates list( --kind \w+)?": "the page Templates",
    r"\bUse --template ": "Write MODEL#TEMPLATE with ",
    r"--template (\S+)": r"MODEL#\1",
    r"Fetch it once without --offline: semsearch models pull \S+": "Fetch it while the network is there",
}


def chosen() -> list[str]:
    """The names that a person chose."""
    return model_picker.several("Encoders", "m", ("default", "cot-minilm"), most=MOST)


def load(names: Sequence[str]) -> dict[str, Encoder]:
    """Those that load, by name."""
    found = {}
    for name in names:
        with errors_of(name):
            if model_picker.is_local(name):
                found[name] = pool.encoder(name)
    return found


def measure_each(encoders: Mapping[str, Encoder], measure: Callable[[Encoder], T]) -> Iterator[tuple[str, T]]:
    """The result of `measure` for each encoder; one that fails shows its error and is left out."""
    for name, encoder in encoders.items():
        with errors_of(name):
            yield name, measure(encoder)


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """Show any error of an encoder as a sentence."""
    try:
        yield
    except Exception as error:  # a broken file can fail in any library that reads it
        messages.error(failure(name, error))


def failure(name: str, error: Exception) -> str:
    """Why an encoder failed: of an unforeseen error its type, as the log has the rest."""
    if isinstance(error, SemsearchError):
        return f"{short_name(name)}: {page_wording(error)}"
    return f"{messages.sentence(error, short_name(name))} Check its files, or choose another one."


def page_wording(error: SemsearchError) -> str:
    """An error as a sentence that names pages where it names commands."""
    text = messages.capitalized(str(error))
    for command, page in ON_A_PAGE.items():
        text = re.sub(command, page, text)
    return text


def labels(names: Collection[str]) -> dict[str, str]:
    """A short name for each; the whole one where two have the same.

    >>> labels(["/models/a/onnx", "/models/b/onnx", "/models/bert"])
    {'/models/a/onnx': '/models/a/onnx', '/models/b/onnx': '/models/b/onnx', '/models/bert': 'bert'}
    """
    ends = [short_name(name) for name in names]
    return {name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)}


def short_name(name: str) -> str:
    """The end of a long name: the last part of a path says most.

    >>> short_name("/models/bert/#cot-bert")
    'bert#cot-bert'
    """
    model, mark, template = name.partition("#")
    found = (model.rstrip("/").rpartition("/")[2] or model) + mark + template
    return found if len(found) <= 44 else "…" + found[-43:]
