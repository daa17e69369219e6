# misconception: leaves the form empty
# fails: q1: what is left after (x * w).sum()
# fails: q2: what the activations are
# fails: q3: what checkpointing trades
# fails: q4: when a Function is needed
# fails: q5: inference_mode and no_grad
# message: Put a letter into answers
answers = {"q1": "", "q2": "", "q3": "", "q4": "", "q5": ""}
