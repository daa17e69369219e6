"""A repository for learners: the notebooks and what they need. Neither answers, nor hidden checks, nor the bank.

python -m autograder.authoring.learners FOLDER
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from autograder.authoring.build import release, write_source_notebook
from autograder.authoring.source import PLACEHOLDER, repository, source_names

_FILES = ("LICENSE", "CITATION.cff", "constraints.txt", "pyproject.toml")
_IGNORED = ".venv/\n__pycache__/\n*.egg-info/\n.ipynb_checkpoints/\n/my/\n"
_README = """\
# Autograd, from the inside

A course on how PyTorch's autograd works, in Jupyter notebooks. Every chapter runs on a laptop without a GPU, and on CUDA when there is one.

{chapters}

## Begin

Python 3.11 or later is needed. This makes `.venv`, which takes some minutes and about 2 GB, and opens the first chapter:

```
python3 -m venv .venv
.venv/bin/python -m pip install -c constraints.txt -e '.[learning]'
.venv/bin/jupyter lab notebooks/{first}/{first}.ipynb
```

In VS Code, open a notebook and choose the kernel in `.venv`. {colab}

Read, predict, run, write an answer, and run the check below it. A check cell is folded; open it to see what it asks.
`.venv/bin/autograder check notebooks/{first}/{first}.ipynb` judges your notebook by the checks that stand in it. Grading adds hidden ones.

Chapter 04 ends with Triton kernels. On Linux, `.venv/bin/python -m pip install triton` makes them run, without a GPU too.

## License

[MIT](LICENSE). How to cite: [CITATION.cff](CITATION.cff).
"""


def write(root: Path, to: Path) -> Path:
    """Write the learners' repository of the course at `root` into the folder `to`; returns `to`.

    What lies there is replaced, its `.git` aside: a second run is a change that can be committed.

    Raises
    ------
    SourceError
        Where a chapter cannot be built.
    """
    for old in to.iterdir() if to.is_dir() else ():
        if old.is_dir() and old.name != ".git":
            shutil.rmtree(old)
        elif old.is_file():
            old.unlink()
    to.mkdir(parents=True, exist_ok=True)
    names = source_names(root)
    for name in names:
        write_source_notebook(root, name)
        release(root, name, to / "notebooks")
    shutil.copytree(root / "autograder", to / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    for file in _FILES:
        shutil.copyfile(root / file, to / file)
    (to / "docs").mkdir()
    colab = (root / "docs" / "colab.md").read_text(encoding="utf-8").partition("## For instructors")[0].rstrip() + "\n"
    (to / "docs" / "colab.md").write_text(colab, encoding="utf-8")
    (to / ".gitignore").write_text(_IGNORED, encoding="utf-8")
    on_colab = "On Colab, follow the badge at the top of a chapter ([docs/colab.md](docs/colab.md))."
    readme = _README.format(
        chapters=_chapters(root), first=names[0], colab=on_colab if repository(root) != PLACEHOLDER else ""
    )
    (to / "README.md").write_text(re.sub(r" +\n", "\n", readme), encoding="utf-8")
    return to


def _chapters(root: Path) -> str:
    """The table of chapters, as our own README has it."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| chapter |"))
    rest = next((number for number in range(first, len(lines)) if not lines[number].startswith("|")), len(lines))
    return "\n".join(lines[first:rest])


def main() -> None:
    """Write it, and say what to do with it."""
    to = write(Path(), Path(sys.argv[1]))
    print(f"{to}: notebooks, autograder, README.md. Make it a repository of its own: git init {to}")
    if repository(Path()) == PLACEHOLDER:
        print("Colab needs its address: set `repository` in pyproject.toml to where this will lie, and run it again.")


if __name__ == "__main__":
    main()
