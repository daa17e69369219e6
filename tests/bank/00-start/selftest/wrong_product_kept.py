# misconception: believes that every intermediate is kept
# fails: q1: what is left after (x * w).sum()
# message: Nobody keeps the product
answers = {"q1": "d", "q2": "a", "q3": "d", "q4": "b", "q5": "a"}
