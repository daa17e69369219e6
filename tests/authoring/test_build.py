import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from autograder.authoring.build import release, write_source_notebook
from autograder.authoring.source import PLACEHOLDER, SourceError, read_source, source_names
from autograder.authoring.verify import verify
from autograder.grading.course import load_chapter
from tests import mini_course
from tests.mini_course import NAME, ROOT, TEXT

CHAPTERS = source_names(ROOT)


def test_the_release_has_stubs_and_no_secret(built_course):
    text = (built_course / "notebooks" / NAME / f"{NAME}.ipynb").read_text()
    for secret in ("secret_way", "hidden_input", "seven", "HIDDEN", "SOLUTION", "model answer", '"a\\": 1'):
        assert secret not in text
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"]}
    assert cells["double"].endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")
    assert "BEGIN SOLUTION" not in text
    assert cells["guess"] == 'guess: dict[str, int] = {"a": 0}\n# YOUR CODE HERE'
    assert "Nothing was doubled." in cells["check-double"]


def test_the_same_text_gives_the_same_bytes(course):
    before = {path: path.read_bytes() for path in course.rglob("*.ipynb")}
    assert len(before) == 2
    for path in before:
        path.unlink()
    mini_course.make(course)
    assert {path: path.read_bytes() for path in course.rglob("*.ipynb")} == before


def test_the_address_is_one_setting(course):
    project = course / "pyproject.toml"
    project.write_text(project.read_text().replace(PLACEHOLDER, "somebody/somewhere"))
    write_source_notebook(course, NAME)
    release(course, NAME)
    text = (course / "notebooks" / NAME / f"{NAME}.ipynb").read_text()
    assert text.count("somebody/somewhere") == 1 and "colab.research" in text and PLACEHOLDER not in text


def test_without_an_address_there_is_no_badge(built_course):
    text = (built_course / "notebooks" / NAME / f"{NAME}.ipynb").read_text()
    assert "# A small chapter" in text and "colab" not in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("points=4)\n", "points=5)\n"), "the metadata 4"),
        (('"grade_id": "check-double"', '"grade_id": "check-twice"'), "cell check-twice"),
        (("base * 2)", "base * 2, points=3)"), "no option 'points'"),
        (
            ('"locked": false, "schema_version": 3, "solution": true, "task": false}\ndef', '"solution": true}\ndef'),
            "lacks nbgrader's",
        ),
        (("hidden_input * 2,", "hidden_input,"), "bare name"),
        (("### END SOLUTION\n\n# %% nbgrader", "\n\n# %% nbgrader"), "needs its `### END SOLUTION`"),
    ],
)
def test_a_broken_text_is_refused_with_one_sentence(tmp_path, change, says):
    assert change[0] in TEXT
    with pytest.raises(SourceError) as caught:
        mini_course.make(tmp_path, TEXT.replace(*change, 1))
    assert says in str(caught.value) and NAME in str(caught.value)


def test_no_such_chapter_names_the_chapters(built_course):
    with pytest.raises(SourceError, match=f"the chapters are: {NAME}"):
        read_source(built_course, "99-none")


def test_the_proof_passes_and_reports_constant_points(built_course, engine):
    found = verify(load_chapter(built_course, NAME), engine)
    assert found.broken == []
    assert found.constant == {"double": 0.75, "guess": 1.0}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("double(2), 4", "double(2), 5"), "check 'two': expected 5, got 4"),
        (("secret_way = n * 2", "secret_way = n / 0"), "check 'two': It raised ZeroDivisionError"),
        (('check("seven", lambda: double(7), 14)\n', ""), "hidden checks carry 33% of the points"),
        (("base = torch.tensor", "base = torch.tensr"), "the reference does not run (AttributeError"),
    ],
)
def test_the_proof_finds_what_is_broken(tmp_path, engine, change, says):
    assert change[0] in TEXT
    root = mini_course.make(tmp_path, TEXT.replace(*change, 1))
    assert says in " ".join(verify(load_chapter(root, NAME), engine).broken)


