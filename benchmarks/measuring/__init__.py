"""What `throughput.py` is made of: rows, the processes that measure them, arithmetic, report."""
