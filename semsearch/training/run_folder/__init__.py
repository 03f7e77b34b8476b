"""What a training run leaves in its folder: state, metrics, manifest, plot and the encoder."""
