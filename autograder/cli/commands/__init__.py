"""The commands, one file each; `cli.main` puts them together. Begin with `grade`."""
