"""What a local store has, written part by part; `local.writer` joins the parts."""
