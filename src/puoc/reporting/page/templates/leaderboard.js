"use strict";
window.PUOC_READY.then(function () {
  const table = document.getElementById("leaderboard");
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const LIMIT = 200;
  let limit = LIMIT;
  const fields = Array.from(form.elements).filter(function (each) { return each.name; });
  const metric = form.elements.metric;
  const scenarios = new Map();
  for (const option of form.elements.table.options) scenarios.set(option.value, option.dataset.scenario);
  // what the rows are filtered by, read once from their cells: the page says each thing once, which keeps it small
  const known = new Map();
  for (const row of table.tBodies[0].rows) {
    const text = function (at) { return row.cells[at].textContent; };
    const facts = { family: text(6), data: text(5), table: text(3), scenario: scenarios.get(text(3)) };
    facts.method = row.dataset.method || row.cells[0].querySelector("a").textContent;
    facts.column = "average" in row.dataset ? "average" : "cell";
    for (const name in facts) facts[name] = facts[name].toLowerCase();
    facts.cost = row.cells[9].dataset.sort === "" ? Infinity : Number(text(9));
    known.set(row, facts);
  }
  function wanted() {
    const found = {};
    for (const field of fields) if (field.name !== "metric" && field.value) found[field.name] = field.value.toLowerCase();
    return found;
  }
  function show() {
    const asked = wanted();
    const words = (asked.q || "").split(/\s+/).filter(Boolean);
    let found = 0;
    for (const row of table.tBodies[0].rows) {
      const facts = known.get(row);
      const text = words.length ? row.textContent.toLowerCase() : "";
      let fits = words.every(function (word) { return text.includes(word); });
      for (const name in asked) {
        if (!fits || name === "q") continue;
        if (name === "cost") fits = facts.cost <= Number(asked.cost);
        else fits = facts[name] === asked[name];
      }
      row.hidden = !fits || found >= limit;
      found += fits;
    }
    count.textContent = Math.min(found, limit) + " of " + found + " rows shown, " + table.tBodies[0].rows.length + " in all";
    more.hidden = found <= limit;
    document.documentElement.dataset.filtered = "";
  }
  // values, ranks and order by another metric; intervals and chances exist for the first metric alone
  const rows = Array.from(table.tBodies[0].rows);
  let groups = 0;  // a column of a table is a group of rows
  const places = rows.map(function (row, at) {
    const before = rows[at - 1];
    if (before && [3, 4].some(function (cell) { return row.cells[cell].textContent !== before.cells[cell].textContent; })) groups += 1;
    return { row: row, group: groups, at: at };
  });
  const firsts = new Map();  // of a cell: what it says by the first metric, and how it is sorted then
  function put(cell, text, sort) {
    const holder = cell.querySelector("a") || cell;
    if (!firsts.has(cell)) firsts.set(cell, [holder.innerHTML, cell.dataset.sort]);
    if (metric.selectedIndex === 0) [holder.innerHTML, cell.dataset.sort] = firsts.get(cell);
    else [holder.textContent, cell.dataset.sort] = [text, sort];
  }
  let viewed = 0;
  function view() {
    const at = metric.selectedIndex;
    if (at === viewed) return;
    viewed = at;
    for (const place of places) {
      const cells = place.row.cells;
      const other = at === 0 ? [] : ((cells[1].dataset.others || "").split("|")[at - 1] || "").split(",");
      put(cells[1], other[0] || "–", other[0]);
      put(cells[2], other[1] ? other[1] + " of " + other[2] : "–", other[1] || "");
      put(cells[7], "–", "");
      place.rank = at === 0 ? 0 : Number(other[1] || Infinity);
    }
    places.sort(function (a, b) { return a.group - b.group || (a.rank === b.rank ? a.at - b.at : a.rank - b.rank); });
    for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
    table.tBodies[0].append(...places.map(function (place) { return place.row; }));
    document.getElementById("value-head").querySelector("button").textContent = metric.selectedOptions[0].textContent;
  }
  function remember() {
    const asked = new URLSearchParams();
    for (const field of fields) if (field.value && !(field === metric && metric.selectedIndex === 0)) asked.set(field.name, field.value);
    history.replaceState(null, "", asked.size ? "#" + asked : location.pathname + location.search);
  }
  function recall() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const field = fields.find(function (each) { return each.name === name; });
      if (field) field.value = value;
    }
    view();
    show();
  }
  form.addEventListener("input", function () { limit = LIMIT; view(); show(); remember(); });
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(function () { limit = LIMIT; view(); show(); remember(); }); });
  more.addEventListener("click", function () { limit = Infinity; show(); });
  table.addEventListener("sort-end", show);
  window.addEventListener("hashchange", recall);
  recall();
});
