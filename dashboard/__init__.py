"""The dashboard: what a person types and chooses, and the pictures of it."""
