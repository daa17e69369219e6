# misconception: believes that the two modes are one
# fails: q5: inference_mode and no_grad
# message: An inference tensor saved
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "d", "q5": "a"}
