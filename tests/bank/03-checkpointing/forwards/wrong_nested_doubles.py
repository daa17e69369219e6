# misconception: every level doubles the number of runs
# fails: nested
# message: Levels add up
forwards = {"plain": 1, "checkpoint": 2, "nested": 4, "no_backward": 1}
