"""Policy gradients in which every implementation detail is a named, measured switch."""

__version__ = "0.1.0"
