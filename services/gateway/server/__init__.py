"""The HTTP application and the server that listens."""
