"""From a document to passages: `document.text[start:end] == passage.text`."""
