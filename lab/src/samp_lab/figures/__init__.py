"""The figures of the paper, and our own: each names its measurements and draws their results."""
