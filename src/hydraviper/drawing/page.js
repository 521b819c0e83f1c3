/* Trees (tree.js) and episodes on a page: reports, notebooks and copies of the studio share it. Names are only ever set as text, never as markup. */
const hydraviper = (function () {
  "use strict";
  const all = (root, query) => Array.from(root.querySelectorAll(query));
  const between = (low, value, high) => Math.min(high, Math.max(low, value));

  /* Trees with a button for each and for all, and buttons that zoom.
     `chosen(place, node)` is told of nodes, `seen(place)` of the tree that is seen. */
  function trees(root, chosen, seen) {
    const figures = all(root, "figure.tree"), tabs = all(root, ".tabs button"), lit = figures.map(() => null);
    const views = figures.map((figure, k) => drawnTree(figure.querySelector(".view"), (node) => {
      if (chosen) { return chosen(k, node); }
      lit[k] = lit[k] === node ? null : node;  // a second click puts the light out
      views[k].light(lit[k] === null ? [] : views[k].path(node));
    }));
    function show(place) {  // behind the last tree stand all of them
      figures.forEach((figure, k) => { figure.hidden = place < figures.length && k !== place; });
      tabs.forEach((tab, k) => tab.setAttribute("aria-pressed", k === place));
      each((view) => view.look());
      if (seen) { seen(place); }
    }
    function each(act) {  // of the trees that are seen
      views.forEach((view, k) => { if (!figures[k].hidden) { act(view); } });
      try {  // a notebook's frame becomes as high as its page, where the notebook allows it
        window.frameElement.style.height = Math.min(document.body.offsetHeight + 20, 1200) + "px";
      } catch (error) { /* a page of its own, or a frame that may not */ }
    }
    const deeds = [(view) => view.zoom(1 / 1.25), (view) => view.zoom(1.25), (view) => view.size(0),
      (view) => view.size(view.wide)];
    all(root, ".zoom button").forEach((button, k) => { button.onclick = () => each(deeds[k]); });
    tabs.forEach((tab, k) => { tab.onclick = () => show(k); });
    all(root, "nav[hidden]").forEach((nav) => { nav.hidden = false; });
    show(0);
    return { views, show };
  }

  /* An episode that plays on the game's own picture, beside the trees that play it. */
  function episode(root, panel) {
    const told = JSON.parse(root.querySelector("script").textContent), last = told.steps, agents = told.agents;
    const part = (name) => root.querySelector("." + name), frames = told.frames;
    const marks = all(root, "[data-mark]"), paths = all(root, "[data-path]"), lights = all(root, "[data-light]");
    const image = root.querySelector("img"), deeds = all(root, ".deeds span");
    const first = Array.from({ length: last + 1 }, (_, step) => frames.findIndex((frame) => frame.step >= step));
    const differs = (agent, step) => agent.expert && agent.leaves[step] >= 0 && agent.does[step] !== agent.expert[step];
    const apart = first.map((_, step) => step).filter((step) => step < last && agents.some((one) => differs(one, step)));
    const stage = root.querySelector(".stage svg"), whole = stage && stage.getAttribute("viewBox");
    let now = 0, timer = null, near = false, place = 0;
    const beside = trees(panel, moments, (number) => { place = number; look(); });

    function look() {  // at the whole picture, or at the surroundings of the agent whose tree is seen
      const view = told.near[place];
      part("closer").hidden = !view;
      part("closer").setAttribute("aria-pressed", near);
      if (stage) { stage.setAttribute("viewBox", near && view || whole); }
    }
    function draw(frame) {
      (frame.at || []).forEach(([x, y], k) => marks[k].setAttribute("transform", `translate(${x} ${y})`));
      (frame.d || []).forEach((d, k) => paths[k].setAttribute("d", d));
      lights.forEach((light, k) => light.setAttribute("data-light", frame.lights[k]));
      if (image) { image.src = told.pictures[frame.picture]; }
    }
    function show(number) {  // a frame
      now = between(0, number, frames.length - 1);
      const frame = frames[now], step = frame.step;
      draw(frame);
      agents.forEach((agent, k) => {
        const leaf = step < last ? agent.leaves[step] : -1;
        beside.views[k].light(leaf < 0 ? [] : beside.views[k].path(leaf));
        deeds[k].textContent = leaf < 0 ? (step < last ? "does not act" : "") : "does " + agent.actions[agent.does[step]]
          + (agent.expert ? agent.does[step] === agent.expert[step] ? "; the expert, too"
            : "; the expert would do " + agent.actions[agent.expert[step]] : "");
      });
      part("at").value = step;
      part("told").textContent = `step ${step} of ${last}${frame.words ? ", " + frame.words : ""}; `
        + `${told.score} so far ${told.scores[step]}`;
    }
    const step = () => frames[now].step;
    const go = (wanted) => { show(first[between(0, wanted, last)]); };
    function pause() {
      clearTimeout(timer);
      timer = null;
      part("play").textContent = "Play";
      part("told").setAttribute("aria-live", "polite");
    }
    function tick() {
      if (now === frames.length - 1) { return pause(); }
      show(now + 1);
      const many = frames.filter((frame) => frame.step === step()).length;
      timer = setTimeout(tick, 600 / many / Number(part("speed").value));
    }
    function moments(place, node) {  // where the node was on the way, and the next of these
      const view = beside.views[place], agent = agents[place];
      const found = agent.leaves.flatMap((leaf, k) => (leaf >= 0 && view.path(leaf).includes(node) ? [k] : []));
      const list = part("moments"), steps = found.length === 1 ? "step" : "steps";
      pause();
      if (found.length) { go(found.find((one) => one > step()) ?? found[0]); } else { view.light(view.path(node)); }
      list.replaceChildren(`Node ${node} of ${agent.name} ${view.leaf(node) ? "decided" : "was on the way"} in `
        + `${found.length || "no"} ${found.length ? steps : "step"} of this episode${found.length ? ": " : "."}`);
      found.slice(0, 40).forEach((one) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = one;
        button.setAttribute("aria-label", "go to step " + one);
        button.onclick = () => { pause(); go(one); };
        list.append(button, " ");
      });
      if (found.length > 40) { list.append(`and ${found.length - 40} more`); }
    }
    part("back").onclick = () => { pause(); go(step() - (first[step()] === now ? 1 : 0)); };
    part("step").onclick = () => { pause(); go(step() + 1); };
    part("play").onclick = () => {
      if (timer) { return pause(); }
      if (now === frames.length - 1) { show(0); }
      part("play").textContent = "Pause";
      part("told").setAttribute("aria-live", "off");  // a screen reader would read every step
      timer = setTimeout(tick, 0);
    };
    part("next").hidden = !apart.length;
    part("next").textContent = `Next disagreement (${apart.length})`;
    part("next").onclick = () => { pause(); go(apart.find((one) => one > step()) ?? apart[0]); };
    part("at").oninput = () => { pause(); go(Number(part("at").value)); };
    part("closer").onclick = () => { near = !near; look(); };
    root.hidden = false;
    show(0);
  }

  function start() {
    all(document, ".trees").forEach((panel) => {
      const player = document.querySelector(".episode[hidden]");
      if (player) { episode(player, panel); } else { trees(panel); }
    });
  }
  return { trees, episode, start };
})();
