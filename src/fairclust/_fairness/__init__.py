"""How far is a composition from its target? The K×J world: no point is known here."""
