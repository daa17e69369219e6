# misconception: counts module outputs as activations
# fails: q2: what the activations are
# message: What counts is what nodes saved.
answers = {"q1": "b", "q2": "a", "q3": "b", "q4": "d", "q5": "b"}
