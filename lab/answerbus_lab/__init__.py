"""Measures, compares and tunes the answers of a platform; plugs its commands into `answerbus`."""
