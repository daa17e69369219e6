"""The models that chapters measure: one block (`transformer`), and a small decoder of such blocks (`decoder`). Imports torch."""
