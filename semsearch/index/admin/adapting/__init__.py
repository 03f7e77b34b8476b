"""`admin.adapt`: an encoder trained on the documents of an index, which has to earn its place."""
