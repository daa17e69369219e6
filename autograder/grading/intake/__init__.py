"""Files of any kind become hand-ins: who, which chapter, which attempt. May import `restore` and `reading`.

Begin with `handins`, which walks a class's folder; `collecting` sorts a download into such a folder. Both look through `attempts` (which
notebook counts), `recognize` (which chapter is it) and `archives` (files in folders and zips); `paths` reads names, `stamps` times,
`files` opens one file, and `copying` writes one.
"""
