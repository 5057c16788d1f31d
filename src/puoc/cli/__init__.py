"""The commands: arguments in, messages and exit codes out. Nothing is computed here."""
