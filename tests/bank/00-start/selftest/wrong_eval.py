# misconception: takes inference_mode for eval()
# fails: q5: inference_mode and no_grad
# message: That is `model.eval()`
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "b", "q5": "c"}
