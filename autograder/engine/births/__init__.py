"""The grader's side of a birth: how the process of a notebook comes to be, warm (forked) or cold (started), and how it ends.

Imports `engine`'s other files and, of `inside`, what names the wall. Begin with `engine`, then `warm` or `cold`.
"""
