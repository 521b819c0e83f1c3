"""Options that every command has."""

EVERYWHERE = ("--debug", "--trust-path", "--trust")
CONFIG = "--config"  # a file with options
