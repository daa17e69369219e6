# misconception: believes that every layer needs a Function
# fails: q4: when a Function is needed
# message: has its backward already
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "a", "q5": "a"}
