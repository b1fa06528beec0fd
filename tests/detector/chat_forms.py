"""One dialogue in every form of chat that models' APIs write."""

from __future__ import annotations

import json
from typing import Any

SYSTEM, WISH, WAIT = "You sell lamps.", "Please cancel order W4471.", "One moment."
ERROR, CLAIM = "Error: the order has been delivered", "Your order W4471 has been cancelled."
ARGS = {"order": "W4471"}
TEXT_ARGS = json.dumps(ARGS)
FUNCTION = {"name": "cancel_order", "arguments": TEXT_ARGS}
NATIVE = {"name": "cancel_order", "args": ARGS}


def text(kind: str, words: str) -> dict[str, Any]:
    return {"type": kind, "text": words}


def openai(result: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": FUNCTION}
    return {"messages": [
        {"role": "system", "content": SYSTEM}, {"role": "user", "content": WISH},
        {"role": "assistant", "content": WAIT, "tool_calls": [call]}, result,
        {"role": "assistant", "content": [text("text", CLAIM)]}]}  # fmt: skip


FORMS: dict[str, dict[str, Any]] = {
    "openai": openai({"role": "tool", "tool_call_id": "c1", "content": ERROR}),
    "openai, parts": openai({"role": "tool", "tool_call_id": "c1", "content": [text("text", ERROR)]}),
    "anthropic": {"system": SYSTEM, "messages": [
        {"role": "user", "content": WISH},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"}, text("text", WAIT),
            {"type": "tool_use", "id": "c1", "name": "cancel_order", "input": ARGS}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": ERROR, "is_error": True}]},
        {"role": "assistant", "content": [text("text", CLAIM)]}]},
    "anthropic, parts": {"system": [text("text", SYSTEM)], "messages": [
        {"role": "user", "content": [text("text", WISH)]},
        {"role": "assistant", "content": [
            text("text", WAIT), {"type": "server_tool_use", "id": "c1", "name": "cancel_order", "input": ARGS},
            {"type": "mcp_tool_result", "tool_use_id": "c1", "content": [text("text", ERROR)]},
            text("text", CLAIM)]}]},
    "bedrock": {"system": [{"text": SYSTEM}], "messages": [
        {"role": "user", "content": [{"text": WISH}]},
        {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": WAIT},
            {"toolUse": {"toolUseId": "c1", "name": "cancel_order", "input": ARGS}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "c1", "content": [{"text": ERROR}], "status": "error"}}]},
        {"role": "assistant", "content": [{"text": CLAIM}]}]},
    "gemini": {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": [
        {"role": "user", "parts": [{"text": WISH}]},
        {"role": "model", "parts": [
            {"text": "Hm.", "thought": True}, {"text": WAIT},
            {"functionCall": {"id": "c1", **NATIVE}, "thoughtSignature": "x"}]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "cancel_order", "response": {"error": ERROR}}}]},
        {"role": "model", "parts": [{"text": CLAIM}]}]},
    "gemini, snake case": {"system_instruction": {"parts": [{"text": SYSTEM}]}, "contents": [
        {"parts": [{"text": WISH}]},
        {"role": "model", "parts": [{"text": WAIT}, {"function_call": {"id": "c1", **NATIVE}}]},
        {"role": "function", "parts": [
            {"function_response": {"id": "c1", "name": "cancel_order", "response": {"output": ERROR}}}]},
        {"role": "model", "parts": [{"text": CLAIM}]}]},
    "responses": {"instructions": SYSTEM, "items": [
        {"type": "message", "role": "user", "content": [text("input_text", WISH)]},
        {"type": "reasoning", "id": "r1", "summary": [text("summary_text", "Hm.")]},
        {"type": "message", "role": "assistant", "content": [text("output_text", WAIT)]},
        {"type": "function_call", "id": "f1", "call_id": "c1", **FUNCTION},
        {"type": "function_call_output", "id": "o1", "call_id": "c1", "output": ERROR},
        {"type": "message", "role": "assistant", "content": [text("output_text", CLAIM)]}]},
    "responses, a call": {"object": "response", "instructions": SYSTEM, "input": WISH, "output": [
        {"type": "message", "role": "assistant", "content": [text("output_text", WAIT)]},
        {"type": "mcp_call", "id": "c1", **FUNCTION, "output": ERROR},
        {"type": "message", "role": "assistant", "content": [text("output_text", CLAIM)]}]},
    "responses, input and output": {
        "input": [
            {"role": "developer", "content": SYSTEM}, {"role": "user", "content": WISH},
            {"role": "assistant", "content": WAIT},
            {"type": "custom_tool_call", "call_id": "c1", "name": "cancel_order", "input": TEXT_ARGS}],
        "output": [
            {"type": "custom_tool_call_output", "call_id": "c1", "output": [text("input_text", ERROR)]},
            {"role": "assistant", "content": CLAIM}]},
    "ai sdk": {"messages": [
        {"role": "system", "content": SYSTEM}, {"role": "user", "content": [text("text", WISH)]},
        {"role": "assistant", "content": [
            text("reasoning", "Hm."), text("text", WAIT),
            {"type": "tool-call", "toolCallId": "c1", "toolName": "cancel_order", "input": ARGS}]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "output": {"type": "error-text", "value": ERROR}}]},
        {"role": "assistant", "content": CLAIM}]},
    "langchain": {"messages": [
        {"type": "system", "content": SYSTEM}, {"type": "human", "content": WISH},
        {"type": "ai", "content": WAIT, "tool_calls": [{"id": "c1", **NATIVE}]},
        {"type": "tool", "tool_call_id": "c1", "content": ERROR}, {"type": "ai", "content": CLAIM}]},
}  # fmt: skip
