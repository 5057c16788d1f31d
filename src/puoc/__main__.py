"""``python -m puoc``."""

from puoc.cli import main

main()
