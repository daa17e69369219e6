# misconception: gradcheck in float32
# fails: q4: when a Function is needed
# message: float32 is too coarse
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "b", "q5": "b"}
