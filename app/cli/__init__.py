"""The command line: one module per command group over the functions of core."""
