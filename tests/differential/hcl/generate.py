"""Random HCL: expressions, templates, bodies, JSON bodies and files to format. One seed is one exact sequence."""
import json
import random

STRINGS = ["", "a", "b", "abc", "aXbXc", "hello world", "HELLO", "é", "e\u0301", "e\u0301a\u0308", "👩‍👩‍👧", "🇩🇪🇫🇷", "日本語",
           "ß", "ǆungla", "İstanbul", "ŉ", "ﬁ", "ς", "  pad ", "\tx\n", "a\nb", "a\r\nb\r\n", "\n", "0", "1", "-1", "1.5", "1e3", "0x1F", "077",
           "true", "false", "null", "yes", "~", "%", "%d", "${x}", "$$", "a,b,c", "a b-c_d", "o'neil mc'x", "3rd one", "<a&b>", "\\", "\"",
           "\u00a0nb\u00a0", "\u2003em", "\u200bzw", "가", "\u1100\u1161", "Å", "\u212b", "Ω", "\u2126", "x" * 40, "00", "1_000", " 1", "+1", ".5", "5.",
           "-0", "Inf", "NaN", "1e-7", "\u0001", "\u007f", "\ufeff", "\u2028", "a.b", "a/b", "/x/", "foo-bar", "Foo", "ἀ", "ⅷ", "ⓐ", "k\u0301\u0323"]
NUMBERS = ["0", "1", "2", "3", "-1", "-2", "7", "10", "16", "36", "62", "63", "100", "255", "1023", "1024", "1025", "0.1", "0.2", "0.5", "1.5", "2.5", "-0.5", "-2.5",
           "3.14159", "1e3", "1E-3", "1e21", "1e-7", "1e100", "2.5e10", "9007199254740993", "9223372036854775807", "9223372036854775808",
           "18446744073709551616", "123456789012345678901234567890", "0.30000000000000004", "1e-30", "4294967296", "00", "007", "1.0", "100000000000000000000.5"]
NAMES = ["var.name", "var.text", "var.count", "var.half", "var.yes", "var.none", "var.list", "var.set", "var.tags", "var.ports", "var.mixed",
         "var.nodes", "local.x", "var.tags.env", "var.ports.http", "var.list[0]", "var.nodes[0].id", "var.nodes[1].tags", "var.ports[\"ssh\"]", "var.nodes[0].tags[1]"]
UNKNOWN = ["attr.cpu.arch", "node.unique.id", "NOMAD_PORT_http", "attr.kernel[\"name\"]", "meta.x.0", "env[\"HOME\"]"]
PATTERNS = [".*", "", "a*", "x*", "a", "[a-z]+", "^", "$", "\\b", "(a)(b)?", "(?P<n>[a-c])", "\\s+", "é?", ".", "(?i)A", "l+", "[^a]", "a|b|", "(", "[", "\\d+",
            "(?:)", "\\pL", "\\w*", "a{2}", "(.)(.)", "$^", "\\B", "(?m)^", "(?s).", "b*?", "^a*", "\\z", "(a*)*", "x{1001}", "\\C", "(?<n>a)", "\\Q.\\E", "[[:alpha:]]"]
REPLACEMENTS = ["", "x", "$1", "${1}", "$0", "$1x", "${1}x", "$n", "${n}!", "$$", "$", "${", "\\1", "-", "é", "$2$1", "$10", "$é", "$_"]
FORMATS = ["%s", "%d", "%v", "%#v", "%q", "%5s", "%-5s|", "%05d", "%+d", "% d", "%x", "%X", "%#x", "%o", "%b", "%e", "%E", "%f", "%.2f", "%8.3f", "%g", "%G", "%t", "%%", "%s %s",
           "%[2]s %[1]s", "%[1]d", "%.3s", "%10q", "%05s", "%.0f", "%.10g", "%#o", "%#b", "%+.1e", "%-8d|", "%c", "%", "%5", "%[3]s", "%!", "%5t", "%05.1f", "%+v", "a%sb%sc",
           "%.s", "%.f", "%.0s", "%20v", "%-20v|", "%020v", "%.3v", "%[0]d", "%[x]d", "%3[1]d", "%[1]3d", "%.2d", "%+g", "% f", "%+05d", "%-05d|", "%+s", "%#q", "%é", "é%d", "%.3g", "%#g", "%#f", "%#e",
           "%3.2s", "%x%X", "%  d", "%+ d", "%1$d", "%*d", "%.15g", "%.17g", "%.30f", "%+#x", "%08b"]
