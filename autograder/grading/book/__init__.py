"""nbgrader's gradebook, and the folders beside it. May import `course` and `results`.

`gradebook` is the door; `database` opens, `entries`, `cells` and `rows` write, `standing` and `late` read, `autograded` keeps the notebooks.
"""
