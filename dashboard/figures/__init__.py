"""Arrays in, pictures out: pure functions that know neither the model nor the page."""
