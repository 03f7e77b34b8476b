"""What runs an encoder: ONNX Runtime, or no model at all (tests and base lines).

What a file offers fulfils types.EncoderProtocol, and encoder.Engine so that Encoder can wrap it. Those that need
nothing but the package have a `shipped()`, which gives such an encoder.
"""
