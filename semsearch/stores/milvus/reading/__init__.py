"""What an index in Milvus has, read part by part; `milvus.reader` joins the parts."""
