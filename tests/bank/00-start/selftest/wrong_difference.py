# misconception: subtracts parameters from what the GPU holds
# fails: q2: what the activations are
# message: optimizer states
answers = {"q1": "c", "q2": "d", "q3": "d", "q4": "b", "q5": "a"}
