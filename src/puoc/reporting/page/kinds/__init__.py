"""The kinds of pages of the results site: one module prepares the values of each kind."""
