"""One method per file; see 'Adding a method' in CONTRIBUTING.md. Files with an underscore are help for others."""
