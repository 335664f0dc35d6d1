"""Can this machine keep a loop on time: what its kernel, processors, memory and buses allow, each tried rather than guessed."""

__all__ = ()
