"""Vector indexes, one file each: a class `Backend` that keeps `semsearch.types.VectorIndex`.

What a backend has to have, for `plugins.load(backends, name).Backend` to work with `caches` and `nearest`:

    name, engine              class: its file's name; what runs it, with its version ("faiss 1.15.1")
    build(dim, chunks, *, count)   chunks() gives (ids, unit rows) in ascending ids, and can be called again;
                              it is asked twice by backends that train. count: about how many rows come
    read(buffer)              from the bytes of a file, which the backend may keep instead of copying them
    load(path), save(path)    one file
    add(ids, vectors)         ids ascending, above those it has
    search(queries (q, d), k, allowed)   -> ids (q, k), cosines (q, k), best first, equal cosines by id; where
                              there is no more: id -1, cosine -inf. allowed: ascending ids, None for all
    ids, dim, spec, len()     ascending ids (n,), width, a line that says what was built
    device, warnings              (may be left out) where the last search ran, "cpu" or "cuda:0"; what to tell of it

`tests/contracts/test_backends.py` finds every backend by itself and holds it to this.
"""
