package main

import (
	"fmt"
	"strings"
)

// The data of whole templates.
func (r *maker) data() map[string]any {
	return map[string]any{
		"a": pick(r, []any{1, "x", "", nil, true, 2.5}), "b": pick(r, []any{0, "y z", []any{}, map[string]any{}}), "s": strings.ToValidUTF8(pick(r, texts), "?"), "n": r.Intn(5), "f": 1.5, "t": true, "z": nil,
		"l": pick(r, []any{[]any{}, []any{1, 2, 3}, []any{"a", "b"}, []any{nil, "", 0}, []any{[]any{1}, []any{2, 3}}}),
		"m": pick(r, []any{map[string]any{}, map[string]any{"x": 1, "y": "two"}, map[string]any{"x": map[string]any{"y": map[string]any{"z": "deep"}}, "k": nil}}),
		"u": []any{map[string]any{"name": "ann", "age": 7}, map[string]any{"name": "bob"}},
	}
}

func (r *maker) whole() Case {
	sets := []string{"go", "overlay", "job"}
	set := sets[r.Intn(3)]
	r.set = set
	w := &wholeMaker{maker: r}
	text := w.body(0)
	if r.Intn(6) == 0 {
		text = w.breakIt(text)
	}
	// What is no UTF-8 would not come through JSON; as an escape it does. And consul-template wants some text.
	text = strings.ToValidUTF8(text, "?")
	if text == "" {
		text = "."
	}
	c := Case{Set: set, Text: text, Class: "whole:" + set}
	if set != "job" {
		c.Data = r.data()
	}
	if r.Intn(8) == 0 {
		c.Missing = "error"
	}
	return c
}

type wholeMaker struct {
	*maker
	names   []string // variables in scope
	defined int
	loops   int
}

func (w *wholeMaker) body(depth int) string {
	var b strings.Builder
	for i := 1 + w.Intn(4); i > 0; i-- {
		b.WriteString(w.piece(depth))
	}
	return b.String()
}

func (w *wholeMaker) action(inside string) string {
	left, right := "{{", "}}"
	if w.Intn(4) == 0 {
		left = "{{- "
	} else if w.Intn(2) == 0 {
		left = "{{ "
	}
	if w.Intn(4) == 0 {
		right = " -}}"
	} else if w.Intn(2) == 0 {
		right = " }}"
	}
	return left + inside + right
}

func (w *wholeMaker) literal() string {
	return pick(w.maker, []string{"", " ", "\n", "text", " a b ", "\n\n  x\n", "\t", "{", "}", "{ {", "é", "-", "a}}b", " \u00a0", "#"})
}

func (w *wholeMaker) piece(depth int) string {
	if depth > 3 {
		return w.literal() + w.action(w.pipeline(0))
	}
	switch w.Intn(16) {
	case 0, 1:
		return w.literal()
	case 2, 3, 4, 5:
		return w.literal() + w.action(w.pipeline(0)) + w.literal()
	case 6, 7:
		return w.branch("if", depth)
	case 8:
		return w.branch("with", depth)
	case 9, 10:
		return w.loop(depth)
	case 11:
		name := fmt.Sprintf("$v%d", w.Intn(3))
		w.names = append(w.names, name)
		return w.action(name + " := " + w.pipeline(0))
	case 12:
		if len(w.names) > 0 {
			return w.action(pick(w.maker, w.names) + " = " + w.pipeline(0))
		}
		return w.action("/* comment */")
	case 13:
		w.defined++
		name := fmt.Sprintf("\"t%d\"", w.defined%3)
		if depth > 0 && w.Intn(3) > 0 {
			return w.action("template " + name + pick(w.maker, []string{"", " .", " .m", " 1"}))
		}
		if w.Intn(2) == 0 {
			return w.action("block "+name+" "+w.operand(0)) + w.scoped(depth) + w.action("end")
		}
		return w.action("define "+name) + w.scoped(depth) + w.action("end") + w.action("template "+name+pick(w.maker, []string{"", " .", " .m", " $"}))
	case 14:
		if w.loops > 0 {
			return w.action(pick(w.maker, []string{"break", "continue"}))
		}
		return w.action(pick(w.maker, []string{"/* c */", "break", `"}}"`, "`raw\n`", "'x'", "nil", "$", "."}))
	default:
		return w.literal() + w.action(w.pipeline(0))
	}
}

// A body whose variables end with it.
func (w *wholeMaker) scoped(depth int) string {
	kept := w.names
	defer func() { w.names = kept }()
	return w.body(depth + 1)
}

