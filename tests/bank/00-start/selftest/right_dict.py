# the form, filled in
answers = {"q1": "c", "q2": "a", "q3": "d", "q4": "b", "q5": "a"}
