"use strict";
// Without this script every branch stands below the one before; with it one is shown, and ‹ › turn to the others.
(() => {
  const parts = [...document.querySelectorAll("section")];
  const above = parts.map((part) => (part.dataset.above === undefined ? -1 : Number(part.dataset.above)));
  const chosen = new Map();
  const show = (place) => {
    for (let at = place; at >= 0; at = above[at]) chosen.set(above[at], at);
    const shown = new Set();
    for (let at = chosen.get(-1); at !== undefined; at = chosen.get(at)) {
      shown.add(at);
      if (!chosen.has(at) && above.includes(at)) chosen.set(at, above.lastIndexOf(at));
    }
    parts.forEach((part, at) => { part.hidden = !shown.has(at); });
  };
  const asked = () => (/^#b\d+$/.test(location.hash) ? Number(location.hash.slice(2)) : -1);
  const turn = () => {
    if (!(asked() in parts)) return;
    show(asked());
    parts[asked()].scrollIntoView({ block: "start" });
  };
  document.documentElement.classList.add("scripted");
  show(Number(document.querySelector("main").dataset.here));
  addEventListener("hashchange", turn);
  turn();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
})();
