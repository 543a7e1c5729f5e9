"""What an agent acts with: networks, action distributions, the policy that joins them, first parameters."""
