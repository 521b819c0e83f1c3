"""Properties of trees: read from a file, proved or refuted, and used to constrain and to repair trees."""
