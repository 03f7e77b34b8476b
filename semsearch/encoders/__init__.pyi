from . import factory as factory
from . import index_encoder as index_encoder
from . import onnx as onnx