JSONS = ["1", "\"a\"", "null", "[1,2]", "{\"a\":1}", "{}", "[]", "{\"b\":[true,null,{\"c\":1.5}],\"a\":\"x\"}", "[1,\"a\"]", "{", "", " 1 ", "1 2", "{\"a\":1,\"a\":2}",
         "18446744073709551616", "1e400", "1.10", "-0", "0.1", "1e2", "\"\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\\ud800\"", "[1,]", "tru", "{\"a\":}", "'a'", "\"e\u0301\"", "{\"e\u0301\":1}", "[[[]]]",
         "123456789012345678901234567890", "01", "1.", ".5", "+1", "\"a\nb\"", "{\"a\":null}", "[null]", "\"\\/\"", "\"\\x\"", "{\"a\" : [ ] }", "nul", "[1]]", "[1] x", "{\"\":1}", "1e-7", "\"\t\"", "NaN"]
YAMLS = ["a: 1", "a: yes", "a: no\nb: on\nc: off", "- 1\n- two\n- 3.5", "x", "", "~", "a: {b: [1, 2]}", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", "a: 2001-12-14", "a: 2001-12-14t21:59:43.10-05:00", "a: 2001-12-14 21:59:43.10",
         "a: .5", "a: 0x1F", "a: 0o17", "a: 017", "a: 1_000", "a: +1", "a: .inf", "a: .nan", "a: -.inf", "a: 1e3", "a: 1:30", "--- 1\n--- 2", "---\na: 1\n...\n", "a: |\n  x\n  y\n", "a: >\n  x\n  y\n\n  z\n", "a: 'it''s'", "a: \"\\u00e9\\n\"",
         "a: !!str 1", "a: !!int \"3\"", "a: !!float 1", "a: !!bool yes", "a: !!null x", "a: !!binary aGk=", "a: !foo x", "a: !!timestamp 2001-12-14", "1: a", "true: a", "null: a", "? [a]\n: b", "a: *nope", "a: &a [*a]", "a: 1\na: 2", "a:\n- b\n- c", "a: b: c", "\t- a", "- - a\n  - b\n- c",
         "a: # comment\n  b", "{a: 1, b}", "[a, b: c]", "a: null", "a: Null", "a: NULL", "a: nULL", "a: y", "a: n", "a: True", "a: TRUE", "a: tRUE", "a: -0", "a: 0b11", "a: 1.", "a: 1.e3", "a: e\u0301", "'a': \"b\"", "%YAML 1.1\n---\na: 1", "%YAML 1.2\n---\na: yes", "%YAML 2.0\n---\na", "a: '1'", "a: \"yes\"", "<<: {a: 1}", "<<: [1]", "a: <<",
         "- &x 1\n- *x", "&a b: *a", "a: 0b12", "a: 09", "a: 0x", "a: _1", "a: 12e03", "a: 123456789012345678901234567890", "a: 0xFFFFFFFFFFFFFFFF", "a: 0xFFFFFFFFFFFFFFFFF", "a: -0x1", "? a\n? b", "a: |-\n  x\n\n", "a: |+\n  x\n\n", "a: |2\n   x", "@a", "`a", "a: %b", "- ,", "!!map {a: 1}", "!!seq [1]", "!!set {a, b}", "!!str", "a: ! b", "!<tag:yaml.org,2002:str> 1", "a: \"x\\\n  y\"", "\u00e9: \u65e5", "a: \u0007", "\ufeffa: 1", "a: 1 #x", "a:b", "a : b", "- a\n b", "[1, 2,]", "{a: 1,}", "[1,,2]", "a: [1\n", "\"a", "'a", "...", "---", "--- # c", "# only", "a: 2001-1-1", "a: 2001-13-01", "a: 2001-02-30", "2001-12-14: x", "a: 10:20", "a: 2001-12-14T21:59:43Z", "a: 2001-12-14t21:59:43Z", "0: a\n1: b", "1.50: a", "yes: a\nno: b", "[{a: 1}, {b: 2}]"]
