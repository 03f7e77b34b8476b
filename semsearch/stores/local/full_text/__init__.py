"""Search by words: what a query's words are, which passages have them, and bm25 over them.

FTS5 indexes every word, and its bm25() ranks some thousand passages well. It takes 4 µs a passage, and counts each word
anew, 0.1 s for a word of 30,000 passages. So the postings of frequent words are written a second time, in the form that
NumPy adds up at 10 ns each: `segments`. They follow from the texts, are written after them (`sealing`), and where they
are missing, FTS5 answers alone (`matching`). With them (`postings`) a million passages take milliseconds.

Below 16,384 passages none are written (`sealing.Limits`). At 100,000 they take 3.3 of 51.9 MB; what they gain there and
elsewhere is in docs/choices.md, measured by scripts/bench/lexical.py.
"""
