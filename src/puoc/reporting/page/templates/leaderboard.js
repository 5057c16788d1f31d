"use strict";
(function () {
  const table = document.getElementById("leaderboard");
  const form = document.getElementById("filters");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const LIMIT = 200;
  let limit = LIMIT;
  const fields = Array.from(form.elements).filter(function (each) { return each.name; });
  const metric = form.elements.metric;
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
      const text = words.length ? row.textContent.toLowerCase() : "";
      let fits = words.every(function (word) { return text.includes(word); });
      for (const name in asked) {
        if (!fits || name === "q") continue;
        if (name === "cost") fits = row.dataset.cost !== "" && Number(row.dataset.cost) <= Number(asked.cost);
        else fits = row.dataset[name].toLowerCase() === asked[name];
      }
      row.hidden = !fits || found >= limit;
      found += fits;
    }
    count.textContent = Math.min(found, limit) + " of " + found + " rows shown, " + table.tBodies[0].rows.length + " in all";
    more.hidden = found <= limit;
  }
  // the values of another metric; ranks and tests stay those of the first
  function view() {
    const at = metric.selectedIndex;
    for (const row of table.tBodies[0].rows) {
      const cell = row.querySelector("[data-metrics]");
      const value = cell.dataset.metrics.split("|")[at];
      cell.dataset.sort = value;
      cell.querySelector("a").textContent = at === 0 ? cell.dataset.text : value || "–";
    }
    document.getElementById("value-head").querySelector("button").textContent = metric.value;
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
})();
