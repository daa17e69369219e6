# the form, filled in
answers = {"q1": "b", "q2": "c", "q3": "b", "q4": "d", "q5": "b"}
