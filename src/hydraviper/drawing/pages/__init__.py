"""Self-contained HTML pages about a run."""
