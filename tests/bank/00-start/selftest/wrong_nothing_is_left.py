# misconception: believes that only the result is left
# fails: q1: what is left after (x * w).sum()
# message: The graph is left.
answers = {"q1": "a", "q2": "a", "q3": "d", "q4": "b", "q5": "a"}
