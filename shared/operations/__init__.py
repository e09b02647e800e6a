"""What operators change on a running platform: replays, dead letters, stages, pipelines; for commands and the gateway.

Everything here works on the ports of `shared.bus` and `shared.stores`; which connection is behind them, and as which
users it logs in, is decided by `cli.operations.operator_session` for one command and by
`shared.runtime.operator_connections` for a worker.
"""
