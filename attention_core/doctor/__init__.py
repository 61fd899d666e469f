"""What is wrong with an attention call: diagnose() gives the name of the fault, the offending cells and the fix."""

from attention_core.doctor.diagnosis import diagnose
from attention_core.doctor.messages import CODES, MESSAGES, Message, fill
from attention_core.doctor.recordings import CallMask, RecordingReport, diagnose_recording
from attention_core.doctor.report import Check, Finding, Report

__all__ = [
    "CODES", "CallMask", "Check", "Finding", "MESSAGES", "Message", "RecordingReport", "Report", "diagnose",
    "diagnose_recording", "fill",
]  # fmt: skip
