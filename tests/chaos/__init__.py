"""Everything that can be killed, is, under load, for minutes; then every promise is checked. `make chaos`."""
