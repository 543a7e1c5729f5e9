"""Engstrom et al. 2020, reproduced: what was published, what to train, how to judge agreement. Trains by studies."""
