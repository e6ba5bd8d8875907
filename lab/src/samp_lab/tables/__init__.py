"""Each table of the paper, and ours, as one small module: its settings and the paper's values as data."""