CSVS = ["a,b\n1,2\n", "a,a\n1,2\n", "a\n", "", "a,b\n1\n", "a,b\n\"x,y\",\"q\"\"\"\n", "a,b\r\n1,2\r\n", "a b,c\n1,2", "a,b\n\n1,2\n", "a;b\n1;2", "\"a\nb\",c\n1,2", "a,b\nx\"y,2", "a,b\n\"x\"y,2", "a,\n1,2", ",\n,\n", "é,b\n1,2\n", "a,b\n1,2,3\n", "a,b\n \"1\",2", "a,b\n1,\"2", "\n\na\n1", "a\r1", "a,b\n1,2\r", "\ufeffa\n1", "#a\n1", "a\n\"\"\n", "a\n\" \"\n", "a\n1\n2\n3"]
TIMES = ["2026-11-22T10:00:00Z", "2026-11-22T10:00:00+01:00", "2024-02-29T23:59:59-08:00", "2023-02-29T00:00:00Z", "2026-11-22", "2026-11-22 10:00:00Z", "2026-11-22T10:00:00.123456789Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
         "2026-11-22T24:00:00Z", "2026-11-22T10:00:60Z", "2026-1-2T10:00:00Z", "x", "", "2026-11-22t10:00:00z", "2026-11-22T00:30:00Z", "2026-11-22T12:00:00Z", "2026-11-22T10:00:00+24:00", "2026-11-22T10:00:00,5Z", "2026-11-22T10:00:00+0100", "2026-11-22T1:00:00Z", "2026-11-22T10:00:00-00:00", "2026-06-05T04:03:02+05:30"]
DATES = ["YYYY-MM-DD", "YY", "Y", "YYYYY", "MMMM D, YYYY", "MMM M", "EEEE EEE", "E", "hh:mm:ss", "h:m:s aa", "HH AA", "A", "Z", "ZZ", "ZZZ", "ZZZZ", "ZZZZZ", "'quoted'", "''", "'it''s' hh", "'open", "x", "é MM", "", "DDD", "YYYY'T'hh", "'a''b'", "'''a'", "hhh", "-- / 12", "'", "YYYYMMDD", "''''", "'' ''"]
DURATIONS = ["1h", "-1h30m", "1.5h", "10s", "100ms", "1us", "1µs", "1μs", "1ns", "0", "", "1", "1d", "h", "1h 2m", "+5m", "-", "1e3s", ".5s", "1.s", "100000h", "9223372036854775807ns", "9223372036854775808ns", "-0s", "1m1m", "3000000h"]
CIDRS = ["10.0.0.0/8", "10.1.2.3/16", "192.168.1.0/24", "172.16.0.0/12", "0.0.0.0/0", "255.255.255.255/32", "::/0", "2001:db8::/32", "fe80::1/64", "10.0.0.0", "10.0.0.0/33", "010.0.0.0/8", "x/8", "::ffff:10.0.0.0/104", "10.0.0/8", "10.0.0.0/08", "1.2.3.4/31", "2001:db8::/128", "/8", "::1/129", "10.0.0.0/-1", "::ffff:1.2.3.4/128"]
BASE64 = ["aGk=", "aGk", "", "aGVsbG8gd29ybGQ=", "/+8=", "w6k=", "ZcyB", "a", "aGk=\n", "aG k=", "_-8=", "====", "aGl=", "aGk=aGk=", "YQ==\r\n", "gICA"]
TYPES = ["string", "number", "bool", "any", "list(string)", "list(number)", "set(string)", "set(number)", "map(string)", "map(number)", "list(any)", "map(any)", "set(any)", "tuple([string, number])", "object({a = string})", "object({a = string, b = number})", "list(list(string))", "map(list(any))", "list", "object", "foo", "list(foo)", "string(number)",
         "tuple([])", "object({})", "list(object({a = any}))", "set(bool)", "list(bool)", "optional(string)", "object({a = optional(string)})", "tuple([any, any])", "set(list(string))", "list(string, number)", "\"string\""]
IDENTIFIERS = ["a", "b", "x", "key", "foo-bar", "é", "_y", "for", "in", "if", "null", "true", "n1", "日本"]


def quote(text):
    out = ""
    for c in text:
        if c == '"' or c == "\\":
            out += "\\" + c
        elif c == "\n":
            out += "\\n"
        elif c == "\r":
            out += "\\r"
        elif c == "\t":
            out += "\\t"
        elif ord(c) < 32 or c in "\u007f\ufeff\u2028":
            out += "\\u%04x" % ord(c)
        else:
            out += c
    return '"' + out.replace("${", "$${").replace("%{", "%%{") + '"'


