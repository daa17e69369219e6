"""The command line: `main` lists the commands, `commands/` has one file each. May import every other room. Begin with `main`."""
