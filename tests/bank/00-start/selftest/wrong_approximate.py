# misconception: believes that checkpointing changes gradients
# fails: q3: what checkpointing trades
# message: the gradients are the same
answers = {"q1": "b", "q2": "c", "q3": "a", "q4": "d", "q5": "b"}
