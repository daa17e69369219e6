# misconception: believes that checkpointing is about weights
# fails: q3: what checkpointing trades
# message: Weights and optimizer are not touched.
answers = {"q1": "b", "q2": "c", "q3": "d", "q4": "d", "q5": "b"}
