"use strict";
(function () {
  const table = document.getElementById("columns");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const find = document.getElementById("find");
  const all = document.getElementById("all");
  const command = JSON.parse(document.getElementById("command").textContent);
  let shown = Number(table.dataset.shown);
  // rows that the search leaves, up to the limit
  function show() {
    const wanted = find.value.trim().toLowerCase();
    let found = 0;
    for (const row of body.rows) {
      const fits = row.cells[0].textContent.toLowerCase().includes(wanted);
      row.hidden = !fits || found >= shown;
      found += fits;
    }
    all.hidden = shown >= rows.length;
    document.getElementById("count").textContent = Math.min(found, shown) + " of " + rows.length + " columns";
  }
  function value(row, place) {
    const cell = row.cells[place];
    const text = cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v;
    return text === "" ? null : text;
  }
  function sort(place) {
    const head = heads[place];
    const numeric = rows.every(function (row) { const text = value(row, place); return text === null || !isNaN(text); });
    const largest = numeric && head.textContent !== "Verdict" && head.textContent !== "q";
    const first = largest ? "descending" : "ascending";
    const other = largest ? "ascending" : "descending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const sorted = rows.slice().sort(function (a, b) {  // stable; empty cells come last
      const x = value(a, place);
      const y = value(b, place);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (numeric ? x - y : x.localeCompare(y, undefined, { numeric: true }));
    });
    for (const each of heads) if (each.hasAttribute("aria-sort")) each.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    body.append(...sorted);
    show();
  }
  heads.forEach(function (head, place) {
    if (["P over U", "Why", "To settle it"].includes(head.textContent)) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", function () { sort(place); });
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
  });
  async function copy(text, button) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // no right, or no such function: the older way
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    document.getElementById("copied").textContent = (done ? "Copied: " : "The command is: ") + text;
  }
  function withOption(row, option) {
    const name = row.cells[0].textContent;
    const others = Object.keys(command.answers).filter(function (column) { return column !== name; });
    return [...new Set([command.base, ...others.map(function (column) { return command.answers[column]; }), option])].join(" ");
  }
  document.addEventListener("click", function (event) {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(document.getElementById(button.dataset.copy).textContent, button);
    const cell = button.closest("td.settle");
    if (cell) copy(withOption(cell.parentElement, button.previousElementSibling.textContent), button);
  });
  all.addEventListener("click", function () { shown = rows.length; show(); find.focus(); });
  find.addEventListener("input", show);
  document.getElementById("tools").hidden = false;
  show();
})();
