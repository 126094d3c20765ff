package main

import "strings"

var scalars = []string{
	"1", "-1", "0", "+5", "0x1F", "0o17", "017", "08", "0b101", "1_000", "1.5", ".5", "5.", "1e3", "1.5e-7", ".inf", "-.INF", ".nan", "true", "True", "yes", "No", "on", "OFF", "y", "n", "~", "null", "Null", "", "abc", "a b", "a: b",
	"'single ''q'''", "\"dq \\n \\u00e9 \\x41\"", "\"a\\\n  b\"", "2024-02-29", "2024-02-29T12:34:56Z", "12:30:45", "1:2", "#c", "a #c", "a#b", "é日本", "- x", "[1, 2]", "[]", "{}", "{a: 1, b: [x]}", "{a, b: }", "[a, [b]]", "!!str 12", "!!int \"12\"", "!!float 1", "!!bool yes", "!!null x", "!x y", "!!binary YWJj", "&A 1", "*A", "@x", "`x", "%x", "?x", "-", "?", ":", "|", ">", "12345678901234567890", "1e400", "0.1", "<<", "=",
	"-0", "0x", "1__0", "_1", "1,000", "0.", "1.2.3", "[", "{", "\"", "'", "]", "!!set {a}", "!!seq [1]", "!!map {a: 1}", "~x", "'a\n  b'",
}

var keyTexts = []string{"a", "b", "c", "\"q k\"", "'x'", "1", "true", "~", "é", "a b", "? x", "<<", "&B k", "1.5", "yes", "2024-01-01", "[x]", "10", "9", "a/b"}

// A YAML document, now and then a broken one.
func (r *maker) yaml() string {
	var b strings.Builder
	if r.Intn(10) == 0 {
		b.WriteString(pick(r, []string{"---\n", "%YAML 1.1\n---\n", "# comment\n", "--- ", "\n\n", "\ufeff", "---\n---\n"}))
	}
	r.yamlBlock(&b, 0, 0)
	if r.Intn(12) == 0 {
		b.WriteString(pick(r, []string{"...\n", "---\nx: 2\n", "\t", "# end", "  odd\n", "...\nx\n"}))
	}
	return b.String()
}

func (r *maker) yamlBlock(b *strings.Builder, indent, depth int) {
	pad := strings.Repeat(" ", indent)
	kind := r.Intn(5)
	if depth > 2 || kind == 0 {
		if depth == 0 {
			b.WriteString(pick(r, scalars) + "\n")
			return
		}
		kind = 1 + r.Intn(2)
	}
	for i := 1 + r.Intn(3); i > 0; i-- {
		if kind <= 2 {
			b.WriteString(pad + pick(r, keyTexts[:1+r.Intn(len(keyTexts))]) + ":")
		} else {
			b.WriteString(pad + "-")
		}
		r.yamlValue(b, indent, depth, kind > 2)
	}
}

func (r *maker) yamlValue(b *strings.Builder, indent, depth int, dash bool) {
	pad := strings.Repeat(" ", indent)
	switch n := r.Intn(10); {
	case n < 5 || depth > 2:
		b.WriteString(" " + pick(r, scalars) + "\n")
	case n == 5:
		b.WriteString(pick(r, []string{" |", " >", " |-", " >-", " |+", " >+", " |2", " >1"}) + "\n")
		for i := 1 + r.Intn(3); i > 0; i-- {
			b.WriteString(pad + pick(r, []string{"  text", "  more text", "   deeper", "", "  # x", "  a: b", "  trailing  "}) + "\n")
		}
	case n == 6:
		b.WriteString(pick(r, []string{" &A", " &B", " !!map", " # comment", ""}) + "\n")
		r.yamlBlock(b, indent+2, depth+1)
	case n == 7 && dash:
		b.WriteString(" a: 1\n" + pad + "  b: " + pick(r, scalars) + "\n")
	case n == 8:
		b.WriteString(pick(r, []string{" *A", " *B", " \"\\t\"", " plain\n" + pad + "  continued", " 'it''s'"}) + "\n")
	default:
		b.WriteString("\n")
		r.yamlBlock(b, indent+2, depth+1)
	}
}
