"""The equations of policy optimization, one per function: arrays in, arrays out, no network and no environment."""
