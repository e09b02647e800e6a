"""More drafts, over documentation of another kind.

When it was first run, the rules refuted 4 of its 38 good drafts and passed 8 of its 40 bad ones.
"""

from __future__ import annotations

from tests.support.draft_cases import DraftCase

DOCUMENTS: dict[str, str] = {
    "failures.md": """# When a provider fails

- **Retries.** 408, 409, 425, 429, 5xx, timeouts, broken connections and invalid response bodies are retried, up to
  three tries in all, after 0.1 to 0.2 s, then 0.2 to 0.4 s. `Retry-After` is respected if the time allows it, but for
  at most one second if another endpoint can be called instead.
- **Time.** A small step may take half of the time left until the question's deadline, an answer 90 %. The rest is
  reserved for the fallback rule and for the following stages. The endpoints of a role share this time.
- **Circuit breaker.** After three consecutive failures, an endpoint is not called for 30 s. Then a single call probes
  it and decides whether it is used again.
- **Streams.** Silence of 10 s, or an end before the model has finished, is a failure: the text shown so far is
  discarded and the next try starts from the beginning.
- **Withdrawal.** Cancelling a question closes the connection to the provider at once.

No prompt, reply or key is logged.
""",
    "embeddings.md": """# Embeddings

`ANSWERBUS_EMBED_URL` and `ANSWERBUS_EMBED_MODEL` take precedence. If neither is set, the role `embed` may name one
endpoint of kind `openai` or `openai-compatible` whose `model` is an embedding model. The role has one endpoint and no
fallback, because vectors of two models cannot be compared. An API key alone does not enable embeddings.
""",
    "directory.md": """# The directory

Experts, slots and content are stored in the record's database. They are loaded from a file. A YAML file has the keys
`experts`, `slots` and `content`; the `weekly` key of an expert creates slots for the coming weeks. Lists are separated
by semicolons. A row whose id already exists is replaced. Bookings are real: a slot is booked once, even if several
askers want it at the same moment. A replay books nothing.
""",
    "garden.md": """# Community garden

A plot measures 40 square metres and is rented from 1 April to 31 October. The rent is £65 for the season, and tools may
be borrowed from the shed without charge. Dogs are not allowed in the garden. Members must work at least six hours a
month for the community; whoever cannot come pays 9 pounds for each missed hour. Watering is only permitted before 9 am
and after 7 pm. The waiting list has 120 names, and the wait is about 18 months. Chemical pesticides are prohibited.
""",
    "transport.md": """# Transport scolaire

Le transport scolaire est réservé aux élèves qui habitent à plus de 3 km de leur école. L'abonnement coûte 95 euros par
an, payables en trois fois. Les demandes sont reçues jusqu'au 15 juillet. Les chiens ne sont pas admis dans les cars. En
cas de perte, la carte est remplacée pour 8 euros.
""",
}

LANGUAGES = {"transport.md": "fra"}
_FAIL, _EMBED, _DIRECTORY, _GARDEN, _BUS = tuple(DOCUMENTS)

