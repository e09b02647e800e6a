"""The platforms; the library of each is imported where a channel of it is opened (extra `channels`)."""
