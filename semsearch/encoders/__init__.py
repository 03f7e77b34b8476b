"""What runs an encoder: ONNX Runtime, or no model at all (tests and base lines).

Each file has a `shipped()`: an encoder of its kind that needs nothing but the package. It fulfils
types.EncoderProtocol, and encoder.Engine so that Encoder can wrap it.
"""
