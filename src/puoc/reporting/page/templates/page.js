"use strict";
// a link into a closed section opens it first
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  target.scrollIntoView();
}
window.addEventListener("hashchange", openTarget);
openTarget();
// figures are drawn when they come near the screen
function draw(holder) {
  const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
  Plotly.newPlot(holder, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false });
}
const holders = document.querySelectorAll(".plot");
if (!("IntersectionObserver" in window)) {
  holders.forEach(draw);
} else {
  const near = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "800px" });
  holders.forEach(function (holder) { near.observe(holder); });
}
