"""One notebook, run safely and fast. `open_engine` chooses how."""
