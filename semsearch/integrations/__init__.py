"""semsearch in other libraries: one module for each, which imports that library when it is imported itself.

    semsearch.integrations.langchain   semsearch.integrations.mteb   semsearch.integrations.sentence_transformers

Each comes with the extra of its name, and docs/integrations.md has an example of each.
"""
