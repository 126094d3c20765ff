"""Asks both sides the same questions and sorts what differs: compare.py REAL OURS [-v N]. SEEDS and COUNT by environment."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generate  # noqa: E402
import purpose  # noqa: E402

# Expressions, templates, bodies, JSON bodies, files to format.
SHARES = (("expression", 1.0), ("template", 0.15), ("body", 0.15), ("json", 0.1), ("format", 0.1))


def ask(program, questions):
    """One answer per question, both by files: no pipe can fill up."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as asked, tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as answered:
        for question in questions:
            asked.write(json.dumps(question) + "\n")
        asked.seek(0)
        subprocess.run([program], stdin=asked, stdout=answered, stderr=subprocess.DEVNULL, check=True, timeout=900)
        answered.seek(0)
        return [json.loads(line) for line in answered.read().split("\n") if line]


def refused(answer):
    """A value that is not known can be given to nothing, so it is a refusal as well."""
    if isinstance(answer, dict):
        return "error" in answer or '"unknown":' in json.dumps(answer)
    return False


def same(ours, theirs):
    if refused(ours) or refused(theirs):
        return refused(ours) and refused(theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same(a, b) for a, b in zip(ours, theirs))
    return ours == theirs


def sort_of(question, ours, theirs):
    names = re.findall(r"\b([a-z0-9_]+)\(", question["text"]) if question["kind"] == "expression" else []
    first = names[0] if names and question["text"].startswith(names[0]) else "-"
    how = "ours refuses" if refused(ours) and not refused(theirs) else "theirs refuses" if refused(theirs) and not refused(ours) else "values"
    return "%s %s: %s" % (question["kind"], first, how)


def main():
    real, own = sys.argv[1], sys.argv[2]
    shown = int(sys.argv[sys.argv.index("-v") + 1]) if "-v" in sys.argv else 3
    count = int(os.environ.get("COUNT", "60000"))
    total, equal, purposes, others = 0, 0, collections.Counter(), collections.defaultdict(list)
    by_kind = collections.Counter()
    for seed in os.environ.get("SEEDS", "1").split():
        generator = generate.Generator(seed)
        questions = [generator.question(kind) for kind, share in SHARES for _ in range(int(count * share))]
        answers = zip(questions, ask(own, questions), ask(real, questions), strict=True)
        for question, ours, theirs in answers:
            total += 1
            by_kind[question["kind"]] += 1
            if same(ours, theirs):
                equal += 1
                continue
            reason = purpose.reason(question, ours, theirs)
            if reason:
                purposes[reason] += 1
            else:
                others[sort_of(question, ours, theirs)].append((seed, question, ours, theirs))
    left = sum(len(found) for found in others.values())
    print("%d questions (%s): %d equal, %d different on purpose, %d different" %
          (total, ", ".join("%d of kind %s" % (n, kind) for kind, n in by_kind.items()), equal, sum(purposes.values()), left))
    for reason, n in purposes.most_common():
        print("  on purpose %6d  %s" % (n, reason))
    for name, found in sorted(others.items(), key=lambda item: -len(item[1])):
        print("%6d  %s" % (len(found), name))
        for seed, question, ours, theirs in sorted(found, key=lambda f: len(f[1]["text"]))[:shown]:
            print("        seed %s: %s" % (seed, json.dumps(question["text"], ensure_ascii=False)))
            print("          ours   %s" % json.dumps(ours, ensure_ascii=False)[:400])
            print("          theirs %s" % json.dumps(theirs, ensure_ascii=False)[:400])
    sys.exit(1 if left else 0)


main()
