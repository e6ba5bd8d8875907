"""Measurements: numbers, or maps, of each image of a setup, as frozen dataclasses."""
