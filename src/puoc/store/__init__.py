"""What lies on disk and survives a kill: ledger, claims, and files that are written whole and checked."""

__all__ = [
    "atomic",
    "cells",
    "checked_json",
    "checked_parquet",
    "claims",
    "counting",
    "ledger",
    "ledger_adopt",
    "ledger_archive",
    "ledger_files",
    "messages",
    "plan_files",
    "plans",
    "provenance",
    "published",
    "result_rows",
    "yaml_file",
]
