"""The events of one question as they happen, and the frames that a client gets of them."""
