"""The input of a job: what is cut into which shards, and objects in a store."""
