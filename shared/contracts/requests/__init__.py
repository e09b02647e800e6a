"""Requests between services (NATS request/reply): one module per replying stage and topic."""
