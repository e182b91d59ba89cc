"""The peers: one file each, one function that measures it, run in a process of its own."""
