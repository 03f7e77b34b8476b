"""Vector indexes, one file each: a class `Backend` that implements `semsearch.types.VectorIndex`.

The members that `cache_files` and `searcher` need of `plugins.load(backends, name).Backend`:

    name, engine              class: its file's name; what runs it, with its version ("faiss 1.15.1")
    build(dim, chunks, *, count)   chunks() yields (ids, unit rows) in ascending ids, and can be called again:
                              backends that train call it twice. count: about how many rows there are
    rounding                  class: the largest difference between its scores and the cosines; 2 for rough estimates
    candidates(k)             how many hits to ask for, so that the k nearest are among them and exact cosines can order
                              them; what it is to find is within the recall that it was built for
    read(buffer)              from the bytes of a file, which the backend may use in place
    save(path)                one file
    add(ids, vectors)         ids ascending, above those it has
    search(queries (q, d), k, allowed)   -> ids (q, k), cosines (q, k), best first, equal cosines by id; missing
                              hits: id -1, cosine -inf. allowed: ascending ids, None for all
    ids, dim, spec, len()     ascending ids (n,), width, a line that describes the index
    device, warnings          where the last search ran, "cpu" or "cuda:0"; messages about it. `_base.BaseBackend` has
                              defaults for both, rounding, candidates() and len()

`tests/contracts/test_backends.py` finds every backend by itself and checks all of this.
"""