func (w *wholeMaker) branch(word string, depth int) string {
	head := word + " "
	kept := w.names
	defer func() { w.names = kept }()
	if w.Intn(4) == 0 {
		head += "$c := "
		w.names = append(append([]string{}, w.names...), "$c")
	}
	out := w.action(head+w.pipeline(0)) + w.scoped(depth)
	for w.Intn(4) == 0 {
		out += w.action("else "+word+" "+w.pipeline(0)) + w.scoped(depth)
	}
	if w.Intn(2) == 0 {
		out += w.action("else") + w.scoped(depth)
	}
	return out + w.action("end")
}

func (w *wholeMaker) loop(depth int) string {
	over := pick(w.maker, []string{".l", ".m", ".u", ".n", ".z", ".s", ".b", "$.l", "3", "$.m", w.operand(0)})
	if w.set == "job" {
		over = w.list()
	}
	kept := w.names
	defer func() { w.names = kept }()
	head := "range "
	switch w.Intn(4) {
	case 0:
		head += "$e := "
		w.names = append(append([]string{}, w.names...), "$e")
	case 1:
		head += "$i, $e := "
		w.names = append(append([]string{}, w.names...), "$i", "$e")
	}
	w.loops++
	out := w.action(head+over) + w.scoped(depth)
	w.loops--
	if w.Intn(3) == 0 {
		out += w.action("else") + w.scoped(depth)
	}
	return out + w.action("end")
}

func (w *wholeMaker) pipeline(depth int) string {
	switch w.Intn(5) {
	case 0:
		return w.command(depth) + " | " + w.tail()
	case 1:
		return w.operand(depth) + " | " + w.tail() + " | " + w.tail()
	default:
		return w.command(depth)
	}
}

func (w *wholeMaker) tail() string {
	return pick(w.maker, []string{"print", "printf \"%v\"", "printf \"%q\"", "len", "html", "js", "not", "println", "eq 1", "or 0", "and 1", "urlquery", "printf \"%5.2f|\"", "printf \"%T\"", "index .l", "printf"})
}

func (w *wholeMaker) command(depth int) string {
	if w.Intn(3) > 0 {
		return w.operand(depth)
	}
	f := pick(w.maker, goList)
	if w.set == "go" && f.name != "call" {
		var b strings.Builder
		b.WriteString(f.name)
		for i := 1 + w.Intn(3); i > 0; i-- {
			b.WriteString(" " + w.operand(depth+1))
		}
		return b.String()
	}
	if w.set == "job" {
		f = pick(w.maker, consulList)
	} else if w.set == "overlay" {
		f = pick(w.maker, sprigList)
	}
	return w.call(f)
}

func (w *wholeMaker) operand(depth int) string {
	if depth < 2 && w.Intn(6) == 0 {
		return "(" + w.command(depth+1) + ")"
	}
	if len(w.names) > 0 && w.Intn(3) == 0 {
		return pick(w.maker, w.names) + pick(w.maker, []string{"", "", "", ".x", ".name"})
	}
	fields := []string{".", "$", ".a", ".b", ".s", ".n", ".f", ".t", ".z", ".l", ".m", ".u", ".m.x", ".m.x.y.z", ".missing", ".missing.more", "$.a", ".name", ".a.b", "(.m).x", "(index .u 0).name", ".n.x", "$.m.y"}
	if w.set != "job" && w.Intn(2) == 0 {
		return pick(w.maker, fields)
	}
	return pick(w.maker, []string{"1", "0", "-3", "1.5", `"x"`, `""`, "true", "false", "nil", "'a'", "1e3", "0x1F", "1i", "`raw`", `"a\tb"`, "$", ".", "99999999999999999999", "1.0", "\"\\u00e9\"", "'\\n'", "1_0", "\"\\q\"", "08"})
}

// A character is lost, doubled or changed.
func (w *wholeMaker) breakIt(text string) string {
	if len(text) < 4 {
		return text
	}
	at := w.Intn(len(text) - 1)
	switch w.Intn(4) {
	case 0:
		return text[:at] + text[at+1:]
	case 1:
		return text[:at] + text[at:at+1] + text[at:]
	case 2:
		return text[:at] + pick(w.maker, []string{"{{", "}}", "|", "(", ")", "\"", "$", ".", ",", ":=", " ", "else", "end", "\n", "=", "-", "/*", "*/", "`", "'", "!", "{{end}}", "{{else}}"}) + text[at:]
	default:
		return text[:at]
	}
}
