"""The update as one jitted program over a population: batch and numbers in, parameters and metrics out."""