@pytest.mark.parametrize("name", CHAPTERS)
def test_committed_notebooks_are_in_step(name, tmp_path):
    for file in ("nbgrader_config.py", "pyproject.toml"):
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    (tmp_path / "source").mkdir()
    for one in CHAPTERS:  # a chapter links to its neighbors by their names
        (tmp_path / "source" / f"{one}.py").write_bytes((ROOT / "source" / f"{one}.py").read_bytes())
    write_source_notebook(tmp_path, name)
    made = release(tmp_path, name)
    committed = ROOT / "notebooks" / name / f"{name}.ipynb"
    assert committed.is_file(), f"run `make notebooks CHAPTER={name}` and commit"
    assert made.read_bytes() == committed.read_bytes(), f"run `make notebooks CHAPTER={name}` and commit"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_opens_with_a_badge_and_one_setup_cell(name):
    first, *rest = read_source(ROOT, name).cells
    text = (ROOT / "source" / f"{name}.py").read_text()
    assert f"colab.research.google.com/github/{PLACEHOLDER}/blob/main/notebooks/{name}/{name}.ipynb" in text
    assert "colab" not in first.source  # it would lead nowhere: nobody has said where the course is published
    code = [cell for cell in rest if cell.cell_type == "code"]
    assert code[0].metadata.nbgrader.grade_id == "setup" and code[0].metadata.nbgrader.locked
    assert "import autograder.lab" in code[0].source and "--no-deps" in code[0].source


@pytest.mark.parametrize(
    ("names", "links"),
    [
        (["01-a"], None),
        (["01-a", "02-b"], "Next: [02-b](../02-b/02-b.ipynb)"),
        (["00-z", "01-a", "02-b"], "Previous: [00-z](../00-z/00-z.ipynb) | Next: [02-b](../02-b/02-b.ipynb)"),
        (["00-z", "01-a"], "Previous: [00-z](../00-z/00-z.ipynb)"),
    ],
)
def test_a_chapter_ends_with_links_to_its_neighbors(tmp_path, names, links):
    (tmp_path / "source").mkdir()
    for name in names:
        (tmp_path / "source" / f"{name}.py").write_text("# %% [markdown]\n# # Title\n")
    assert read_source(tmp_path, "01-a").cells[-1].source == (f"# Title\n\n{links}" if links else "# Title")


def test_links_stand_in_a_cell_of_their_own_where_the_last_one_is_graded(tmp_path):
    mini_course.write_text(tmp_path, TEXT)
    (tmp_path / "source" / "91-more.py").write_text("# %% [markdown]\n# # More\n")
    *_, graded, links = read_source(tmp_path, NAME).cells
    assert graded.metadata.nbgrader.grade and links.source == "Next: [91-more](../91-more/91-more.ipynb)"


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_chapter_writes_by_hand_what_the_builder_writes(name):
    """Drop the line: links to the neighbors follow from the names of the chapters."""
    ends = (ROOT / "source" / f"{name}.py").read_text().splitlines()[-12:]
    assert not [line for line in ends if re.match(r"# (Next|Previous|Before): \[", line)]


def test_environment_yml_has_what_pyproject_has():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    wanted = {_split(line) for line in wanted}
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    pip = next(item["pip"] for item in listed if isinstance(item, dict))
    conda = {_split(item) for item in listed if isinstance(item, str)}
    names = {"pytorch": "torch", "matplotlib-base": "matplotlib", "python-graphviz": "graphviz"}
    found = {(names.get(name, name), bound) for name, bound in conda if name != "graphviz"} | {
        _split(item) for item in pip
    }
    # conda's graphviz brings `dot`, so the fallback from PyPI is not needed.
    assert {pair for pair in wanted if pair[0] != "graphviz-pure"} - found == set()
    assert {"python", "make", "pip", "graphviz"} <= {name for name, _ in conda}


def _split(requirement: str) -> tuple[str, str]:
    match = re.match(r"([A-Za-z0-9-]+)\s*([^;]*)", requirement)
    return match[1].lower(), match[2].strip()


def test_nothing_else_lies_where_nbgrader_would_copy_it():
    for folder in ("source", "notebooks"):
        for name in CHAPTERS:
            inside = ROOT / folder / name
            if inside.is_dir():
                assert [p.name for p in inside.iterdir() if p.name != ".ipynb_checkpoints"] in ([f"{name}.ipynb"], [])
    assert Path(ROOT / "source").is_dir()
