"""The command line: one module per command. No logic lives here that the Python API lacks."""
