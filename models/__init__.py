"""The models of the runtime: roles, where their files come from, and the backends that run them."""
