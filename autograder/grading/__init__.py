"""A submission becomes a grade."""
