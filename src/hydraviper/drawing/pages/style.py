"""How reports look, on a screen and on paper."""

from html import escape

STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1d21; font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 28px 64px; }
header { border-bottom: 1px solid #dfe3e8; padding-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 21px; margin: 48px 0 8px; }
h3 { font-size: 16px; margin: 28px 0 4px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.kind { color: #5b6470; margin: 0 0 18px; }
.verdict { font-size: 20px; line-height: 1.45; margin: 0 0 6px; }
.soft, figcaption { color: #5b6470; }
.facts { display: flex; flex-wrap: wrap; gap: 12px; margin: 22px 0 0; padding: 0; list-style: none; }
.facts li { flex: 1 1 150px; background: #f5f7f9; border-radius: 8px; padding: 12px 16px; }
.facts b { display: block; font-size: 21px; line-height: 1.3; }
.facts span { color: #5b6470; font-size: 14px; }
.notes { background: #fff8e6; border-left: 4px solid #e69f00; padding: 10px 18px; margin: 26px 0 0; }
.notes ul { margin: 4px 0; padding-left: 20px; }
figure { margin: 14px 0 22px; break-inside: avoid; }
figure svg { display: block; max-width: 100%; height: auto; }
.tree { border: 1px solid #dfe3e8; border-radius: 8px; padding: 8px; overflow-x: auto; }
.tree svg { margin: 0 auto; }
@media screen { .tree.wide { position: relative; left: 50%; transform: translateX(-50%); width: 96vw; } }
.film { display: grid; grid-template-columns: repeat(3, 1fr); gap: 4px 12px; }
.film figure { margin: 0; } .film img { display: block; width: 100%; height: auto; border: 1px solid #dfe3e8; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 32px; }
table { border-collapse: collapse; margin: 8px 0 16px; font-variant-numeric: tabular-nums; break-inside: avoid; }
th, td { text-align: left; padding: 5px 22px 5px 0; border-bottom: 1px solid #e6e9ed; vertical-align: top; }
thead th { color: #5b6470; font-weight: 600; font-size: 14px; }
tbody th { font-weight: 500; min-width: 8em; }
td.n, th.n { text-align: right; white-space: nowrap; }
thead th.n { white-space: normal; vertical-align: bottom; }
td.bad { color: #a1201a; font-weight: 700; background: #fdecea; }
tbody th.bad { color: #a1201a; font-weight: 700; }
.scroll { overflow-x: auto; }
td { overflow-wrap: anywhere; }
pre { background: #f5f7f9; border-radius: 8px; padding: 12px 16px; overflow-x: auto; font-size: 13px; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 10px 0 0; }
summary { cursor: pointer; color: #0063a0; }
footer { margin-top: 56px; color: #5b6470; font-size: 14px; border-top: 1px solid #dfe3e8; padding-top: 12px; }
@media screen and (max-width: 760px) {
  main { padding: 24px 16px; } .pair { grid-template-columns: 1fr; }
  figure { overflow-x: auto; } figure svg { min-width: 660px; } .tree svg { max-width: none; }
}
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } details { display: none; }
  h2, h3 { break-after: avoid; } .tree { border: none; padding: 0; overflow: visible; }
  .tree svg { max-height: 115mm; } .tree.pictured svg { max-height: 165mm; }
  .pair { grid-template-columns: 1fr 1fr; } pre { white-space: pre-wrap; }
}
"""


def page(title: str, body: str, version: str | None = None) -> str:
    """A whole page that needs no other file."""
    maker = f"hydraviper {escape(version)}" if version else "hydraviper"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n"
        f"<footer>Made by {maker}. This page needs no other file.</footer>\n</main>\n</body>\n</html>\n"
    )
