"""Runs the platform on this machine: processes, the embedded servers, the data directory."""
