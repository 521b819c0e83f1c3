// A tree's drawing (drawing/tree.js) with buttons that zoom. It is put in by hand: a change elsewhere on the page does
// not touch it, and what nobody can read from afar is left out until somebody comes closer.
const HUGE = 2500;  // pixels: wider drawings are first seen as a whole
const outline = (svg) => svg.replace(/<g class="fine">[^]*?<\/g>(?=<\/g>\n)/g, "")
  .replace(/(<g class="edge"[^>]*><path[^>]*\/>)<text[^]*?<\/text>/g, "$1");

export default {
  template: `
    <div class="tree-view">
      <div class="tree-tools">
        <button type="button" class="plain" @click="tree.zoom(1 / 1.25)" :aria-label="'smaller: ' + label">−</button>
        <button type="button" class="plain" @click="tree.zoom(1.25)" :aria-label="'larger: ' + label">+</button>
        <button type="button" class="plain" @click="tree.size(0)" :aria-label="'fit the width: ' + label">fit</button>
      </div>
      <div class="tree-paper" ref="paper"></div>
    </div>`,
  props: { svg: String, label: String, lit: Array, marked: Array, selected: Number, found: Array },
  mounted() { this.draw(); },
  watch: { svg() { this.draw(); } },
  methods: {
    draw() {
      const wide = Number(this.svg.match(/viewBox="0 0 (\d+)/)[1]);
      const far = wide > HUGE && innerWidth < drawnTree.far * wide;
      this.$refs.paper.classList.toggle("far", far);
      this.$refs.paper.replaceChildren();
      this.put(far ? outline(this.svg) : this.svg, { ...this.$props });
      if (wide <= HUGE) {  // its words can be read, and what has no room is scrolled to
        this.$refs.paper.firstElementChild.style.minWidth = wide * (innerWidth < 760 ? .7 : drawnTree.far + .05) + "px";
        requestAnimationFrame(() => this.tree.look());
      }
    },
    put(drawing, parts) {
      const paper = this.$refs.paper, before = paper.firstElementChild?.style.cssText;
      paper.innerHTML = drawing;
      const svg = paper.firstElementChild;
      svg.style.cssText = before || "";
      svg.setAttribute("aria-label", this.label);
      svg.setAttribute("aria-description", "Arrow keys move between nodes, Enter chooses one.");
      const closer = drawing === this.svg ? null : () => this.put(this.svg, this.shown);
      this.tree = drawnTree(paper, (node) => this.$emit("node", node), closer);
      this.shown = {};
      this.change(parts);
    },
    change(parts) {  // without sending the drawing again
      Object.assign(this.shown, parts);
      if (parts.lit) { this.tree.light(parts.lit); }
      for (const kind of ["marked", "found"]) { if (parts[kind]) { this.tree.mark(kind, parts[kind]); } }
      if (parts.selected !== undefined) { this.tree.select(parts.selected); }
    },
  },
};
