# misconception: takes a Function for the way to do in-place
# fails: q4: when a Function is needed
# message: code that autograd cannot see
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "c", "q5": "b"}
