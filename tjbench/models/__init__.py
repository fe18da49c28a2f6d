"""What answers."""
