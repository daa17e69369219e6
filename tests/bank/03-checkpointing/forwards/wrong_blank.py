# misconception: leaves the form empty
# fails: plain
# fails: checkpoint
# fails: nested
# fails: no_backward
# message: Not written yet.
forwards = {"plain": None, "checkpoint": None, "nested": None, "no_backward": None}
