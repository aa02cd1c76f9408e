"""Who is in which group? Columns as users give them, attributes and their targets. Nothing here clusters."""
