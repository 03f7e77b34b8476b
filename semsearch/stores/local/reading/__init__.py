"""What a local store has, read part by part; `local.reader` joins the parts."""
