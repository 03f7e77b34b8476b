"""From a query to hits: dense and lexical channels, fusion, strength, grouping and snippets."""
