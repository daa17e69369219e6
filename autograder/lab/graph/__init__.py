"""Drawings of autograd's graph. Imports torch and graphviz.

`draw` is the door; `read` turns nodes into facts, `names` finds what the reader calls them, `fold` shortens repeats, `style`
writes dot, `dot_text` reads it back.
"""
