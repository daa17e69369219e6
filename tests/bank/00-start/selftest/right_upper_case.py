# built from one string, in capitals
answers = dict(zip(("q1", "q2", "q3", "q4", "q5"), "CADBA"))
