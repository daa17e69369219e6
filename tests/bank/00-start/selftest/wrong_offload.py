# misconception: takes checkpointing for offloading
# fails: q3: what checkpointing trades
# message: That is offloading
answers = {"q1": "b", "q2": "c", "q3": "c", "q4": "d", "q5": "b"}
