"use strict";
// Sorting by a click on a heading, search in all cells, filters by group and status.  Nothing is fetched or kept.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = () => Array.from(body.rows);
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell === undefined ? "" : cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };
  const collator = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    // Whoever aims at a heading hits its cell; the button is for the keyboard.
    head.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = rows().sort((a, b) => compare(value(a, column), value(b, column)));
      body.append(...(down ? sorted.reverse() : sorted));
    });
  });
  const tools = document.querySelector(".tools");
  if (tools === null) continue;
  // Half of the writers of a name leave out the dots of ё, and a Mac takes й apart.
  const folded = (text) => text.normalize("NFC").toLocaleLowerCase().replaceAll("ё", "е");
  const search = tools.querySelector("input"), filters = Array.from(tools.querySelectorAll("select"));
  const shown = tools.querySelector("output");
  // A row may be of several states; a group's name may have blanks in it.
  const of = (row, name) => name === "status" ? row.dataset.status.split(" ") : [row.dataset[name]];
  const apply = () => {
    const words = folded(search.value).split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows()) {
      const text = folded(row.textContent);
      const fits = words.every((word) => text.includes(word)) &&
        filters.every((filter) => filter.value === "" || of(row, filter.name).includes(filter.value));
      row.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} / ${rows().length}`;
  };
  for (const tool of [search, ...filters]) tool.addEventListener("input", apply);
  tools.hidden = false;
  apply();
}
