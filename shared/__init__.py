"""What the stages share. Importing it turns off what libraries would send to others by themselves.

Every process of the platform imports it before any library that reads these variables, whichever way it was started.
"""

from shared.observability.library_telemetry import turn_off

turn_off()
