"""What the HTTP routes are made with: parameters, bodies, replies and problems."""
