forwards = {"plain": 1, "checkpoint": 2, "nested": 3, "no_backward": 1}
