"""From a base model, an objective and a dataset to a trained encoder."""
