"""Trees, icons, maps, charts, timelines and pages."""
