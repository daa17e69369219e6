# misconception: a checkpoint inside a checkpoint changes nothing
# fails: nested
# message: throws its saved tensors away again
forwards = {"plain": 1, "checkpoint": 2, "nested": 2, "no_backward": 1}
