"""What datasets share when they declare their files, classes and counts."""