# What each function takes, one letter an argument: s text, n number, i small integer, b bool, l list, t list of texts,
# m map, a anything, others see `special`; "*" repeats the last.
SIGNATURES = {
    "abs": "n", "ceil": "n", "floor": "n", "log": "nn", "max": "n*", "min": "n*", "parseint": "pi", "pow": "ni", "signum": "n",
    "chomp": "s", "format": "fa*", "formatlist": "fL*", "indent": "is", "join": "st*", "lower": "s", "regex_replace": "srR", "replace": "sss",
    "reverse": "s", "split": "ss", "strlen": "s", "strrev": "s", "substr": "sii", "title": "s", "trim": "ss", "trimprefix": "ss", "trimspace": "s", "trimsuffix": "ss", "upper": "s",
    "chunklist": "li", "coalesce": "a*", "coalescelist": "l*", "compact": "t", "concat": "l*", "contains": "la", "distinct": "l", "element": "li", "flatten": "l", "index": "xk",
    "keys": "m", "length": "x", "lookup": "msa", "merge": "m*", "range": "i*", "setintersection": "l*", "setproduct": "l*", "setunion": "l*", "slice": "lii", "sort": "t", "values": "m", "zipmap": "tl",
    "base64decode": "B", "base64encode": "s", "csvdecode": "C", "jsondecode": "J", "jsonencode": "a", "urlencode": "s", "yamldecode": "Y", "yamlencode": "a",
    "formatdate": "DT", "timeadd": "TU", "md5": "s", "sha1": "s", "sha256": "s", "sha512": "s", "uuidv5": "us", "cidrhost": "Ni", "cidrnetmask": "N", "cidrsubnet": "Nii", "cidrsubnets": "Ni*",
    "can": "a", "convert": "ac", "try": "a*"}
