"""What `make docs` adds to the pages of docs/: README as the first page, and the notebooks, run from top to bottom."""

import re
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made from other files."""
    files.append(File.generated(config, "index.md", content=_first_page()))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"{path.stem}.md", content=_notebook(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Keep the words of links that lead out of docs/, where the site has no page."""
    return _LINK.sub(lambda link: link[1] if link[2].startswith("../") else link[0], markdown)


def _first_page() -> str:
    """README.md with its links as they are inside docs/."""
    text = (ROOT / "README.md").read_text()
    text = text.replace("](docs/", "](")
    return _LINK.sub(lambda link: link[0] if "://" in link[2] or _is_page(link[2]) else link[1], text)


def _is_page(link: str) -> bool:
    return (ROOT / "docs" / link.partition("#")[0]).is_file()


def _notebook(path: Path) -> str:
    """A notebook as Markdown: text, code, and what it showed."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += filter(None, map(_output, cell.outputs))
    link = f"*This page is `docs/notebooks/{path.name}`, as it ran when the site was built.*"
    return "\n\n".join([*parts[:1], link, *parts[1:]]) + "\n"


def _output(output: Any) -> str:
    if output.output_type == "stream":
        return f"```text\n{output.text}\n```"
    data = output.get("data", {})
    drawing = data.get("text/html", "")
    if drawing.startswith("<iframe"):
        return re.sub(r"\n\s*", " ", drawing)  # HTML inside Markdown ends at an empty line
    return f"<pre><code>{escape(data['text/plain'])}</code></pre>" if "text/plain" in data else ""
