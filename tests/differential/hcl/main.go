// The real side: reads one JSON object per line, {"kind": …, "text": …}, and answers one line each: the value with its
// type, or {"error": …}. Its functions are those of Nomad 1.6.5 (jobspec2/functions.go), less files and random ones.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

type question struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// What is being read.
var source string

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		var buf bytes.Buffer
		encoder := json.NewEncoder(&buf)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(answer(q)); err != nil {
			panic(err)
		}
		out.Write(buf.Bytes())
		if in.Err() == nil {
			out.Flush()
		}
	}
}

// A panic of the library is a refusal.
func answer(q question) (result interface{}) {
	defer func() {
		if p := recover(); p != nil {
			result = refusal(fmt.Sprintf("panic: %v", p))
		}
	}()
	start := hcl.InitialPos
	source = q.Text
	switch q.Kind {
	case "expression":
		expression, diags := hclsyntax.ParseExpression([]byte(q.Text), "x", start)
		return evaluated(expression, diags)
	case "template":
		expression, diags := hclsyntax.ParseTemplate([]byte(q.Text), "x", start)
		return evaluated(expression, diags)
	case "body":
		file, diags := hclsyntax.ParseConfig([]byte(q.Text), "x", start)
		if diags.HasErrors() {
			return refusal(diags.Error())
		}
		return body(file.Body.(*hclsyntax.Body))
	case "json":
		file, diags := hcljson.Parse([]byte(q.Text), "x")
		if diags.HasErrors() {
			return refusal(diags.Error())
		}
		attributes, diags := file.Body.JustAttributes()
		if diags.HasErrors() {
			return refusal(diags.Error())
		}
		members := map[string]interface{}{}
		for name, attribute := range attributes {
			members[name] = evaluated(attribute.Expr, nil)
		}
		return map[string]interface{}{"attributes": members}
	case "format":
		return map[string]interface{}{"text": string(hclwrite.Format([]byte(q.Text)))}
	}
	panic("no such kind")
}

func refusal(why string) interface{} { return map[string]interface{}{"error": why} }

func evaluated(expression hcl.Expression, diags hcl.Diagnostics) interface{} {
	if diags.HasErrors() {
		return refusal(diags.Error())
	}
	value, diags := expression.Value(context())
	if diags.HasErrors() {
		return refusal(diags.Error())
	}
	return map[string]interface{}{"value": shown(value)}
}

func body(b *hclsyntax.Body) interface{} {
	attributes := map[string]interface{}{}
	for name, attribute := range b.Attributes {
		attributes[name] = evaluated(attribute.Expr, nil)
	}
	blocks := []interface{}{}
	for _, block := range b.Blocks {
		labels := []string{}
		labels = append(labels, block.Labels...)
		blocks = append(blocks, map[string]interface{}{"type": block.Type, "labels": labels, "body": body(block.Body)})
	}
	return map[string]interface{}{"attributes": attributes, "blocks": blocks}
}

// Kinds as in the information model, numbers as text: {"number": "0.1"}, {"list": […]}.
func shown(v cty.Value) interface{} {
	one := func(kind string, what interface{}) interface{} { return map[string]interface{}{kind: what} }
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return one("unknown", "")
	case v.IsNull():
		return nil
	case ty == cty.String:
		return one("string", v.AsString())
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return one("number", v.AsBigFloat().Text('f', -1))
	case ty.IsTupleType():
		return one("tuple", items(v))
	case ty.IsListType():
		return one("list", items(v))
	case ty.IsSetType():
		return one("set", items(v))
	case ty.IsObjectType():
		return one("object", members(v))
	case ty.IsMapType():
		return one("map", members(v))
	}
	return one("capsule", ty.FriendlyName())
}

func items(v cty.Value) []interface{} {
	out := []interface{}{}
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		out = append(out, shown(item))
	}
	return out
}

func members(v cty.Value) map[string]interface{} {
	out := map[string]interface{}{}
	for it := v.ElementIterator(); it.Next(); {
		name, member := it.Element()
		out[name.AsString()] = shown(member)
	}
	return out
}

// What expressions may refer to; ours/answer.cpp has the same. As in jobspec2, an unknown root is its own text.
func context() *hcl.EvalContext {
	s, n := cty.StringVal, func(i int64) cty.Value { return cty.NumberIntVal(i) }
	vars := map[string]cty.Value{
		"name":  s("web"),
		"text":  s("héllo wörld 👩‍👩‍👧 é"),
		"count": n(3),
		"half":  cty.NumberFloatVal(0.5),
		"yes":   cty.True,
		"none":  cty.NullVal(cty.DynamicPseudoType),
		"list":  cty.ListVal([]cty.Value{s("a"), s("b"), s("a")}),
		"set":   cty.SetVal([]cty.Value{s("x"), s("y")}),
		"tags":  cty.MapVal(map[string]cty.Value{"env": s("prod"), "zone": s("eu")}),
		"ports": cty.ObjectVal(map[string]cty.Value{"http": n(80), "ssh": n(22)}),
		"mixed": cty.TupleVal([]cty.Value{n(1), s("two"), cty.True, cty.NullVal(cty.DynamicPseudoType)}),
		"nodes": cty.TupleVal([]cty.Value{
			cty.ObjectVal(map[string]cty.Value{"id": n(1), "tags": cty.TupleVal([]cty.Value{s("x"), s("y")})}),
			cty.ObjectVal(map[string]cty.Value{"id": n(2), "tags": cty.EmptyTupleVal}),
		}),
	}
	return &hcl.EvalContext{
		Functions: functions,
		Variables: map[string]cty.Value{"var": cty.ObjectVal(vars), "local": cty.ObjectVal(map[string]cty.Value{"x": n(7)})},
		UndefinedVariable: func(t hcl.Traversal) (cty.Value, hcl.Diagnostics) {
			at := t.SourceRange()
			return cty.StringVal("${" + source[at.Start.Byte:at.End.Byte] + "}"), nil
		},
	}
}
