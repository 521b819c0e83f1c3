// A tree's drawing: zoom, nodes that can be chosen by mouse and keyboard, a path that lights up, nodes that are marked.
export default {
  template: `
    <div class="tree-view">
      <div class="tree-tools">
        <button type="button" class="plain" @click="by(1 / 1.25)" :aria-label="'smaller: ' + label">−</button>
        <button type="button" class="plain" @click="by(1.25)" :aria-label="'larger: ' + label">+</button>
        <button type="button" class="plain" @click="fit" :aria-label="'fit the width: ' + label">fit</button>
      </div>
      <div class="tree-paper" ref="paper" v-html="svg" @click="click" @keydown="key"></div>
    </div>`,
  props: { svg: String, label: String, lit: Array, marked: Array, selected: Number, found: Array },
  data() { return { scale: 0, now: this.given() }; },
  mounted() { this.prepare(); },
  updated() { this.prepare(); },
  watch: { svg() { this.now = this.given(); this.$nextTick(this.prepare); } },
  methods: {
    given() { return { lit: this.lit, marked: this.marked, found: this.found, selected: this.selected }; },
    change(parts) { Object.assign(this.now, parts); this.show(); },  // without sending the drawing again
    prepare() {
      const svg = this.$refs.paper.querySelector("svg");
      if (!svg) { return; }
      svg.setAttribute("role", "group");  // a picture's parts are hidden from screen readers, a group's are not
      svg.setAttribute("aria-label", this.label);
      svg.setAttribute("aria-description", "Arrow keys move between nodes, Enter chooses one.");
      svg.querySelectorAll("g.node").forEach((part) => {
        part.setAttribute("role", "button");
        const told = part.querySelector("title");
        part.setAttribute("aria-label", "node " + part.dataset.node + ": " + (told ? told.textContent : ""));
      });
      this.reach(this.now.selected);
      this.size();
      this.show();
    },
    parts() { return [...this.$refs.paper.querySelectorAll("g.node")]; },
    part(node) { return this.$refs.paper.querySelector(`g.node[data-node="${Number(node)}"]`); },
    reach(node) {  // one node is reached by Tab, the others from there by arrows
      const chosen = this.part(node) || this.part(0);
      this.parts().forEach((part) => part.setAttribute("tabindex", part === chosen ? "0" : "-1"));
      return chosen;
    },
    beside(part, key) {
      const node = Number(part.dataset.node), all = this.parts();
      if (key === "ArrowUp") {
        const edge = this.$refs.paper.querySelector(`g.edge[data-node="${node}"]`);
        return edge && this.part(edge.dataset.parent);
      }
      if (key === "ArrowDown") {
        const edge = this.$refs.paper.querySelector(`g.edge[data-parent="${node}"]`);
        return edge && this.part(edge.dataset.node);
      }
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      return step && all[all.indexOf(part) + step];
    },
    show() {
      const lit = new Set(this.now.lit), marked = new Set(this.now.marked), found = new Set(this.now.found);
      this.$refs.paper.classList.toggle("lighting", lit.size > 0);
      this.$refs.paper.querySelectorAll("[data-node]").forEach((part) => {
        const node = Number(part.dataset.node), is_node = part.classList.contains("node");
        part.classList.toggle("lit", lit.has(node));
        part.classList.toggle("marked", is_node && marked.has(node));
        part.classList.toggle("found", is_node && found.has(node));
        part.classList.toggle("selected", is_node && node === this.now.selected);
        if (is_node) { part.setAttribute("aria-pressed", node === this.now.selected ? "true" : "false"); }
      });
    },
    size() {
      const svg = this.$refs.paper.querySelector("svg");
      if (!svg) { return; }
      svg.style.width = this.scale > 0 ? svg.viewBox.baseVal.width * this.scale + "px" : "";
      svg.style.maxWidth = this.scale > 0 ? "none" : "100%";
      svg.style.height = "auto";
    },
    by(factor) {
      const svg = this.$refs.paper.querySelector("svg");
      const now = this.scale || svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      this.scale = Math.min(6, Math.max(0.1, factor * now));
      this.size();
    },
    fit() { this.scale = 0; this.size(); },
    choose(target) {
      const part = target.closest("g.node");
      if (part) {
        this.reach(part.dataset.node);
        this.$emit("node", Number(part.dataset.node));
      }
      return part;
    },
    click(event) { this.choose(event.target); },
    key(event) {
      if ((event.key === "Enter" || event.key === " ") && this.choose(event.target)) { event.preventDefault(); }
      const part = event.target.closest("g.node"), next = part && this.beside(part, event.key);
      if (next) {
        event.preventDefault();
        this.reach(next.dataset.node).focus();
      }
    },
  },
};
