"""The report in a real browser, where one is installed: it sorts, filters, and fits a phone.

The page stands in a frame of the width in question; a script beside the frame looks, and writes down what it saw.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

from autograder.reporting.class_report import class_report_page
from tests.reporting.large_class import large_class

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")

DRIVER = """<!doctype html><meta charset="utf-8"><iframe id="frame" width="{width}" height="900" srcdoc="{page}"></iframe>
<pre id="seen"></pre><script>
addEventListener("load", () => {{
  const page = document.getElementById("frame").contentDocument, seen = {{}};
  const all = (what) => [...page.querySelectorAll(what)];
  try {{ {look} }} catch (error) {{ seen.error = String(error); }}
  document.getElementById("seen").textContent = JSON.stringify(seen);
}});
</script>"""

LAYOUT = """
  seen.overflow = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  const box = (element) => element.getBoundingClientRect();
  seen.what_to_do = Math.min(...all(".lines tbody td:nth-child(4)").map((cell) => box(cell).width));
  const region = page.querySelector("#class").parentElement;
  seen.scrolls_within = region.scrollWidth > region.clientWidth;
  seen.cue = getComputedStyle(region).backgroundImage.includes("gradient");
  seen.letters = Math.min(...all("figure *").filter((e) => e.childNodes.length && e.textContent.trim())
    .map((e) => parseFloat(getComputedStyle(e).fontSize)));
  const charts = all(".charts .card").map(box);
  seen.charts = Math.max(...charts.map((b) => b.right)) - Math.min(...charts.map((b) => b.left));
  seen.main = page.querySelector(".charts").clientWidth;
  seen.broken = all("th.name, td.name, .who").filter((e) => !e.closest("details:not([open])")).filter((e) => {
    const range = page.createRange();
    range.selectNodeContents(e);
    return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1;
  }).map((e) => e.textContent);
"""

WORK = """
  const names = () => all("#class tbody tr:not([hidden]) th").map((e) => e.textContent);
  const heads = all("#class thead th");
  const values = (column) => all(`#class tbody tr td:nth-child(${column})`).map((e) => Number(e.dataset.value));
  heads[1].querySelector("button").click(); seen.up = values(2); seen.aria = heads[1].getAttribute("aria-sort");
  heads[1].querySelector("button").click(); seen.down = values(2);
  heads[3].querySelector("button").click(); seen.chapter = values(4);
  heads[0].querySelector("button").click(); seen.names = names();
  const form = page.querySelector("form.filter"), event = () => new Event("input", { bubbles: true });
  seen.form_shown = !form.hidden;
  form.elements.name.value = "NG-"; form.elements.name.dispatchEvent(event()); seen.filtered = names();
  form.elements.word.value = "late"; form.elements.word.dispatchEvent(event()); seen.late = names();
  seen.count = form.elements.count.value;
"""


def look(page: str, width: int, script: str, folder) -> dict:
    driver = folder / "driver.html"
    text = DRIVER.format(width=width, page=html.escape(page), look=script)
    driver.write_text(text, encoding="utf-8", errors="replace")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    command += ["--window-size=1600,1000", "--virtual-time-budget=20000", "--dump-dom", driver.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)[1]))
    assert "error" not in seen, seen
    return seen


@pytest.fixture(scope="module")
def page():
    result, rows = large_class(students=60)
    links = {(item.student, item.chapter): "feedback/somewhere.html" for item in result.submissions}
    return class_report_page(result, rows=rows, links=links)


def test_it_fits_a_phone(page, tmp_path):
    seen = look(page, 390, LAYOUT, tmp_path)
    assert seen["overflow"] <= 0
    assert seen["what_to_do"] > 250
    assert seen["scrolls_within"] and seen["cue"]
    assert seen["letters"] >= 12


def test_it_uses_a_wide_window(page, tmp_path):
    seen = look(page, 1280, LAYOUT, tmp_path)
    assert seen["overflow"] <= 0 and seen["broken"] == []
    assert seen["charts"] > 0.98 * seen["main"] > 1000


def test_it_sorts_and_filters(page, tmp_path):
    seen = look(page, 1280, WORK, tmp_path)
    assert seen["up"] == sorted(seen["up"]) and seen["down"] == sorted(seen["down"], reverse=True)
    assert seen["up"][0] < seen["up"][-1] and seen["aria"] == "ascending"
    assert seen["chapter"] == sorted(seen["chapter"])
    assert len(seen["names"]) == 60 and seen["names"][0] == "ada" and seen["names"][-1].startswith("zoë")
    assert seen["form_shown"]
    assert seen["filtered"] and all("ng-" in name for name in seen["filtered"]) and len(seen["filtered"]) < 60
    assert 0 < len(seen["late"]) < len(seen["filtered"]) and seen["count"] == f"{len(seen['late'])} of 60 shown"


def test_without_its_script_it_is_whole(page, tmp_path):
    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    seen = look(bare, 1280, "seen.form = page.querySelector('form.filter').checkVisibility();"
                "seen.buttons = all('th button').length; seen.lines = all('#class tbody tr').length;", tmp_path)  # fmt: skip
    assert seen == {"form": False, "buttons": 0, "lines": 60}
