"""The channel adapter: chats of Slack, Telegram and a generic webhook ask questions and get answers.

A client of the gateway's HTTP API, apart from the stages; `answerbus channel run` starts it. See docs/channels.md.
"""
