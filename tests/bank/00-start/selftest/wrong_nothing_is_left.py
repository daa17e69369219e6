# misconception: believes that only the result is left
# fails: q1: what is left after (x * w).sum()
# message: The graph is left.
answers = {"q1": "a", "q2": "c", "q3": "b", "q4": "d", "q5": "b"}
