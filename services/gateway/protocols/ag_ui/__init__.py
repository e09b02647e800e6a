"""AG-UI, the protocol of agent user interfaces, over the gateway's questions: a run is a question.

Inputs and events have the shapes of https://docs.ag-ui.com.
"""
