"""One file a page: read what is chosen, get a recording, draw figures."""
