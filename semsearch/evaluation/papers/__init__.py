"""Measurements and methods from the papers: transfer tasks, layer scores, token attribution, whitening, flow."""
