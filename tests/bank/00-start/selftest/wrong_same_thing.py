# misconception: believes that the two modes are one
# fails: q5: inference_mode and no_grad
# message: An inference tensor saved
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "b", "q5": "b"}
