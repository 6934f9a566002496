"""``python -m kernelight`` is the command."""

from kernelight.cli.app import main

main()
