"""Benchmarks: each a small module behind `samp bench`."""
