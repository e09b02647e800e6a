"""What the agent may use: one file for each tool, all behind the `AgentTool` of `ports.py`."""