CASES: tuple[DraftCase, ...] = (
    DraftCase(_FAIL, "How often is a failed call retried?",
              ("A failed call is tried up to three times in all. [@]",
               "Timeouts, broken connections and invalid bodies are retried, with at most 3 tries in total. [@]"),
              ("A failed call is retried up to thirteen times. [@]", "Timeouts are not retried. [@]")),
    DraftCase(_FAIL, "How long is an endpoint left alone after several failures?",
              ("After three consecutive failures it is not called for half a minute. [@]",
               "For 30 seconds: the circuit breaker opens after 3 failures in a row, and then one call probes it. [@]"),
              ("After three consecutive failures an endpoint is not called for 30 minutes. [@]",
               "After three consecutive failures an endpoint is called for 30 s. [@]")),
    DraftCase(_FAIL, "How much of the time may an answer take?",
              ("An answer may take 90 percent of the time left until the deadline. [@]",
               "A small step gets half of the remaining time, an answer 90 %. [@]"),
              ("An answer may take 9 % of the time left. [@]", "A small step may take 90 % of the time left. [@]")),
    DraftCase(_FAIL, "Are prompts logged?",
              ("No. No prompt, reply or key is logged. [@]", "No, prompts, replies and keys are never logged. [@]"),
              ("Yes. Every prompt, reply and key is logged. [@]", "Prompts and replies are logged. [@]")),
    DraftCase(_FAIL, "What happens when a question is cancelled?",
              ("The connection to the provider is closed at once. [@]",
               "Cancelling it closes the connection to the provider immediately. [@]"),
              ("Cancelling a question keeps the connection to the provider open. [@]",
               "Cancelling a question sends an invoice to the customer in Geneva. [@]")),
    DraftCase(_EMBED, "Does an API key alone enable embeddings?",
              ("No. An API key alone does not enable embeddings. [@]",
               "No, a key by itself is not enough to enable embeddings. [@]"),
              ("Yes. An API key alone enables embeddings. [@]", "An API key alone enables embeddings. [@]")),
    DraftCase(_EMBED, "Why does the role embed have no fallback?",
              ("Because the vectors of two models cannot be compared. [@]",
               "It has one endpoint and no fallback, since vectors of two different models are not comparable. [@]"),
              ("Because the vectors of two models can be compared. [@]",
               "The role has three endpoints and a fallback. [@]")),
    DraftCase(_EMBED, "Which variables take precedence for embeddings?",
              ("`ANSWERBUS_EMBED_URL` and `ANSWERBUS_EMBED_MODEL` take precedence. [@]",),
              ("`ANSWERBUS_EMBED_HOST` and `ANSWERBUS_EMBED_MODEL` take precedence. [@]",
               "`OPENAI_API_KEY` takes precedence. [@]")),
    DraftCase(_DIRECTORY, "What does a replay book?",
              ("A replay books nothing. [@]", "Nothing: a replay does not book anything. [@]"),
              ("A replay books every slot again. [@]", "A replay books two sessions in Zurich. [@]")),
    DraftCase(_DIRECTORY, "What happens to a row with an existing id?",
              ("It is replaced. [@]", "A row whose id exists already is replaced. [@]"),
              ("A row whose id already exists is not replaced. [@]",)),
    DraftCase(_DIRECTORY, "How are lists separated?",
              ("Lists are separated by semicolons. [@]", "With semicolons. [@]"),
              ("Lists are not separated by semicolons. [@]",)),
    DraftCase(_GARDEN, "What is the rent of a plot?",
              ("The rent is 65 pounds for the season. [@]",
               "A plot costs £65.00 per season. [@] Tools may be borrowed for "
               "free. [@]"),
              ("The rent is 65 dollars for the season. [@]", "The rent is £56 for the season. [@]",
               "A plot is rented free of charge. [@]")),
    DraftCase(_GARDEN, "May I bring my dog?",
              ("No, dogs are not allowed in the garden. [@]", "No. Dogs are not permitted in the garden. [@]"),
              ("Yes, dogs are allowed in the garden. [@]", "Dogs are allowed in the garden. [@]")),
    DraftCase(_GARDEN, "How much must members work?",
              ("Members must work six hours a month or more. [@]", "At least 6 hours per month for the community. [@]"),
              ("Members must work at most six hours a month. [@]", "Members must work at least six hours a week. [@]",
               "Members do not have to work for the community. [@]")),
    DraftCase(_GARDEN, "When can I water my plot?",
              ("Watering is only allowed before 9:00 and after 19:00. [@]",
               "You may water before 9 a.m. and after 7 p.m. only. [@]"),
              ("Watering is only permitted after 9 am and before 7 pm. [@]",
               "Watering is only permitted before 8 am and after 7 pm. [@]")),
    DraftCase(_GARDEN, "Can I use pesticides?",
              ("No. Chemical pesticides are prohibited. [@]",
               "Chemical pesticides are not allowed: they are prohibited. [@]"),
              ("Yes. Chemical pesticides are allowed. [@]", "Chemical pesticides are permitted. [@]")),
    DraftCase(_GARDEN, "How long is the wait for a plot?",
              ("The wait is about a year and a half; 120 people are on the waiting list. [@]",
               "It takes about 18 months. [@] The passages do not say whether the list is public."),
              ("The wait is about 18 days. [@]", "The wait is about 120 months, and 18 names are on the list. [@]")),
    DraftCase(_BUS, "Combien coûte l'abonnement au transport scolaire ?",
              ("L'abonnement coûte 95 € par an, payables en trois fois. [@]",
               "Il coûte quatre-vingt-quinze euros par an. [@]"),
              ("L'abonnement coûte 59 € par an. [@]", "L'abonnement coûte 95 € par mois. [@]"), "fr"),
    DraftCase(_BUS, "Qui a droit au transport scolaire ?",
              ("Les élèves qui habitent à plus de 3 kilomètres de leur école. [@]",
               "Il est réservé aux élèves habitant à plus de trois kilomètres de l'école. [@]"),
              ("Les élèves qui habitent à plus de 3 mètres de leur école. [@]",
               "Les élèves qui habitent à moins de 3 km de leur école. [@]"), "fr"),
    DraftCase(_BUS, "Les chiens sont-ils admis dans les cars ?",
              ("Non, les chiens ne sont pas admis dans les cars. [@]",),
              ("Oui, les chiens sont admis dans les cars. [@]", "Les chiens sont admis dans les cars. [@]"), "fr"),
)  # fmt: skip

CASES = tuple(case._replace(title=DOCUMENTS[case.document].splitlines()[0].removeprefix("# ")) for case in CASES)
