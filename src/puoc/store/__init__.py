"""Files that survive a kill of the process: the ledger, claims, plans and results, written whole and checked."""

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
    "ledger_records",
    "ledger_upkeep",
    "messages",
    "plan_files",
    "plans",
    "provenance",
    "published",
    "result_rows",
    "times",
    "yaml_file",
]
