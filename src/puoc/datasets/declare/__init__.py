"""Base classes with which datasets declare their files, classes and counts."""
