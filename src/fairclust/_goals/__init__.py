"""What is asked for? One goal per file, as solvers see it and as whole people meet it."""
