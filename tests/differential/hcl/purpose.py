"""What differs on purpose: docs/reference/compatibility.md has the same list (tests/conformance/differences.md)."""
import json
import re


def refused(answer):
    return "error" in answer or '"unknown":' in json.dumps(answer)


def error(answer):
    return answer.get("error", "")


def reason(question, ours, theirs):
    text, kind = question["text"], question["kind"]
    own, real = json.dumps(ours), json.dumps(theirs)
    # It may be within a body, a list or can(): the whole question is set aside then.
    if "Inf" in real or "finite" in own or "division by zero" in own or re.search(r"\.(inf|Inf|INF)\b", text):
        return "an infinite number: refused"
    if re.search(r'"[+-]?(Inf|inf)', text):
        return "an infinite number: refused"
    if "has become too" in own or "out of bounds" in own:
        return "a number beyond 2^8192: refused"
    if kind == "json" and refused(ours) and "error" in real:
        return "a broken template in a string of JSON: told when the file is read"
    if "extra data" in own and not refused(theirs):
        return "jsondecode: text behind the JSON is refused"
    if not refused(ours) and "Inconsistent conditional result types" in real:
        return "?: whose other result is in error or null: its type is not asked for"
    if " if " in text and "for " in text and not refused(ours) and refused(theirs) and re.search(r"Invalid operand|Unsuitable|Invalid function|Unsupported|Invalid index|Null value", error(theirs)):
        return "a condition of `for` that no element reaches: not judged"
    if "?" in text and ("null" in text or "var.none" in text or "no common type" in own):
        return "?: whose other result is in error or null: its type is not asked for"
    if " if " in text and "for " in text and "Operation failed" in real and not refused(ours):
        return "a condition of `for` that no element reaches: not judged"
    if "yamldecode" in text and "! " in text:
        return "yamldecode: a lone ! is a text"
    if "[*]" in text and "does not have any indices" in real:
        return "a splat over nothing: what would be done with its elements is not judged"
    if " if " in text and "for " in text and not refused(ours) and ("Invalid 'for' condition" in real or "Condition is null" in real):
        return "a condition of `for` that no element reaches: not judged"
    if "is ambiguous as a key" in own:
        return "a key such as a.b: told when the file is read"
    if " if " in text and "for " in text and not refused(ours) and refused(theirs):
        return "a condition of `for` that no element reaches: not judged"
    if re.search(r"\[\*\]|\.\*", text) and re.search("does not have an", real) and not refused(ours):
        return "a splat over nothing: what would be done with its elements is not judged"
    if "?" in text and not refused(ours) and not refused(theirs):
        return "?: whose other result is in error or null: its type is not asked for"
    if re.search(r"\bpow\(", text) and not refused(ours) and not refused(theirs):
        return "pow: the last digits of a fractional exponent; can() of an infinite one"
    if re.search(r"[$%][ \t\n]+[$%]\{~", text) and not refused(ours) and not refused(theirs):
        return "blanks behind a lone $ or % before a trimming sequence: all are trimmed"
    if "convert(" in text and ("null" in text or "var.none" in text):
        return "a null has no type"
    if "jsondecode" in text and "ud8" in text:
        return "jsondecode: half of a surrogate pair is refused"
    if "(?<n>" in text:
        return "regex_replace: (?<name>) is newer than the Go of 1.6.5"
    if "cidr" in text and ("::ffff:" in text or "/0\"" in text):
        return "cidr functions: addresses of IPv4 within IPv6, and ::/0, are counted as what they are"
    if re.search(r"cidrsubnets?\(", text) and "more bits" in own:
        return "cidrsubnet: fewer than 0 more bits are refused"
    if "four digits" in own:
        return "timeadd beyond the year 9999: refused"
    return None
