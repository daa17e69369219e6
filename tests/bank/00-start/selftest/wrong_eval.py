# misconception: takes inference_mode for eval()
# fails: q5: inference_mode and no_grad
# message: That is `model.eval()`
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "d", "q5": "c"}
