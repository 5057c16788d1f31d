"""How much is asked and how long it will take: seconds per unit of work, measured, and corrected by the ledger."""
