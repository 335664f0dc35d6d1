"""Chunk in, motion out."""

from onbeat.policy.module import Module, Reading
from onbeat.policy.rig import Rig, load_rig
from onbeat.policy.runner import Decision, Policy, Runner
from onbeat.policy.threads import Drive, Step

__all__ = ("Decision", "Drive", "Module", "Policy", "Reading", "Rig", "Runner", "Step", "load_rig")
