"""The channel adapter: chats of Slack, Telegram and a generic webhook ask questions and get answers.

It is a client of the gateway's HTTP API, beside the stages; `answerbus channel run` starts it. See docs/channels.md.
"""
