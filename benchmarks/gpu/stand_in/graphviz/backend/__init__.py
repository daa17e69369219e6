"""The part of graphviz.backend that the lab sets: which program draws."""

from types import SimpleNamespace

dot_command = SimpleNamespace(DOT_BINARY="dot")
