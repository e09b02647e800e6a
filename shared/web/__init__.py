"""Fetching pages of the web for the platform, safely: the one place where an address somebody wrote is connected to."""
