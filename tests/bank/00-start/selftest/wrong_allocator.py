# misconception: takes the allocator peak for activations
# fails: q2: what the activations are
# message: The peak of the allocator
answers = {"q1": "b", "q2": "b", "q3": "b", "q4": "d", "q5": "b"}
