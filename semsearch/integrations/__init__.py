"""semsearch in other libraries: one module for each, which imports that library when it is imported itself.

    semsearch.integrations.haystack      semsearch.integrations.mteb
    semsearch.integrations.langchain     semsearch.integrations.sentence_transformers
    semsearch.integrations.llamaindex

Each comes with the extra of its name, and docs/integrations.md has an example of each.
"""
