"""Who owns questions and conversations: the API key that asked and the user it asked for, or the user of a token."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from services.gateway.auth import Asker
from services.gateway.handler import Owner
from services.gateway.state import CurrentGateway
from shared.contracts.pseudonyms import asker_id

User = Annotated[
    str, Query(max_length=2000, description="The `client.user` of the question, where it was asked for a user.")
]


async def owner_of_request(gateway: CurrentGateway, caller: Asker, user: User = "") -> Owner:
    """The asker whose questions this request may concern; None for operators, who may read all."""
    if caller.role == "operator":
        return None
    return asker_id(gateway.context.settings.tenant, caller.name, caller.user_or(user))


#: The parameter by which a route gets the owner.
OwnerOfRequest = Annotated[Owner, Depends(owner_of_request)]
