# misconception: believes that checkpointing changes gradients
# fails: q3: what checkpointing trades
# message: the gradients are the same
answers = {"q1": "c", "q2": "a", "q3": "a", "q4": "b", "q5": "a"}
