# misconception: takes a Function for the way to do in-place
# fails: q4: when a Function is needed
# message: code that autograd cannot see
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "d", "q5": "a"}
