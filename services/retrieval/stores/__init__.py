"""The index: one encoder, one shape of its points, two stores."""
