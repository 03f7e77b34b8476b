"""Names of groups of texts by the words that set them apart, and topics inside topics with such names."""
