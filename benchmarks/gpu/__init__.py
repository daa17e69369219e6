"""What `make gpu` measures. `record_gpu` runs it; each module here holds one kind of measurement."""
