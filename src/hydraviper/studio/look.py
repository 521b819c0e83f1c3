"""How pages look, light and dark."""

from hydraviper.runs.draw import TREE_STYLE, tree_script

STYLE = (
    """
:root { --ink: #1a1d21; --soft: #4f5763; --line: #b4bbc4; --ground: #ffffff; --panel: #f5f7f9; --accent: #00558a; }
body.body--dark { --ink: #eceff3; --soft: #b6bfca; --line: #4a525d; --ground: #14171b; --panel: #1f242a;
  --accent: #8cc8f5; }
body { background: var(--ground); color: var(--ink); }
.nicegui-content { padding: 0; } .nicegui-sub-pages { display: block; width: 100%; min-width: 0; }
#content { width: 100%; max-width: 1500px; margin: 0 auto; padding: 16px 24px 48px; }
h1 { font-size: 26px; line-height: 1.25; font-weight: 700; margin: 4px 0 8px; }
h2 { font-size: 19px; line-height: 1.3; font-weight: 600; margin: 16px 0 6px; } caption { white-space: nowrap; }
h3 { font-size: 16px; line-height: 1.4; font-weight: 600; margin: 12px 0 4px; }
p { margin: 4px 0; } .q-select, .q-input { min-width: 220px; }
a { color: var(--accent); text-decoration: underline; }
a:focus-visible, button:focus-visible, [tabindex]:focus-visible, input:focus-visible { outline: 3px solid #d55e00;
  outline-offset: 2px; }
.q-field:focus-within .q-field__control { outline: 3px solid #d55e00; outline-offset: 2px; }
.soft { color: var(--soft); }
.panel { background: var(--panel); border-radius: 8px; padding: 12px 16px; }
.skip { position: absolute; left: -9999px; }
.skip:focus { left: 8px; top: 8px; z-index: 10; background: var(--ground); }
header.top { display: flex; flex-wrap: wrap; gap: 6px 18px; align-items: center; padding: 8px 24px;
  border-bottom: 1px solid var(--line); width: 100%; }
header.top nav { display: flex; gap: 14px; flex-wrap: wrap; } header.top a[aria-current] { font-weight: 700; }
.line { align-items: end; gap: 8px 16px; margin: 4px 0 8px; } #content svg { max-width: 100%; height: auto; }
.side { display: grid; gap: 16px; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 900px) {
  .side.picture { grid-template-columns: minmax(300px, 2fr) minmax(0, 3fr); }
  .side.sliders { grid-template-columns: minmax(280px, 380px) minmax(0, 1fr); }
  .side.form { grid-template-columns: minmax(0, 1fr) minmax(300px, 380px); }
  .side.twins { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
}
.many { display: grid; gap: 8px; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); }
.fields { display: grid; gap: 10px 24px; grid-template-columns: repeat(auto-fit, minmax(260px, 420px)); }
.scroll { overflow-x: auto; max-width: 100%; }
.chart { background: #fff; border: 1px solid var(--line); border-radius: 8px; max-width: 900px; }
table.plain { border-collapse: collapse; font-variant-numeric: tabular-nums; }
table.plain th, table.plain td { text-align: left; padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); }
table.plain td.n, table.plain th.n { text-align: right; }
button.plain { font: inherit; color: var(--ink); background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; padding: 4px 12px; cursor: pointer; min-height: 32px; }
.tree-view { width: 100%; } .tree-tools { display: flex; gap: 6px; margin-bottom: 6px; }
.tree-paper { background: #fff; border: 1px solid var(--line); border-radius: 8px; overflow: auto; max-height: 78vh; }
.tree-paper svg { display: block; margin: 0 auto; max-width: 100%; height: auto; }
.tree-paper .node.marked > rect:first-of-type { stroke: #9b1c8a; stroke-width: var(--thick, 4);
  stroke-dasharray: 6 3; }
.tree-paper .node.found > rect:first-of-type { stroke: #007a57; stroke-width: var(--thick, 4); stroke-dasharray: none; }
.tree-paper .node.selected > rect:first-of-type { stroke: #000; stroke-width: var(--thick, 4); stroke-dasharray: none; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""
    + TREE_STYLE
)

SCRIPT = (
    f"<script>{tree_script()}</script>"
    + """
<script>
document.documentElement.lang = "en";
function studioDark() {  // as last chosen here, else as the system has it
  const kept = localStorage.getItem("studio-dark");
  setDark(kept === null ? null : kept === "1");
}
function studioTurn() {
  localStorage.setItem("studio-dark", Quasar.Dark.isActive ? "0" : "1");
  studioDark();
}
</script>
"""
)
