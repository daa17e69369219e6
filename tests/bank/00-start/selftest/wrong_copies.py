# misconception: believes that saving copies
# fails: q1: what is left after (x * w).sum()
# message: Saving holds a reference.
answers = {"q1": "b", "q2": "a", "q3": "d", "q4": "b", "q5": "a"}
