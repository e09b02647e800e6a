"""Text: languages, sentences and stems, sanitizer, fingerprints. Pure."""
