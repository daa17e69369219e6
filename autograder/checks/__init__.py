"""What a check is, for notebook, engine and judge alike.

Imports the standard library alone; torch and numpy are looked at only where a value already is theirs. Begin with `check`
(what a notebook calls), then `observe` and `compare`; `grammar` is what a check cell may say.

```
a cell's text ─ grammar ─> program ─ probe ─> observations ─ verdict (plain, compare) ─> messages ─ table
                              seeds, observe
```
"""
