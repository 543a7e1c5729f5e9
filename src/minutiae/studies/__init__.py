"""Studies: designs, the store, execution. A trainer turns configs and seeds into run directories; none is here."""
