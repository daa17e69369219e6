# misconception: the second run happens whether or not backward comes
# fails: no_backward
# message: Nothing is redone in advance.
forwards = {"plain": 1, "checkpoint": 2, "nested": 3, "no_backward": 2}
