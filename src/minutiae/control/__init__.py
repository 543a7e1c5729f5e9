"""The wing for environments: pools, policies, normalizers, the collector, the learner and populations."""
