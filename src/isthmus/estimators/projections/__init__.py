"""Systems with a closed form: directions of either domain, found by one eigenproblem."""
