"""Search by words: what a query's words are, which passages have them, and bm25 over them.

FTS5 indexes every word, and its bm25() ranks some thousand passages well. It takes 4 µs a passage, and counts each word
anew, 0.1 s for a word of 30,000 passages. So the postings of frequent words are written a second time, in the form that
NumPy adds up at 10 ns each: `segments`. They follow from the texts, are written after them (`sealing`), and where they
are missing, FTS5 answers alone (`matching`). With them (`postings`) a million passages take milliseconds.

Whether they earn their lines (sentences of Wikipedia, ms of processor p50 / p99 with them, and by FTS5 alone, which
reads the rarest postings only; the ten best passages are the same in every query):

    passages   three ordinary words      three of the most frequent   three function words
    10,000     1.5 / 4.2    1.6 / 3.9    6.8 / 10.7    6.9 / 8.6      12.6 / 27.5   12.5 / 15.7
    100,000    5.5 / 10.8   8.8 / 17.9   7.3 / 13.4    46.5 / 82.9    13.4 / 25.3   77.8 / 156.4
    1,000,000  8.7 / 17.2   20.8 / 56.2  19.1 / 32.6   304 / 594      55 / 75       1,199 / 1,957

At 100,000 passages they take 3.3 of 51.9 MB. Below 16,384 passages none are written (`sealing.Limits`).
"""
