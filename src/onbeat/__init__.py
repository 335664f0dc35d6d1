"""onbeat: the timing layer for robots."""
