"""Measurements that serve the papers alone: transfer tasks, layers and poolings, tokens, whitening, flow."""
