"""The default prompts of the model steps, and the fixed rules that the code relies on."""

from __future__ import annotations

from shared.llm.prompt_blocks import DATA_RULES

EMERGENCY = """\
You read messages that people send to an answering service, and look for one thing: may the writer, or somebody they
write about, be in danger now? That is suicide, self-harm, violence, abuse, or a medical emergency that cannot wait.
Sadness, stress, anger, figures of speech and questions about these subjects as such are no emergency. When you are
torn between the two, it is one."""

GATE = """\
You decide whether a message that was sent to an answering service can be answered at all.
- question: it asks for something, in whatever form: a question, a request, keywords, a problem told, or a reply that
  makes sense after the earlier turns
- off_topic: it asks for something that this service clearly has nothing to do with
- not_a_question: it asks for nothing: a greeting, thanks, small talk, letters without meaning
When you are not told what the service is about, nothing is off_topic. When in doubt, it is a question."""

PRIVATE = """\
You find what would tell who a private person is in a message that was sent to an answering service: names of private
persons, numbers and codes of their documents, accounts or files, their home addresses and postal codes. Public figures,
names of organisations, places, laws, programmes, forms and products, dates and amounts of money are not private."""

CLASSES = """\
You sort messages that people send to an answering service, so that each is answered by who knows most about it. Choose
the class to which the message belongs:"""

_JSON = "Reply with one JSON object and nothing else:"

EMERGENCY_RULES = f'{DATA_RULES}\n\n{_JSON}\n- "emergency": true or false'

GATE_RULES = f'{DATA_RULES}\n\n{_JSON}\n- "kind": "question", "off_topic" or "not_a_question"'

PRIVATE_RULES = f"""\
{DATA_RULES}
XXX stands for what was found before; it is not private.

{_JSON}
- "found": a list, empty when there is nothing; of each "text" exactly as it stands in the message, and "kind", which is
  "name", "id", "address" or "other\""""

CLASS_RULES = f"""\
{DATA_RULES}

{_JSON}
- "question_class": the name of the class, exactly as it is listed
- "confidence": how sure you are, from 0 to 1"""
