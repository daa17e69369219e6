# misconception: takes checkpointing for offloading
# fails: q3: what checkpointing trades
# message: That is offloading
answers = {"q1": "c", "q2": "a", "q3": "b", "q4": "b", "q5": "a"}
