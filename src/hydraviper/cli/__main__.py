"""`python -m hydraviper.cli`."""

from hydraviper.cli import main

main()
