"""Metrics of maps from anywhere, each by a definition that is written down in its result."""
