"""Safe outgoing HTTP: the only place that connects to URLs written by users, documents or models; and the listener."""
