"""What the papers got wrong, each beside a simulation that shows it."""
