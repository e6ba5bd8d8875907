"""The tables of the paper, and our own: each a small module with its settings and the paper's values as data."""
