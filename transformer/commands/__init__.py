"""One file a command of ``python -m transformer``: its options, and what it does."""
