"""The Model Context Protocol over the gateway's native API, for agents: tools, resources and prompts.

Every tool is a request of the native API with the caller's key, so roles and ownership are the same. The server works
over any `GatewayApi`: in the gateway over its own routes, in `answerbus mcp` over HTTP. The library is imported when
the first client connects, as it takes seconds.
"""
