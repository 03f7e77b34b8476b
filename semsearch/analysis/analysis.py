"""What an index is like as a whole: its groups, copies and topics, its layout, and whether it is as it should be.

>>> import tempfile; folder = tempfile.mkdtemp() + "/notes"
>>> from semsearch import Document, Index
>>> with Index.create(folder, encoder="hashing") as index:
...     report = index.add([Document(name, "Diesel engines ignite by compression.") for name in "ab"])
...     index.analysis.copies()[0].copies[0].kind
'exact'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, get_args

from semsearch.analysis import audit, copies, document_vectors, labeller, layout, mining, sampling, timeline
from semsearch.analysis import topics as topic_clusters
from semsearch.analysis.distinctive_words import group_names
from semsearch.errors import UnknownName
from semsearch.indexing import file_states
from semsearch.search.current_space import CurrentSpace
from semsearch.search.query_check import parse_filter
from semsearch.stores import base
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import (
    Copies,
    DocumentState,
    Facet,
    JsonObject,
    Keep,
    Label,
    LabelAccuracy,
    Layout,
    LayoutMethod,
    Pair,
    Period,
    Progress,
    Skipped,
    Timeline,
    Topics,
    VectorSample,
    Where,
)
from semsearch.utils.arguments import between, several, whole_number

if TYPE_CHECKING:
    from semsearch.types import Vectors


def _silent(_: Progress) -> None:
    """The default of `progress`: nothing."""


class Analysis:
    """`Index.analysis`: reads a whole index, changes nothing, and encodes only the examples of `label` and a sample."""

    def __init__(self, reader: StoreReader, current: CurrentSpace) -> None:
        self._reader, self._current = reader, current

    @property
    def name(self) -> str:
        """The name of the index."""
        return self._reader.name

    @property
    def _space(self) -> Space:
        return self._current.now().space

    def facets(self) -> list[Facet]:
        """The properties by which documents differ, for filters: file type, date, and the keys of the metadata.

        Three passes over the documents: 2 s for 100,000 of them with five keys each.
        """
        return self._reader.facets()

    def texts(self) -> Iterator[str]:
        """The text of every passage, in the order in which they were stored: what `train --from-index` reads."""
        return base.texts(self._reader)

    def states(self, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
        """The present state of the file of each document (of `ids`, or of all).

        "current": size and time are as when it was read. "changed": they differ. "unfinished": a part of it is not in
        the index, and every update reads it again. "gone": it does not exist. "unseen": its whole folder is missing or
        may not be read. "kept": the document has no file.
        """
        return file_states.states(self._reader, None if ids is None else several(ids, "states", "ids", str))

    def skipped(self) -> list[Skipped]:
        """The skipped files, with reasons: of the last run over all that the index follows, and of the runs since.

        Of the reasons for one file those of the newest run count.
        """
        skipped: dict[str, list[Skipped]] = {}  # of one file there may be several records
        for run in self._reader.runs():
            older: dict[str, list[Skipped]] = {}
            for each in run.get("skipped", ()):
                older.setdefault(each["path"], []).append(Skipped(each["path"], each["reason"]))
            skipped = {**older, **skipped}
            if run.get("whole", True):
                break
        return [each for reasons in skipped.values() for each in reasons]

    def left_out(self, document: str | None = None) -> dict[str, dict[str, int]]:
        """What was left out of files on purpose: by file, the letters of each kind, such as navigation.

        Only files that the index has documents of; the others are in `skipped`. Of files that it does not follow, as
        those of `add_files`, by document. With a `document`, only of the file that it came from.
        """
        return file_states.left_out(self._reader, document)

    def verify(self, progress: Callable[[Progress], None] = _silent) -> list[str]:
        """Every problem: counts, checksums, orphan rows, caches that differ from the store. Empty is good.

        `progress` is called before each check and during it; an exception in it ends the checks.
        """
        return self._reader.verify(progress)

    def audit(self, *, sample: int = 200, k: int = 10) -> JsonObject:
        """Recall and speed of dense search against exact search, and what has gone stale or astray.

        The queries are `sample` of the index's own vectors. `exact`: every stored vector is compared, there is nothing
        to measure, and recall is None. `filters`: the same among random shares of the passages, `recall_filtered` the
        lowest of their recalls; recalls are in 0 … 1, ms is a median. `orphans`: vectors without a passage, and
        passages and documents without a vector. `duplicates`: passages with the text of another, and the share of
        the sample with a near copy. `drift`: 50 passages, encoded again; None without an encoder. `truncation`: how
        many of them are longer than the encoder reads. `files`: the number of documents by state, as in `states`.
        Raises UsageError for a `sample` or `k` below 1.
        """
        whole_number("sample", sample)
        whole_number("k", k)
        encoder = self._current.now().encoder if self._space.has_encoder else None
        context = bool(self._reader.state().recipe.get("context", False))
        measured = audit.audit(self._reader, self._space, encoder, context=context, sample=sample, k=k)
        return {**measured, "files": dict(Counter(file_states.states(self._reader).values()))}

    def sample_vectors(self, most: int = 20_000, *, letters: int = 400) -> VectorSample:
        """At most `most` passages with their vectors and the first `letters` of their texts, always the same ones.

        Front matter of notes is no part of these texts. Raises UsageError for fewer than one.
        """
        whole_number("most", most)
        return sampling.sample(self._reader, self._space, most, letters)

    def layout(
        self,
        most: int = 30_000,
        *,
        method: LayoutMethod = "umap",
        letters: int = 400,
        progress: Callable[[Progress], None] = _silent,
    ) -> Layout:
        """At most `most` passages in the plane, as on the page Map. Nothing is encoded.

        "pca" takes a second; "umap" some minutes for 30,000 passages in another process, once: the layout is a file
        beside the index, which may be deleted. It is made anew when a fifth of the passages is new to it, or the
        vectors are another encoder's; until then new ones are put between their neighbours in meaning. An exception of
        `progress` ends the call. Raises UsageError, MissingExtra without the extra `map`, SemsearchError where UMAP
        fails.
        """
        whole_number("most", most)
        if method not in get_args(LayoutMethod):
            raise UnknownName("layout", str(method), get_args(LayoutMethod))
        return layout.layout(self._reader, self._space, most, method, letters, progress)

    def kept_layout(self, sample: VectorSample) -> Layout | None:
        """The layout by UMAP of a sample of this index, as far as an earlier `layout` was kept; None where it was not,
        or does not fit any more.
        """
        places = layout.fitting(self._reader.location, self._space, sample)
        return None if places is None else Layout(sample, places, "umap")

    def paraphrase_mining(
        self,
        *,
        threshold: float = 0.0,
        max_pairs: int = mining.MAX_PAIRS,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
    ) -> list[Pair[int]]:
        """The `max_pairs` closest pairs of passages of different documents, as passage ids; see `paraphrase_mining`.

        Nothing is encoded. Of n passages up to 100,000 all pairs are compared, O(n² d), with all vectors in memory. Of
        more, each is compared with the 100 that are nearest in the vector index, and a block of 1,000 is in memory: a
        pair beyond these is not found. Raises UsageError, BadFilter.
        """
        mining.check(threshold=threshold, max_pairs=max_pairs)
        condition = parse_filter(where, values=values)
        return mining.passage_pairs(self._reader, self._space, condition, threshold, max_pairs)

    def near_duplicates(
        self,
        *,
        threshold: float = mining.SAME,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
    ) -> list[list[str]]:
        """Groups of documents that nearly agree, by id, the largest group first; see `near_duplicates`.

        The vector of a document is the mean of those of its passages; nothing is encoded. O(n² d) for n documents.
        Raises UsageError, BadFilter.
        """
        mining.check(threshold=threshold)
        return self._document_groups(where, values, partial(mining.near_duplicates, threshold=threshold))

    def copies(
        self,
        *,
        threshold: float = copies.CLOSE,
        words: float = copies.WORDS,
        exact: bool = False,
        keep: Keep = "longest",
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> list[Copies]:
        """Documents that repeat others, each with the one to keep: `semsearch dedup`. Nothing is deleted.

        A copy has the text of the document to keep. Or its vector, the mean of those of its passages, has a cosine of
        at least `threshold` with that one, and they share at least `words` (0..1) of their words; not with `exact`.
        `keep` prefers the document with the "longest" text, the "newest" or "oldest" file, or the "first" name.
        O(n² d) for n documents up to 100,000. Of more, each is compared with what is near three of its passages in the
        vector index, and vectors and words are in temporary files. An exception of `progress` ends the call. Raises
        UsageError, BadFilter.
        """
        mining.check(threshold=threshold)
        between("words", words, 0, 1, "It is a share, for example 0.8.")
        if keep not in copies.RULES:
            raise UnknownName("document to keep", str(keep), copies.RULES)
        criteria = copies.Criteria(threshold, words, exact, keep)
        return copies.copies(self._reader, self._space, parse_filter(where, values=values), criteria, progress)

    def clusters(
        self,
        *,
        threshold: float | None = None,
        min_size: int | None = None,
        k: int | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
    ) -> list[list[str]]:
        """Clusters of documents, by id: the largest first, the most central document of each first; see `clusters`.

        The vector of a document is the mean of those of its passages; nothing is encoded. O(n² d) for n documents, with
        `k` O(n k d). Raises UsageError, BadFilter.
        """
        mining.check_clusters(threshold, min_size, k)
        clustered = partial(mining.clustered, threshold=threshold, min_size=min_size, k=k)
        return self._document_groups(where, values, clustered)

    def _document_groups(
        self, where: Where | None, values: Mapping[str, object] | None, grouped: Callable[[Vectors], list[list[int]]]
    ) -> list[list[str]]:
        """The groups that a function finds among the mean vectors of documents, by id."""
        names, vectors = document_vectors.document_vectors(
            self._reader, self._space, parse_filter(where, values=values)
        )
        return [[names[at] for at in group] for group in grouped(vectors)]

    def topics(
        self,
        k: int | None = None,
        *,
        threshold: float | None = None,
        min_size: int | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> Topics:
        """Clusters of documents with names, examples and coherence, the largest first: `semsearch cluster`.

        `k` clusters cover all documents, by k-means; without it their number is chosen, at most 100, by the mean
        silhouette of a sample. With `threshold` or `min_size` as `clusters` has them, some are in none. Names are words
        that many documents of a cluster have and few others. Of n documents 20,000 are clustered, and all others join
        the nearest centre: O(n k d), and memory for 20,000 vectors. A threshold takes O(n² d) and at most 100,000
        documents. An exception of `progress` ends the call. Raises UsageError, BadFilter.
        """
        mining.check_clusters(threshold, min_size, k)
        options = topic_clusters.TopicOptions(k, threshold, min_size)
        return topic_clusters.topics(
            self._reader, self._space, parse_filter(where, values=values), options, group_names, progress
        )

    def timeline(self, topics: Topics, *, by: Period = "auto", field: str | None = None) -> Timeline:
        """How many documents of each topic there are in each day, month or year, by their dates.

        The date of a document is the ISO date in its metadata `field`. Without `field` it is that of "date", else that
        of its file. "auto" counts by day up to 45 days, and by month up to three years. Raises NotFound where no
        document has a date.
        """
        return timeline.timeline(self._reader, topics, by, field)

    def days(self, ids: Sequence[str], *, field: str | None = None) -> dict[str, str]:
        """The ISO day of each of these documents that has one, as in `timeline`: of its metadata or of its file."""
        return timeline.days(self._reader, several(ids, "days", "ids", str), field)

    def label(
        self,
        examples: Sequence[tuple[str, str]],
        *,
        folds: int = labeller.FOLDS,
        reject: float = labeller.REJECT,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        progress: Callable[[Progress], None] = _silent,
    ) -> tuple[dict[str, Label], LabelAccuracy]:
        """The label of each document, by id, as in the examples (text, label), and how well these are labelled.

        The examples are encoded; documents are labelled by the vectors that they have (the mean of those of their
        passages), and those without a vector are left out. Each example is labelled by those of the other `folds`. A
        document that is less like its label than all but the share `reject` of these gets the label None. Nothing is
        changed. Raises UsageError, BadFilter, EncoderMismatch.
        """
        pairs = labeller.checked(examples)
        condition = parse_filter(where, values=values)
        vectors = self._current.now().encoder.encode([text for text, _ in pairs], role="passage")
        learned = labeller.Labeller(vectors, [label for _, label in pairs], folds=folds, reject=reject)
        with self._reader.snapshot():
            names = self._reader.document_ids(condition)
            return labeller.label_documents(self._reader, self._space, names, learned, progress), learned.accuracy
