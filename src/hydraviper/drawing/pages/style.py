"""How reports look, on a screen and on paper."""

from html import escape

from hydraviper.drawing.panels import DARK, LIGHT

LAYOUT = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 28px 64px; }
header { border-bottom: 1px solid var(--line); padding-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 21px; margin: 48px 0 8px; }
h3 { font-size: 16px; margin: 28px 0 4px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.kind { color: var(--soft); margin: 0 0 18px; }
.verdict { font-size: 20px; line-height: 1.45; margin: 0 0 6px; }
.soft, figcaption { color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: 12px; margin: 22px 0 0; padding: 0; list-style: none; }
.facts li { flex: 1 1 150px; background: var(--shade); border-radius: 8px; padding: 12px 16px; }
.facts b { display: block; font-size: 21px; line-height: 1.3; }
.facts span { color: var(--soft); font-size: 14px; }
.notes { background: var(--note); border-left: 4px solid #e69f00; padding: 10px 18px; margin: 26px 0 0; }
.notes ul { margin: 4px 0; padding-left: 20px; }
figure { margin: 14px 0 22px; break-inside: avoid; }
figure svg { display: block; max-width: 100%; height: auto; }
@media screen and (prefers-color-scheme: dark) {  /* drawings are made for white paper */
  .view svg, .stage svg, figure .scroll > svg { filter: invert(.92) hue-rotate(180deg); }
}
@media screen and (min-width: 1000px) {
  .both { display: grid; grid-template-columns: minmax(340px, 2fr) 3fr; gap: 0 28px; align-items: start;
    margin: 0 calc(50% - min(48vw, 800px)); }
  .both > .episode { position: sticky; top: 12px; max-height: calc(100vh - 24px); overflow: auto; padding: 0 3px; }
}
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 0 32px; }
table { border-collapse: collapse; margin: 8px 0 16px; font-variant-numeric: tabular-nums; break-inside: avoid; }
th, td { text-align: left; padding: 5px 22px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; font-size: 14px; }
tbody th { font-weight: 500; }
@media (min-width: 900px) { tbody th { white-space: nowrap; } td.n, th.n { padding-right: 16px; } }
td.n, th.n { text-align: right; white-space: nowrap; }
thead th.n { white-space: normal; vertical-align: bottom; }
td.bad { color: var(--bad); font-weight: 700; background: var(--bad-ground); }
tbody th.bad { color: var(--bad); font-weight: 700; }
.scroll { overflow-x: auto; } .both > *, .alone > * { min-width: 0; }
td { overflow-wrap: anywhere; }
pre { background: var(--shade); border-radius: 8px; padding: 12px 16px; overflow-x: auto; font-size: 13px; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 10px 0 0; }
summary { cursor: pointer; color: var(--strong); }
footer { margin-top: 56px; color: var(--soft); font-size: 14px; border-top: 1px solid var(--line); padding-top: 12px; }
@media screen and (max-width: 760px) {
  main { padding: 24px 16px; } .pair { grid-template-columns: 1fr; }
  .verdict { font-size: 18px; } h1 { font-size: 26px; }
  figure .scroll > svg { min-width: 660px; } .view svg { min-width: calc(.75 * var(--wide)); }
}
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } details, nav, .episode { display: none; }
  h2, h3 { break-after: avoid; } .tree[hidden] { display: block; }
  .view { border: none; overflow: visible; max-height: none; }
  .view svg { width: auto; min-width: 0; max-height: 115mm; }
  .pictured svg { max-height: 165mm; } .pair { grid-template-columns: 1fr 1fr; } pre { white-space: pre-wrap; }
}
"""


def page(title: str, body: str, version: str | None = None, style: str = "") -> str:
    """A whole page that needs no other file; `style` is how parts look that not every page has."""
    maker = f"hydraviper {escape(version)}" if version else "hydraviper"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{LIGHT}{DARK}{style}{LAYOUT}</style>\n</head>\n<body>\n<main>\n{body}\n"
        f"<footer>Made by {maker}. This page needs no other file.</footer>\n</main>\n</body>\n</html>\n"
    )
