# misconception: believes that modes free memory
# fails: q5: inference_mode and no_grad
# message: Neither frees anything.
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "d", "q5": "d"}
