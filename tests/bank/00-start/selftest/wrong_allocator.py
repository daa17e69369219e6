# misconception: takes the allocator peak for activations
# fails: q2: what the activations are
# message: It counts towards the allocator's peak
answers = {"q1": "c", "q2": "c", "q3": "d", "q4": "b", "q5": "a"}
