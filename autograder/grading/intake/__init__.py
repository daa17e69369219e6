"""Files of any kind become hand-ins: who, which chapter, which attempt. May import `restore` and `reading`.

`handins` walks a class's folder, `collecting` sorts a download into one; both look through `attempts`, `recognize` and `archives`.
"""
