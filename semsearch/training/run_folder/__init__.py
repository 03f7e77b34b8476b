"""The folder of a training run: state, manifest, plot and the encoder."""
