"""A hostile answer earns what is honest in it, and leaves its neighbors alone."""

import json

import pytest

from autograder.grading.book.gradebook import Book
from autograder.grading.campaign import Campaign
from autograder.grading.references import observe_references
from autograder.pipeline import open_course
from tests.mini_course import NAME, RIGHT, filled, hand_in

ATTACKS = {
    "equal to everything": """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
def double(n): return Same()
""",
    "a float that equals everything": """
class Same(float):
    def __eq__(self, other): return True
    __hash__ = None
def double(n): return Same(1.0)
""",
    "a tensor subclass that lies": """
class Liar(torch.Tensor):
    def tolist(self): return [0.0]
    def numel(self): return 0
def double(n): return Liar()
""",
    "instance attributes that shadow methods": """
def double(n):
    t = torch.zeros(3)
    t.tolist = lambda: [2.0] * 3
    return t
""",
    "patched Check": """
import autograder.lab, autograder.checks.check
class Easy:
    def __init__(self, name, points=1): self.points = points
    def __call__(self, *a, **k): pass
    that = raises = __call__
    def report(self): return self.points
Check = autograder.lab.Check = autograder.checks.check.Check = Easy
""",
    "patched comparison": """
import autograder.checks.compare as c, autograder.checks.verdict as v
c.compare = v.compare = v.judge_value = lambda *a, **k: None
""",
    "patched builtins, json and torch": """
import builtins, json
builtins.print = builtins.float = builtins.isinstance = lambda *a, **k: True
json.dumps = lambda *a, **k: '{"score": 1000}'
torch.allclose = torch.equal = lambda *a, **k: True
torch.Tensor.__eq__ = lambda a, b: True
""",
    "a transformer that drops lines": """
ip = get_ipython()
ip.input_transformers_cleanup.append(lambda lines: [])
ip.input_transformers_post.append(lambda lines: ['4\\n'])
""",
    "an AST transformer": """
import ast
class Drop(ast.NodeTransformer):
    def visit_Expr(self, node): return ast.Expr(ast.Constant(1000.0))
get_ipython().ast_transformers.append(Drop())
""",
    "a formatter that prints the full score": """
get_ipython().display_formatter.formatters['text/plain'].for_type(float, lambda value, p, cycle: p.text('1000.0'))
print(4.0)
4.0
""",
    "hooks of the shell": """
ip = get_ipython()
ip.events.register('pre_run_cell', lambda *a: ip.user_ns.update(check=lambda *a, **k: None))
ip.set_custom_exc((Exception,), lambda *a, **k: None)
ip.run_cell = lambda *a, **k: None
""",
    "a trace function": """
import sys, threading
def trace(frame, event, arg):
    frame.f_locals.update(observed=True)
    return trace
sys.settrace(trace)
sys.setprofile(lambda *a: None)
""",
    "at exit": """
import atexit
atexit.register(lambda: print('score 1000'))
""",
    "replaced seed": """
import autograder.checks.seeds as s
s.derive = lambda *a: 0
s.seed_everything = lambda *a: None
torch.manual_seed = lambda *a: None
torch.randn = lambda *a, **k: torch.zeros(3)
""",
    "an audit hook": """
import sys
sys.addaudithook(lambda *a: None)
""",
    "the garbage collector's objects": """
import gc
found = [o for o in gc.get_objects() if isinstance(o, dict) and 'expected' in o]
def double(n): return found and found[0]['expected']
""",
    "the frames above": """
import sys
def double(n):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and 'expected' in value: return value['expected']
        frame = frame.f_back
""",
    "a terabyte and a deep nest": """
def double(n):
    if n == 2: return torch.zeros(1).expand(10**6, 10**6)
    nest = []
    for _ in range(100_000): nest = [nest]
    return nest
""",
    "a huge int, a huge string": """
def double(n): return 10 ** 100_000 if n == 2 else 'x' * 10**8
""",
    "swapped code of the probe": """
import autograder.checks.probe as p
p.call.__code__ = (lambda *a, **k: 1000).__code__
p.Probe.__call__ = lambda self, label, thunk, limit=5: self.emit(label, 1000)
""",
    "emits by itself": """
import gc, autograder.checks.probe as p
init = p.Probe.__init__
def patched(self, exercise, seed, emit):
    for label in ('two', "the course's tensor", 'a tensor', 'seven', 'points', 'score'): emit(label, 1000)
    init(self, exercise, seed, emit)
p.Probe.__init__ = patched
""",
    "an exception that looks like a value": """
def double(n): raise type('Fine', (Exception,), {'__str__': lambda self: '4'})
""",
    "points and metadata": "POINTS",
}


@pytest.fixture(scope="module")
def graded(built_course, engine, tmp_path_factory):
    import shutil

    root = tmp_path_factory.mktemp("hostile") / "course"
    shutil.copytree(built_course, root)
    for number, source in enumerate(ATTACKS.values()):
        notebook = filled(root, {**RIGHT, "double": source if source != "POINTS" else "double = None"})
        if source == "POINTS":
            for cell in notebook["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("grade_id") == "check-double":
                    cell["metadata"]["nbgrader"].update(points=1000, grade=False)
                    cell["metadata"]["tags"] = ["skip-execution"]
                    cell["source"] = "1000.0"
        hand_in(root, f"x{number:02}", notebook)
        hand_in(root, f"y{number:02}", filled(root, RIGHT))
    course = open_course(root)
    with Book.open(f"sqlite:///{root}/gradebook.db", course.course_id, root / "autograded") as book:
        for chapter in course.chapters.values():
            book.register(chapter)
        references = observe_references(engine, course.chapters.values(), 3)
        result = Campaign(course, engine, book, references, 3).run(root / "submitted")
    return root, {submission.student: submission for submission in result.submissions}


@pytest.mark.parametrize("number, attack", list(enumerate(ATTACKS)), ids=list(ATTACKS))
def test_an_attack_earns_nothing_and_costs_nobody(graded, number, attack):
    root, results = graded
    attacker, neighbor = results[f"x{number:02}"], results[f"y{number:02}"]
    by_id = {exercise.id: exercise for exercise in attacker.exercises}
    assert by_id["check-double"].score == 0.0
    assert attacker.score in (0.0, 1.0)  # the honest prediction may fall with the process that it shared
    assert attacker.max_score == 5.0
    assert (neighbor.score, neighbor.status) == (5.0, "graded")
    shown = (root / "autograded" / attacker.student / NAME / f"{NAME}.ipynb").read_text()
    assert "hidden_input" not in shown and "secret_way" not in shown


def test_honest_exercises_beside_an_attack_keep_their_marks(graded):
    _, results = graded
    lost = [attack for number, attack in enumerate(ATTACKS) if results[f"x{number:02}"].score != 1.0]
    assert not lost


def test_the_released_expressions_earn_the_visible_points_at_most(built_course, engine, tmp_path):
    source = """
def double(n):
    return {2: 4}.get(n) if isinstance(n, int) else base * 2
"""
    import shutil

    root = tmp_path / "course"
    shutil.copytree(built_course, root)
    hand_in(root, "copier", filled(root, {"double": source}))
    course = open_course(root)
    with Book.open(f"sqlite:///{root}/gradebook.db", course.course_id, root / "autograded") as book:
        for chapter in course.chapters.values():
            book.register(chapter)
        references = observe_references(engine, course.chapters.values(), 5)
        (result,) = Campaign(course, engine, book, references, 5).run(root / "submitted").submissions
    assert result.score == 2.0
    assert json.loads(json.dumps(result.exercises[0].score)) == 2.0
