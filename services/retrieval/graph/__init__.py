"""The knowledge graph: which passages define a name, which mention it, and random walks between them."""
