# misconception: counts module outputs as activations
# fails: q2: what the activations are
# message: What counts is what nodes saved.
answers = {"q1": "c", "q2": "b", "q3": "d", "q4": "b", "q5": "a"}
