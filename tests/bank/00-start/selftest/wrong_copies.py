# misconception: believes that saving copies
# fails: q1: what is left after (x * w).sum()
# message: Saving holds a reference.
answers = {"q1": "c", "q2": "c", "q3": "b", "q4": "d", "q5": "b"}
