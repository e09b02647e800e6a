"""Who calls, and what that caller may see: keys, tokens, sessions, tickets."""
