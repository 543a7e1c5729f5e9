"""The equations of policy optimization, one per function: arrays in, arrays out. No networks here."""
