"use strict";
(() => {
  const map = document.getElementById("map");
  if (!map) return;
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const tip = document.getElementById("tip");
  const near = map.querySelector(".near");
  const points = [...map.querySelectorAll(".p")];
  const positions = points.map((p) => [Number(p.getAttribute("x")), Number(p.getAttribute("y"))]);
  const buttons = [...document.querySelectorAll("#legend button")];
  const MAX_PIXELS = 26; // largest distance of the pointer from the point that is shown
  let shown = -1;
  let pinned = -1;

  const neighbors = points.map(() => []);
  for (const [a, b] of data.edges) {
    neighbors[a].push(b);
    neighbors[b].push(a);
  }

  function element(name, text) {
    const node = document.createElement(name);
    node.textContent = text; // not as HTML, because it comes from the table
    return node;
  }

  function show(index) {
    const [row, code, confidence, isGiven, cells] = data.points[index];
    const entries = [["row", row.toLocaleString("en")], ["label", isGiven ? "given" : "predicted"]];
    if (!isGiven) entries.push(["confidence", confidence]);
    data.columns.forEach((name, j) => cells[j] === null || entries.push([name, cells[j]]));
    const list = document.createElement("dl");
    for (const [name, value] of entries) list.append(element("dt", name), element("dd", value));
    tip.replaceChildren(element("b", data.classes[code]), list);
    tip.hidden = false;
    const [x, y] = positions[index];
    near.setAttribute(
      "d",
      neighbors[index].map((k) => `M${x} ${y}L${positions[k][0]} ${positions[k][1]}`).join(""),
    );
    const scale = map.clientWidth / map.viewBox.baseVal.width;
    const room = map.clientWidth - tip.offsetWidth;
    const left = x * scale + 16 <= room ? x * scale + 16 : x * scale - tip.offsetWidth - 16;
    tip.style.left = `${Math.max(0, Math.min(left, room))}px`;
    const isBelow = 2 * y < map.viewBox.baseVal.height; // where there is more room
    tip.style.top = `${isBelow ? y * scale + 14 : y * scale - tip.offsetHeight - 14}px`;
  }

  function move(index) {
    if (index === shown) return;
    if (shown >= 0) points[shown].classList.remove("here");
    shown = index;
    if (index < 0) {
      tip.hidden = true;
      near.setAttribute("d", "");
      return;
    }
    points[index].classList.add("here");
    show(index);
  }

  function nearest(event) {
    const box = map.getBoundingClientRect();
    const scale = box.width / map.viewBox.baseVal.width;
    const x = (event.clientX - box.left) / scale;
    const y = (event.clientY - box.top) / scale;
    let best = -1;
    let smallest = (MAX_PIXELS / scale) ** 2;
    positions.forEach(([px, py], i) => {
      if (map.classList.contains("chosen") && !points[i].classList.contains("on")) return;
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance <= smallest) [best, smallest] = [i, distance];
    });
    return best;
  }

  function highlight(code) {
    map.classList.toggle("chosen", code >= 0);
    points.forEach((p, i) => p.classList.toggle("on", data.points[i][1] === code));
  }

  map.addEventListener("pointermove", (event) => move(nearest(event)));
  map.addEventListener("pointerdown", (event) => move(nearest(event)));
  map.addEventListener("pointerleave", () => move(-1));
  buttons.forEach((button, code) => {
    button.addEventListener("pointerenter", () => highlight(code));
    button.addEventListener("pointerleave", () => highlight(pinned));
    button.addEventListener("focus", () => highlight(code));
    button.addEventListener("blur", () => highlight(pinned));
    button.addEventListener("click", () => {
      pinned = pinned === code ? -1 : code;
      buttons.forEach((b, k) => b.setAttribute("aria-pressed", String(k === pinned)));
      highlight(pinned);
    });
  });
})();
