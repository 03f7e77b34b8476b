"""What runs a reranker: one file each, whose class is called Runtime (semsearch.encoders.rerankers.runtime).

onnx    a folder with reranker.json and an ONNX graph, written by `semsearch export`
torch   a Hugging Face folder with safetensors weights
"""
