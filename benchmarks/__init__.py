"""How fast this package is, against the usual way, measured in one run on one machine."""
