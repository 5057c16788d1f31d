"use strict";
window.PUOC_READY.then(function () {
  // figures are drawn when they come near the screen, in the colours of the page
  const own = ["#1f2933", "#eef0f3", "#ffffff"];  // ink, grid and paper in the figures
  function colours() {
    const style = getComputedStyle(document.body);
    const line = getComputedStyle(document.querySelector(".topbar")).borderBottomColor;
    return [style.color, line, style.backgroundColor];
  }
  function draw(holder, now) {
    let text = document.getElementById(holder.dataset.figure).textContent;
    own.forEach(function (colour, at) { text = text.replaceAll('"' + colour + '"', JSON.stringify(now[at])); });
    const figure = JSON.parse(text);
    Plotly.react(holder, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false });
    holder.dataset.drawn = "yes";
  }
  const holders = document.querySelectorAll(".plot");
  document.addEventListener("puoc-theme", function () {
    holders.forEach(function (holder) { if (holder.dataset.drawn) draw(holder, colours()); });
  });
  // paper is white, and has every figure
  window.addEventListener("beforeprint", function () { holders.forEach(function (holder) { draw(holder, own); }); });
  window.addEventListener("afterprint", function () { holders.forEach(function (holder) { draw(holder, colours()); }); });
  if (!("IntersectionObserver" in window)) {
    holders.forEach(function (holder) { draw(holder, colours()); });
    return;
  }
  const near = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target, colours());
    }
  }, { rootMargin: "800px" });
  holders.forEach(function (holder) { near.observe(holder); });
});
