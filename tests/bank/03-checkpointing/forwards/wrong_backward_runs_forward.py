# misconception: backward always runs the forward again
# fails: plain
# message: backward uses what forward saved
forwards = {"plain": 2, "checkpoint": 3, "nested": 4, "no_backward": 1}
