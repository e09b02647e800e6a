"""Where the embedded stores of a tenant are."""

from __future__ import annotations

from pathlib import Path

from shared.contracts.tenants import DEFAULT_TENANT
from shared.runtime.settings import Settings


def tenant_folder(settings: Settings, tenant: str) -> Path:
    """The folder of a tenant's stores; that of the default tenant is as it was before there were others."""
    folder = settings.data_dir / "retrieval"
    return folder if tenant == DEFAULT_TENANT else folder / "tenants" / tenant
