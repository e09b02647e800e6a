"""The knowledge graph: which passages define a name, which mention it, and what follows from walking between them."""
