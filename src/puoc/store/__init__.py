"""What lies on disk and survives a kill: ledger, claims, and files that are written whole and checked."""
