"""Parts that loaders share: character sets, file types, records and tables, HTML, zipped XML, the text writer."""
