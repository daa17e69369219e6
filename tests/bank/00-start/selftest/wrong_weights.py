# misconception: believes that checkpointing is about weights
# fails: q3: what checkpointing trades
# message: Weights and optimizer are not touched.
answers = {"q1": "c", "q2": "a", "q3": "c", "q4": "b", "q5": "a"}
