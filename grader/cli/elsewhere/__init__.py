"""The commands of other places: editors, services, a page."""
