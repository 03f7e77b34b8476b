"""What is alike among texts and documents: pairs, copies, clusters, labels; over time, too."""
