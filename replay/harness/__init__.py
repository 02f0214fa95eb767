"""Parts of the replay tool: the flow client, test doubles for external services, the comparison."""
