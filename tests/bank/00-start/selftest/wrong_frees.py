# misconception: believes that modes free memory
# fails: q5: inference_mode and no_grad
# message: Neither frees anything.
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "b", "q5": "d"}
