"""The part of the engine that lives inside the sandbox, together with the code under test.

It imports `autograder.checks` and `autograder.lab` and nothing else of this package: the other rooms are not there. Begin with
`session`, which follows the grader's orders; then `snapshot`, how a check cell runs, and `kept`, what is put back.
"""
