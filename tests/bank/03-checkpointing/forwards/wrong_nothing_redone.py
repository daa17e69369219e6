# misconception: a checkpoint keeps what its function computed
# fails: checkpoint
# message: backward runs work again
forwards = {"plain": 1, "checkpoint": 1, "nested": 1, "no_backward": 1}
