"""What runs an encoder: ONNX Runtime, or no model at all (tests)."""
