"""Encoders: text to vectors. A back end (onnx, torch, causal, hashing) is a class based on base.EncoderBackend."""
