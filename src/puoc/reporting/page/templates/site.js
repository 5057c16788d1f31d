"use strict";
window.PUOC_READY.then(function () {
  const up = document.body.dataset.up;
  // a link into a closed section opens it first; links of the former single page lead to the pages that it became
  function openTarget() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = document.getElementById(name);
    if (!target) {
      const old = /^(t\d+)(-e\d+(?:-c\d+)?)$/.exec(name);
      const row = old && document.querySelector("tr#" + old[1] + "[data-passports]");
      if (row) location.replace(row.dataset.passports + "#" + old[2].slice(1));
      return;
    }
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", openTarget);
  openTarget();
  // on paper nothing can be opened; lists of trials stay closed unless they are open, since they are long
  let opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("main details:not([open], .trials, .trial-ids)"));
    for (const box of opened) box.open = true;
  });
  window.addEventListener("afterprint", function () {
    for (const box of opened) box.open = false;
  });
  // heads of sortable tables become buttons, which the vendored library listens to
  for (const head of document.querySelectorAll("table.sortable thead th:not(.no-sort)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
  }
  // light and dark
  const theme = document.getElementById("theme");
  const root = document.documentElement;
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches; }
  function name() { theme.textContent = isDark() ? "Light" : "Dark"; theme.title = "Switch to " + (isDark() ? "light" : "dark") + " colours"; }
  theme.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("puoc-theme", root.dataset.theme); } catch { /* the choice lasts for this page */ }
    name();
    document.dispatchEvent(new Event("puoc-theme"));
  });
  prefers.addEventListener("change", function () { name(); document.dispatchEvent(new Event("puoc-theme")); });
  name();
  // search
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  const count = document.getElementById("found-count");
  function find() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? window.PUOC_PAGES.filter(function (page) {
      const text = (page[0] + " " + page[1]).toLowerCase();
      return words.every(function (word) { return text.includes(word); });
    }) : [];
    list.replaceChildren(...hits.slice(0, 30).map(function (page) {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const kind = document.createElement("small");
      kind.textContent = page[0];
      link.href = up + page[2];
      link.append(kind, page[1]);
      item.append(link);
      return item;
    }));
    list.hidden = !hits.length;
    count.textContent = words.length ? hits.length + " found" : "";
  }
  function move(event) {
    const links = Array.from(list.querySelectorAll("a"));
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") { box.value = ""; find(); box.focus(); }
    else if (event.key === "ArrowDown" && links.length) { links[Math.min(at + 1, links.length - 1)].focus(); event.preventDefault(); }
    else if (event.key === "ArrowUp" && at >= 0) { (at ? links[at - 1] : box).focus(); event.preventDefault(); }
    else if (event.key === "Enter" && document.activeElement === box && links.length) { links[0].click(); }
  }
  box.addEventListener("input", find);
  box.parentElement.addEventListener("keydown", move);
  document.addEventListener("click", function (event) { if (!box.parentElement.contains(event.target)) list.hidden = true; });
  document.addEventListener("keydown", function (event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { box.focus(); event.preventDefault(); }
  });
  for (const tools of document.querySelectorAll(".tools[hidden], .filters[hidden]")) tools.hidden = false;
});
