"""In which partition of the log a question is: a function of its id and of the number of partitions alone.

Jump consistent hash (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014, arXiv:1406.2294) of
the id's low 64 bits, which are random (the high ones of a uuid7 are the time). When the number grows, a key stays where
it is or moves to a newest partition. So the partitions where a question can be that was asked while there were fewer
are a short chain that ends at 1, and nothing has to be remembered to find it.
"""

from __future__ import annotations

#: Constants of the paper: those of a linear congruential generator, and 2 to the 31st.
_FACTOR = 2862933555777941757
_MASK = 2**64 - 1
_SCALE = float(1 << 31)


def partition_of(correlation_id: str, partitions: int) -> int:
    """The partition, from 1, of a question that is asked while there are so many."""
    return places_of(correlation_id, partitions)[0]


def places_of(correlation_id: str, partitions: int) -> tuple[int, ...]:
    """Where a question can be: first where it is asked now, then where it was asked while there were fewer partitions.

    The last one is always 1; of n partitions there are 1 + 1/2 + ... + 1/n places on average.
    """
    if partitions == 1:
        return (1,)
    key = int(correlation_id[-16:], 16)
    places = []
    bucket, jump = -1, 0
    while jump < partitions:
        bucket = jump
        places.append(bucket + 1)
        key = (key * _FACTOR + 1) & _MASK
        jump = int((bucket + 1) * (_SCALE / ((key >> 33) + 1)))
    return tuple(reversed(places))
