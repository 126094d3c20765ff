package main

import (
	"bytes"
	"fmt"
	"math"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	ct "github.com/hashicorp/consul-template/template"
)

var overlayFunctions = sprig.TxtFuncMap()

// Whole numbers are ints, as a program's data would have them.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = whole(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = whole(v[k])
		}
		return out
	}
	return v
}

func render(c Case) (outcome Outcome) {
	defer func() {
		if p := recover(); p != nil {
			outcome = Outcome{Err: fmt.Sprint("panic: ", p)}
		}
	}()
	text, err := renderText(c)
	if err != nil {
		return Outcome{Err: err.Error()}
	}
	return Outcome{Out: text}
}

func renderText(c Case) ([]byte, error) {
	if c.Set == "job" {
		return renderJob(c)
	}
	t := template.New("t")
	if c.Set == "overlay" {
		t.Funcs(overlayFunctions)
	}
	if c.Missing != "" {
		t.Option("missingkey=" + c.Missing)
	}
	parsed, err := t.Parse(c.Text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, whole(c.Data))
	return out.Bytes(), err
}

// As Nomad 1.6 calls it (client/allocrunner/taskrunner/template): without data, with the task's environment.
func renderJob(c Case) ([]byte, error) {
	t, err := ct.NewTemplate(&ct.NewTemplateInput{
		Contents:         c.Text,
		ErrMissingKey:    c.Missing == "error",
		FunctionDenylist: []string{"plugin", "writeToFile"},
	})
	if err != nil {
		return nil, err
	}
	result, err := t.Execute(&ct.ExecuteInput{
		Brain: ct.NewBrain(),
		Env:   []string{"NAME=value", "EMPTY="},
	})
	if err != nil {
		return nil, err
	}
	return result.Output, nil
}
