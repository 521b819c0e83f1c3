/* A tree's drawing in an element that scrolls: zoom, nodes that are chosen by mouse or keyboard, paths that light up.
   Reports, notebooks and the studio share it. `chosen(node)` is told of a node that somebody chooses, `closer()` that
   the words can be read now. */
function drawnTree(view, chosen, closer) {
  "use strict";
  const svg = view.querySelector("svg"), wide = svg.viewBox.baseVal.width;
  const nodes = Array.from(svg.querySelectorAll("g.node")), edges = Array.from(svg.querySelectorAll("g.edge"));
  const boxes = new Map(nodes.map((part) => [Number(part.dataset.node), part]));
  const lines = new Map(edges.map((part) => [Number(part.dataset.node), part]));
  const parents = new Map(edges.map((part) => [Number(part.dataset.node), Number(part.dataset.parent)]));
  const inner = new Set(parents.values()), shown = {};  // class -> nodes that have it
  let from = null, looked = false, reached = null, pressed = null;
  let end = nodes.filter((part) => part.classList.contains("lit")).pop();
  svg.setAttribute("role", "group");  // a picture's parts are hidden from screen readers, a group's are not
  nodes.forEach((part) => {
    part.setAttribute("role", "button");
    part.setAttribute("tabindex", -1);
    part.setAttribute("aria-pressed", false);
    part.setAttribute("aria-label", part.querySelector("title").textContent);
    if (part.classList.contains("lit")) { mark("lit", [...(shown.lit || []), Number(part.dataset.node)]); }
  });
  reach(nodes[0]);
  new ResizeObserver(() => far(svg.getBoundingClientRect().width)).observe(svg);

  function far(pixels) {
    const before = view.classList.contains("far");
    if (pixels && before !== view.classList.toggle("far", pixels < drawnTree.far * wide) && before) { closer?.(); }
  }
  function path(node) {
    const way = [];
    for (let n = node; n !== undefined; n = parents.get(n)) { way.unshift(n); }
    return way;
  }
  function mark(kind, wanted) {  // gives a class to some nodes, and takes it from all others
    const before = shown[kind] || new Set(), now = shown[kind] = new Set(wanted);
    const turn = (node) => {
      boxes.get(node)?.classList.toggle(kind, now.has(node));
      if (kind === "lit") { lines.get(node)?.classList.toggle(kind, now.has(node)); }
    };
    before.forEach((node) => { if (!now.has(node)) { turn(node); } });
    now.forEach((node) => { if (!before.has(node)) { turn(node); } });
  }
  function light(way) {
    mark("lit", way);
    view.classList.toggle("lighting", way.length > 0);
    end = boxes.get(way[way.length - 1]);
    if (end) { requestAnimationFrame(() => reveal(end)); }  // when all has changed that will
  }
  function reveal(part) {  // scrolls the drawing, never the page
    if (!part || view.scrollWidth <= view.clientWidth && view.scrollHeight <= view.clientHeight) { return; }
    const box = part.getBoundingClientRect(), room = view.getBoundingClientRect();
    view.scrollLeft += Math.max(0, box.right + 8 - room.right) + Math.min(0, box.left - 8 - room.left);
    view.scrollTop += Math.max(0, box.bottom + 8 - room.bottom) + Math.min(0, box.top - 8 - room.top);
  }
  function size(pixels) {  // 0: as wide as there is room
    svg.style.cssText = pixels ? `width: ${pixels}px; min-width: 0; max-width: none` : "min-width: 0";
    far(pixels || Math.min(wide, view.clientWidth));
  }
  function zoom(factor) {  // around the middle of what is seen
    const before = svg.getBoundingClientRect().width, share = Math.min(6, Math.max(.05, factor * before / wide));
    const x = view.scrollLeft + view.clientWidth / 2, y = view.scrollTop + view.clientHeight / 2, now = wide * share;
    size(now);
    view.scrollLeft = x * now / before - view.clientWidth / 2;
    view.scrollTop = y * now / before - view.clientHeight / 2;
  }
  function reach(part) {  // one node is reached by Tab, the others from there by arrows
    reached?.setAttribute("tabindex", -1);
    part.setAttribute("tabindex", 0);
    reached = part;
  }
  function press(part) {
    pressed?.setAttribute("aria-pressed", false);
    part?.setAttribute("aria-pressed", true);
    pressed = part;
  }
  function select(node) {
    const part = boxes.get(node);
    press(part);
    mark("selected", part ? [node] : []);
    if (part) { reach(part); }
  }
  function tell(part) {
    reach(part);
    press(part);
    chosen(Number(part.dataset.node));
  }
  function look() {  // at the root, which stands in the middle, then at the end of the path
    if (!looked) { view.scrollLeft = (view.scrollWidth - view.clientWidth) / 2; }
    looked = true;
    reveal(end);
  }

  svg.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15); }
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
  });
  svg.addEventListener("pointermove", (event) => {
    if (from && event.buttons && event.pointerType === "mouse") {
      view.scrollLeft = from.left - (event.clientX - from.x);
      view.scrollTop = from.top - (event.clientY - from.y);
    }
  });
  svg.addEventListener("click", (event) => {
    const part = event.target.closest("g.node");
    const dragged = from && Math.abs(event.clientX - from.x) + Math.abs(event.clientY - from.y) > 6;
    if (part && !dragged) { tell(part); }
    from = null;
  });
  svg.addEventListener("keydown", (event) => {
    const part = event.target.closest("g.node"), place = nodes.indexOf(part);  // nodes stand level by level
    if (!part) { return; }
    const node = Number(part.dataset.node), below = Array.from(parents.keys()).find((n) => parents.get(n) === node);
    const next = {
      ArrowUp: boxes.get(parents.get(node)), ArrowDown: boxes.get(below),
      ArrowLeft: nodes[place - 1], ArrowRight: nodes[place + 1],
    };
    if (event.key === "Enter" || event.key === " ") { tell(part); } else if (event.key in next) {
      if (next[event.key]) { reach(next[event.key]); reached.focus({ preventScroll: true }); reveal(reached); }
    } else { return; }
    event.preventDefault();
  });
  return { light, mark, select, path, leaf: (node) => !inner.has(node), look, size, zoom, wide };
}
drawnTree.far = .4;  // this much smaller, nobody can read the words
