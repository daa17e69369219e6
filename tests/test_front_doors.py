"""What README and Makefile promise to who has just arrived: targets exist, pictures lie there, servers open where they should."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from autograder.authoring.source import source_names
from tests.mini_course import ROOT

README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
VENV = Path(sys.prefix)


def test_every_target_that_a_page_names_exists():
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    pages = [README, *(path.read_text() for path in [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])]
    named = {name for page in pages for name in re.findall(r"(?:^|`)make ([a-z-]+)", page, re.MULTILINE)}
    assert named - targets == set() and {"lab", "demo", "test", "release", "formgrader"} <= named
    assert "nbgrader formgrader" not in "".join(pages)


def test_every_picture_of_the_readme_lies_there_and_has_words():
    pictures = re.findall(r'(?:src|srcset)="(docs/images/[^"]+)"', README)
    assert len(pictures) == 6 and all((ROOT / picture).stat().st_size > 5_000 for picture in pictures)
    assert README.count("<img ") == len(re.findall(r'<img [^>]*alt="[^"]{20,}"', README))
    assert {path.name for path in (ROOT / "docs" / "images").iterdir()} == {Path(picture).name for picture in pictures}


def test_chapters_take_as_long_as_the_readme_says():
    minutes = {}
    for name in source_names(ROOT):
        head = "".join((ROOT / "source" / f"{name}.py").read_text().splitlines(keepends=True)[:60])
        minutes[name] = int(re.search(r"(\d+) minutes", head)[1])
    assert minutes.pop("00-start") == 15 and "a quarter of an hour" in README
    assert all(90 <= number <= 180 for number in minutes.values()), minutes
    assert "two to three hours" in README


def test_without_a_browser_the_pictures_are_refused_in_one_sentence(tmp_path):
    command = [sys.executable, "-m", "docs.make_images"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == (
        "No browser was found to take pictures with: install chromium (apt install chromium).\n"
    )


@contextlib.contextmanager
def served(target, folder, settings):
    """Run a target that opens a server; yields the address that it would open in a browser, and its token."""
    (settings / "jupyter_server_config.json").write_text(
        json.dumps({"ServerApp": {"allow_root": True, "open_browser": False, "port": 0}})
    )
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(settings), "JUPYTER_TOKEN": "token"}
    log = settings / "log"
    command = ["make", "-f", str(ROOT / "Makefile"), "-C", str(folder), f"VENV={VENV}", "-o", f"{VENV}/.ready", target]
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        for _ in range(600):
            if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", log.read_text()):
                yield found[0].partition("?")[0]
                return
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        raise AssertionError(log.read_text())
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def page(address):
    request = urllib.request.Request(address, headers={"Authorization": "token token"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


@pytest.mark.skipif(
    not (VENV / "bin" / "jupyter").exists(), reason="this Python is no virtual environment with jupyter"
)
class TestServers:
    def test_make_lab_opens_without_nbgraders_buttons(self, tmp_path):
        with served("lab", ROOT, tmp_path) as address:
            config = re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page(address), re.DOTALL)[1]
        config = json.loads(config)
        assert "@jupyter/nbgrader" in config["disabledExtensions"] and address.endswith("/lab")

    def test_make_formgrader_opens_formgrader(self, tmp_path, course):
        with served("formgrader", course, tmp_path) as address:
            assert address.endswith("/formgrader")
            assert "nbgrader formgrade" in page(address)
