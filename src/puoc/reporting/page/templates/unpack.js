"use strict";
// Parts of large sites are packed (deflate, as base64). What needs the whole page waits for PUOC_READY.
window.PUOC_READY = (function () {
  async function unpack(box) {
    const bytes = Uint8Array.from(atob(box.dataset.packed), function (each) { return each.charCodeAt(0); });
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const holder = document.createElement("template");
    holder.innerHTML = await new Response(stream).text();
    box.replaceWith(holder.content);
  }
  const boxes = Array.from(document.querySelectorAll("[data-packed]"));
  return Promise.all(boxes.map(function (box) {
    return unpack(box).catch(function (error) { box.querySelector("p").prepend("This browser cannot unpack it (" + error + "). "); });
  }));
})();
