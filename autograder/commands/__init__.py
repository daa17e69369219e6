"""The commands, one file each; `autograder.cli` puts them together."""
