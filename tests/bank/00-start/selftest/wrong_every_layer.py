# misconception: believes that every layer needs a Function
# fails: q4: when a Function is needed
# message: has its backward already
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "a", "q5": "b"}
