"""Questions that were answered before, and whether a new one asks the same in other words."""