FUNCTIONS = sorted(SIGNATURES)
SPECIAL = {"f": FORMATS, "r": PATTERNS, "R": REPLACEMENTS, "B": BASE64, "C": CSVS, "J": JSONS, "Y": YAMLS, "D": DATES, "T": TIMES, "U": DURATIONS, "N": CIDRS,
           "p": ["ff", "0xff", "-10", "zz", "12", "", "1_000", "ZZ", "9" * 30, "+5", "1.5", "777", " 1", "é", "0b11"], "u": ["dns", "url", "oid", "x500", "a5008fae-b28c-5ba5-96cd-82b4c53552d6", "x", "", "A5008FAE-B28C-5BA5-96CD-82B4C53552D6", "{a5008fae-b28c-5ba5-96cd-82b4c53552d6}", "urn:uuid:a5008fae-b28c-5ba5-96cd-82b4c53552d6", "a5008faeb28c5ba596cd82b4c53552d6"]}


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.locals = []

    def pick(self, items):
        return self.r.choice(items)

    def chance(self, p):
        return self.r.random() < p

    # Texts, numbers, containers
    def text(self, depth=2):
        roll = self.r.random()
        if roll < 0.70:
            return quote(self.pick(STRINGS))
        if roll < 0.78:
            return quote(self.pick(STRINGS) + self.pick(STRINGS))
        if roll < 0.85 and depth > 0:
            return '"' + self.template_text(depth - 1, False) + '"'
        if roll < 0.93:
            return self.pick(["var.name", "var.text", "var.list[0]", "var.tags.env"])
        return self.typed_any(depth - 1)

    def number(self, depth=2):
        roll = self.r.random()
        if roll < 0.6:
            return self.pick(NUMBERS)
        if roll < 0.7:
            return str(self.r.randint(-20, 2000))
        if roll < 0.85 and depth > 0:
            return "%s %s %s" % (self.number(depth - 1), self.pick("+-*/%"), self.number(depth - 1))
        if roll < 0.9:
            return "(%s)" % self.number(depth - 1)
        if roll < 0.94:
            return quote(self.pick(["1", "2.5", "x", "-3", "1e2"]))
        if roll < 0.98:
            return self.pick(["var.count", "var.half", "local.x", "strlen(\"abc\")", "length([1])", "parseint(\"7\", 10)", "log(8, 2)", "pow(2, 0.5)"])
        return self.typed_any(depth - 1)

    def integer(self, depth=2):
        if self.chance(0.7):
            return str(self.pick([0, 1, 2, 3, 4, 5, -1, -2, 8, 10, 16, 24, 36, 62, 63, 100, 255, 256]))
        return self.number(depth)

    def boolean(self, depth=2):
        roll = self.r.random()
        if roll < 0.4 or depth <= 0:
            return self.pick(["true", "false", "var.yes"])
        if roll < 0.6:
            return "%s %s %s" % (self.number(depth - 1), self.pick(["<", "<=", ">", ">=", "==", "!="]), self.number(depth - 1))
        if roll < 0.75:
            return "%s %s %s" % (self.any(depth - 1), self.pick(["==", "!="]), self.any(depth - 1))
        if roll < 0.85:
            return "%s %s %s" % (self.boolean(depth - 1), self.pick(["&&", "||"]), self.boolean(depth - 1))
        if roll < 0.92:
            return "!%s" % self.boolean(depth - 1)
        return self.pick(['"true"', '"false"', "null", "1", '"1"', '"x"'])

    def list(self, depth=2):
        roll = self.r.random()
        if roll < 0.12:
            return "[]"
        if roll < 0.25:
            return self.pick(["var.list", "var.set", "var.mixed", "var.nodes", "var.nodes[1].tags", "var.nodes[*].id", "var.none[*]", "var.list[*]"])
        if roll < 0.75:
            kind = self.pick("snab")
            return "[%s]" % ", ".join(self.of(kind, depth - 1) for _ in range(self.r.randint(0, 4)))
        if roll < 0.9 and depth > 0:
            return self.pick(["split(\",\", %s)" % self.text(0), "range(%s)" % self.integer(0), "keys(%s)" % self.map(0), "values(%s)" % self.map(0), "setunion(%s, %s)" % (self.list(0), self.list(0)),
                              "convert(%s, %s)" % (self.list(depth - 1), self.pick(TYPES)), "concat(%s, %s)" % (self.list(0), self.list(0)), "slice(%s, 0, 1)" % self.list(0), self.comprehension(depth - 1),
                              "flatten([%s, %s])" % (self.list(0), self.list(0)), "compact(%s)" % self.list(0), "distinct(%s)" % self.list(0)])
        return self.typed_any(depth - 1)

    def texts(self, depth=2):
        if self.chance(0.75):
            return "[%s]" % ", ".join(self.text(depth - 1) for _ in range(self.r.randint(0, 4)))
        return self.list(depth)

    def key(self):
        roll = self.r.random()
        if roll < 0.5:
            return self.pick(IDENTIFIERS)
        if roll < 0.8:
            return quote(self.pick(STRINGS))
        if roll < 0.9:
            return "(%s)" % self.any(1)
        return self.pick(["1", "1.5", "var.name", "true", "null", "\"${var.name}\""])

    def map(self, depth=2):
        roll = self.r.random()
        if roll < 0.12:
            return "{}"
        if roll < 0.25:
            return self.pick(["var.tags", "var.ports", "var.nodes[0]"])
        if roll < 0.85:
            kind = self.pick("snal")
            items = ["%s %s %s" % (self.key(), self.pick("=:"), self.of(kind, depth - 1)) for _ in range(self.r.randint(0, 3))]
            return "{%s}" % (self.pick([", ", ", ", "\n"]).join(items))
        if roll < 0.92 and depth > 0:
            return self.pick(["merge(%s, %s)" % (self.map(0), self.map(0)), "zipmap(%s, %s)" % (self.texts(0), self.list(0)), "convert(%s, %s)" % (self.map(depth - 1), self.pick(TYPES)), self.object_for(depth - 1)])
        return self.typed_any(depth - 1)

    def of(self, kind, depth):
        return {"s": self.text, "n": self.number, "b": self.boolean, "l": self.list, "m": self.map, "a": self.any}[kind](max(depth, 0))

    def typed_any(self, depth):
        return self.any(depth)

    # Anything
    def any(self, depth=2):
        if depth <= 0:
            roll = self.r.random()
            if roll < 0.3:
                return quote(self.pick(STRINGS))
            if roll < 0.55:
                return self.pick(NUMBERS)
            if roll < 0.62:
                return "null"
            if roll < 0.7:
                return self.pick(["true", "false"])
            if roll < 0.75:
                return self.pick(["[]", "{}"])
            if roll < 0.78:
                return self.pick(UNKNOWN)
            if self.locals and roll < 0.88:
                return self.pick(self.locals)
            return self.pick(NAMES)
        roll = self.r.random()
        if roll < 0.18:
            return self.any(0)
        if roll < 0.42:
            return self.call(depth)
        if roll < 0.50:
            return self.number(depth)
        if roll < 0.57:
            return self.boolean(depth)
        if roll < 0.64:
            return self.list(depth)
        if roll < 0.71:
            return self.map(depth)
        if roll < 0.76:
            return self.text(depth)
        if roll < 0.81:
            return "%s ? %s : %s" % (self.boolean(depth - 1), self.any(depth - 1), self.any(depth - 1))
        if roll < 0.85:
            return self.comprehension(depth - 1)
        if roll < 0.88:
            return self.object_for(depth - 1)
        if roll < 0.93:
            return self.step(depth)
        if roll < 0.96:
            return "%s %s %s" % (self.any(depth - 1), self.pick(["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||"]), self.any(depth - 1))
        if roll < 0.98:
            return self.pick(["-", "!"]) + self.any(depth - 1)
        return "(%s)" % self.any(depth - 1)

    def step(self, depth):
        base = self.pick([self.pick(NAMES), "(%s)" % self.any(depth - 1), self.list(depth - 1), self.map(depth - 1)])
        return base + self.pick(["[0]", "[1]", "[-1]", "[\"a\"]", ".a", ".x", ".0", ".0.1", "[*]", ".*", "[*].id", ".*.id", "[*].tags[0]", ".*.tags[0]", "[*].tags[*]", ".*.tags.0", "[%s]" % self.any(0), "[*].a.b", ".id", "[0].id", ".env", "[*][0]", ".*[0]", ".1", "[1.5]", "[null]", "[\"0\"]"])

    def loop(self):
        names = self.pick([["v"], ["k", "v"], ["i", "x"], ["v", "v"]])
        return names

    def comprehension(self, depth):
        names = self.loop()
        source = self.pick([self.list, self.map, self.any])(max(depth, 0))
        self.locals += names
        value = self.any(max(depth, 0))
        condition = " if %s" % self.boolean(max(depth, 0)) if self.chance(0.3) else ""
        del self.locals[-len(names):]
        return "[for %s in %s : %s%s]" % (", ".join(names), source, value, condition)

    def object_for(self, depth):
        names = self.loop()
        source = self.pick([self.list, self.map])(max(depth, 0))
        self.locals += names
        key = self.pick([self.pick(names), "\"k${%s}\"" % names[0], self.any(0)])
        value = self.any(max(depth, 0))
        group = self.pick(["", "", "..."])
        condition = " if %s" % self.boolean(max(depth, 0)) if self.chance(0.3) else ""
        del self.locals[-len(names):]
        return "{for %s in %s : %s => %s%s%s}" % (", ".join(names), source, key, value, group, condition)

    def argument(self, kind, depth):
        if self.chance(0.08):
            return self.any(depth)
        if kind in SPECIAL:
            values = SPECIAL[kind]
            if kind == "Y" and self.chance(0.4):
                return quote(self.yaml(2))
            if kind == "J" and self.chance(0.3):
                return quote(json.dumps(self.json_value(2), ensure_ascii=self.chance(0.5)))
            if kind == "f" and self.chance(0.3):
                return quote("".join(self.pick(FORMATS + STRINGS) for _ in range(2)))
            if kind == "r" and self.chance(0.3):
                return quote("".join(self.pick(PATTERNS) for _ in range(2)))
            return quote(self.pick(values))
        if kind == "i":
            return self.integer(depth)
        if kind == "t":
            return self.texts(depth)
        if kind == "L":
            return self.pick([self.list, self.any])(depth)
        if kind == "x":
            return self.pick([self.list, self.map])(depth)
        if kind == "k":
            return self.pick([self.integer, self.text])(depth)
        if kind == "c":
            return self.pick(TYPES)
        return self.of(kind, depth)

    def call(self, depth, name=None):
        name = name or self.pick(FUNCTIONS)
        letters = SIGNATURES[name]
        kinds = list(letters.rstrip("*"))
        if letters.endswith("*"):
            kinds = kinds[:-1] + [kinds[-1]] * self.r.randint(0, 3)
        if self.chance(0.02):
            kinds = kinds[:-1] if self.chance(0.5) else kinds + ["a"]
        arguments = [self.argument(kind, depth - 1) for kind in kinds]
        if self.chance(0.04) and arguments:
            arguments[-1] = self.list(depth - 1) + "..."
        return "%s(%s)" % (name, ", ".join(arguments))

    # YAML and JSON
    def scalar(self):
        return self.pick(["1", "x", "yes", "no", "~", "null", "'q'", "\"d\"", "1.5", "2001-01-01", "é", "0x10", "true", ".5", "1e3", "a b", "0", "-1", "on", "*x", "!!str 5", "\"1\"", ""])

    def yaml(self, depth, indent=0):
        if depth == 0 or self.chance(0.3):
            return self.pick(["", "", "&x "]) + self.scalar() if self.chance(0.2) else self.scalar()
        pad = " " * indent
        roll = self.r.random()
        if roll < 0.3:
            return self.pick(["[%s]", "[ %s ]"]) % ", ".join(self.scalar() for _ in range(self.r.randint(0, 3)))
        if roll < 0.5:
            return "{%s}" % ", ".join("%s: %s" % (self.pick(["a", "b", "1", "yes"]), self.scalar()) for _ in range(self.r.randint(0, 3)))
        if roll < 0.75:
            out = ""
            for _ in range(self.r.randint(1, 3)):
                child = self.yaml(depth - 1, indent + 2)
                out += "\n" + pad + "- " + child.lstrip("\n ") if "\n" not in child else "\n" + pad + "-" + child
            return out if indent else out[1:]
        out = ""
        for i in range(self.r.randint(1, 3)):
            child = self.yaml(depth - 1, indent + 2)
            out += "\n" + pad + self.pick(["a", "b", "c", "d e", "1", "<<", "'q'"]) + ":" + ("" if child.startswith("\n") else " ") + child
        return out if indent else out[1:]

    def json_value(self, depth):
        roll = self.r.random()
        if depth == 0 or roll < 0.4:
            return self.pick([1, 0, -1, 1.5, "a", "", "é", "e\u0301", "${var.name}", "x ${var.count + 1}", "%{ if true }a%{ endif }", "$${x}", None, True, False, 10**20, "👩‍👩‍👧", "${var.list}", "${", "a\nb", "<&>", 1e300, "${attr.x}", "${ [1] }"])
        if roll < 0.7:
            return [self.json_value(depth - 1) for _ in range(self.r.randint(0, 3))]
        return {self.pick(["a", "b", "c", "${var.name}", "é", "//"]): self.json_value(depth - 1) for _ in range(self.r.randint(0, 3))}

    # Templates
    def literal(self, multiline):
        parts = ["a", " ", "é", "text ", "$", "%", "$$", "%%", "$${x}", "%%{x}", "{", "}", "e\u0301", "👩‍👩‍👧", "~", "'"]
        if multiline:
            parts += ["\n", "\n  ", "\n\t", "\n\u2003", "\n\u00a0 ", "\"", "\\n", "\n    x", "\n\n"]
        else:
            parts += ["\\n", "\\t", "\\\"", "\\\\", "\\u00e9", "\\U0001F600", "\\u0301", "\\x", "\\u12"] if self.chance(0.9) else ["\\"]
        return "".join(self.pick(parts) for _ in range(self.r.randint(0, 3)))

    def sequence(self, body):
        return self.pick(["%s{%s}", "%s{ %s }", "%s{~ %s ~}", "%s{ %s ~}", "%s{~%s }"]) % body

    def template_text(self, depth, multiline):
        out = ""
        for _ in range(self.r.randint(1, 3)):
            out += self.literal(multiline)
            roll = self.r.random()
            if roll < 0.5:
                out += self.sequence(("$", self.any(depth)))
            elif roll < 0.62 and depth >= 0:
                out += self.sequence(("%", "if " + self.boolean(max(depth, 0)))) + self.template_text(depth - 1, multiline)
                if self.chance(0.4):
                    out += self.sequence(("%", "else")) + self.template_text(depth - 1, multiline)
                out += self.sequence(("%", "endif"))
            elif roll < 0.74 and depth >= 0:
                names = self.loop()
                source = self.pick([self.list, self.map])(max(depth, 0))
                self.locals += names
                inner = self.template_text(depth - 1, multiline)
                del self.locals[-len(names):]
                out += self.sequence(("%", "for %s in %s" % (", ".join(names), source))) + inner + self.sequence(("%", "endfor"))
            out += self.literal(multiline)
        return out

    def heredoc(self, depth):
        marker = self.pick(["EOT", "EOF", "é", "X-1", "_a"])
        text = self.template_text(depth, True)
        end = self.pick(["", "", "", "  ", "\t"]) + marker
        return "%s%s\n%s\n%s\n" % (self.pick(["<<", "<<-", "<<-"]), marker, text, end)

    # Bodies
    def comment(self):
        return self.pick(["# c", "// c", "/* c */", "/* a\n b */", "#", "# é"])

    def body(self, depth, indent=""):
        out = ""
        for _ in range(self.r.randint(0, 4)):
            roll = self.r.random()
            if roll < 0.1:
                out += indent + self.comment() + "\n"
            elif roll < 0.15:
                out += "\n"
            elif roll < 0.65:
                name = self.pick(IDENTIFIERS + ["count", "image", "name"])
                pad = self.pick([" = ", " = ", " = ", "=", "   =  ", " =\n", ": "] if self.chance(0.2) else [" = "])
                value = self.heredoc(1) if self.chance(0.2) else self.any(1) + self.pick(["", "", "", " # end", " /* c */", " // é"]) + "\n"
                out += indent + name + pad + value
            else:
                labels = "".join(" " + self.pick(["\"a\"", "b", "\"é\"", "\"a b\"", "\"x\\ty\"", "\"${x}\"", "\"$${x}\""] if self.chance(0.3) else ["\"a\"", "b"]) for _ in range(self.r.randint(0, 2)))
                name = self.pick(["job", "group", "task", "config", "é", "foo-bar"])
                if depth == 0 or self.chance(0.3):
                    inner = self.pick(["{}", "{ }", "{ a = 1 }", "{ a = 1\n}", "{ b {} }", "{\n}", "{ a = 1, b = 2 }", "{ b { c = 1 } }", "{ # c\n}", "{ a = [\n1] }", "{ a = 1 b = 2 }", "{ a = 1 /* c */ }", "{ a = 1 # c\n}", "{ /* c */ }", "{ a = <<X\n1\nX\n}"])
                    out += indent + name + labels + " " + inner + self.pick(["\n", "\n", "\n", " # c\n", " x\n"])
                else:
                    out += indent + name + labels + " {" + self.pick(["\n", "\n", " # c\n"]) + self.body(depth - 1, indent + self.pick(["  ", "  ", "\t", "    "])) + indent + "}\n"
        return out

    def chain(self):
        kind = self.pick(["number", "text", "bool"])
        count = self.pick([50, 120, 250, 300])
        if kind == "number":
            return self.pick([" + ", " - ", " * "]).join(self.pick(["1", "2", "3"]) for _ in range(count))
        if kind == "bool":
            return self.pick([" && ", " || "]).join(self.pick(["true", "false"]) for _ in range(count))
        return " == ".join("1" for _ in range(2)) + "".join(" || %d > 3" % i for i in range(count))

    def expression(self):
        roll = self.r.random()
        if roll < 0.55:
            return self.call(2)
        if roll < 0.97:
            return self.any(3)
        if roll < 0.99:
            return self.heredoc(2)
        return self.chain() if self.chance(0.1) else self.call(3)

    # Questions
    def question(self, kind):
        self.locals = []
        if kind == "expression":
            return {"kind": kind, "text": self.expression()}
        if kind == "template":
            return {"kind": kind, "text": self.template_text(2, True)}
        if kind == "json":
            value = {self.pick(["a", "b", "c", "é"]): self.json_value(2) for _ in range(self.r.randint(0, 3))}
            text = json.dumps(value, ensure_ascii=self.chance(0.5), indent=self.pick([None, 1]))
            if self.chance(0.1):
                at = self.r.randrange(len(text))
                text = text[:at] + self.pick(["", ",", "}", "\"", "x", " "]) + text[at + 1:]
            return {"kind": kind, "text": text}
        text = self.body(2)
        if kind == "format" and self.chance(0.7):
            text = self.squeezed(text)
        return {"kind": kind, "text": text}

    def squeezed(self, text):
        """Blanks moved about, where they do not matter."""
        lines = []
        for line in text.split("\n"):
            if self.chance(0.3):
                line = line.lstrip()
            if self.chance(0.3):
                line = " " * self.r.randint(0, 5) + line
            if self.chance(0.3):
                line = line.replace(" = ", self.pick(["=", "  =  ", " =", "= "]))
            lines.append(line)
        return "\n".join(lines)
