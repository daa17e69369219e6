// Sorts and filters the tables. The page is whole without it: what needs a script is made, or shown, by the script.
"use strict";

const inWords = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compare(a, b) {
  if ("value" in a.dataset && "value" in b.dataset) return Number(a.dataset.value) - Number(b.dataset.value);
  return inWords.compare(a.textContent.trim(), b.textContent.trim());
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way);
      const lines = [...table.tBodies[0].rows];
      lines.sort((a, b) => compare(a.cells[column], b.cells[column]) * (way === "ascending" ? 1 : -1));
      table.tBodies[0].append(...lines);
    });
  });
}

function filterable(form) {
  const lines = [...document.querySelector("#class").tBodies[0].rows];
  const apply = () => {
    const name = form.elements.name.value.trim().toLowerCase();
    const word = form.elements.word.value;
    let shown = 0;
    for (const line of lines) {
      const fits = line.cells[0].textContent.toLowerCase().includes(name);
      line.hidden = !(fits && (!word || line.dataset.words.split(" ").includes(word)));
      shown += !line.hidden;
    }
    form.elements.count.value = `${shown} of ${lines.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
}

document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll("form.filter").forEach(filterable);
