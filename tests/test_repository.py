"""What people expect to find in a repository, and that it agrees with itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import autograder

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_address_names_the_one_repository() -> None:
    address = f"https://github.com/{PROJECT['tool']['autograder']['repository']}"
    assert {url.removeprefix(address)[:1] for url in PROJECT["project"]["urls"].values()} == {"", "/"}
    assert f'repository-code: "{address}"' in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    version = PROJECT["project"]["version"]
    assert autograder.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_conda_gets_what_pip_gets() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["grading"], *extras["dev"], *extras["triton"]]
    conda = (ROOT / "environment.yml").read_text(encoding="utf-8").replace(" >=", ">=")
    renamed = {"torch": "pytorch", "matplotlib": "matplotlib-base", "graphviz": "python-graphviz"}
    only_wheels = {"graphviz-pure"}  # conda's graphviz brings dot itself
    for line in wanted:
        name = re.match(r"[A-Za-z0-9._-]+", line)
        assert name is not None
        if name[0] not in only_wheels:
            assert re.search(rf"- {re.escape(renamed.get(name[0], name[0]))}\b", conda), (
                f"environment.yml lacks {name[0]}"
            )


def test_every_room_says_what_it_is_for() -> None:
    for path in (ROOT / "autograder").rglob("__init__.py"):
        assert path.read_text(encoding="utf-8").startswith('"""'), path


def test_a_folder_can_be_read_in_one_look() -> None:
    for folder in [ROOT / "autograder", *(path for path in (ROOT / "autograder").rglob("*") if path.is_dir())]:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 14, (
            f"{folder.relative_to(ROOT)} has {len(files)} files: one idea of them wants a folder of its own"
        )
        for path in files:
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= 320, f"{path.relative_to(ROOT)} has {lines} lines"
