# misconception: gradcheck in float32
# fails: q4: when a Function is needed
# message: float32 is too coarse
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "c", "q5": "a"}
