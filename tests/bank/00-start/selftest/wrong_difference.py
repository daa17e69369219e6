# misconception: subtracts parameters from what the GPU holds
# fails: q2: what the activations are
# message: optimizer states
answers = {"q1": "b", "q2": "d", "q3": "b", "q4": "d", "q5": "b"}
