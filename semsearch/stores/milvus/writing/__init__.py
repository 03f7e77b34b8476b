"""What an index in Milvus has, written part by part; `milvus.writer` joins the parts."""
