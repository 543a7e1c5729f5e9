"""What people look at: tables and figures from runs and the catalogue. Nothing is trained or measured here."""
