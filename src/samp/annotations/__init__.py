"""Boxes around objects and the files they come in: what localisation metrics judge maps by."""
