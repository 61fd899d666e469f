"""What is wrong with an attention call: diagnose() gives the name of the fault, the offending cells and the fix."""

from attention_core.doctor.diagnosis import diagnose
from attention_core.doctor.messages import CODES, MESSAGES, Message, fill
from attention_core.doctor.report import Check, Finding, Report

__all__ = ["CODES", "Check", "Finding", "MESSAGES", "Message", "Report", "diagnose", "fill"]
