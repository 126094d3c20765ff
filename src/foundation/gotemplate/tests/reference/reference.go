// Fills in what Go itself makes of the cases: it reads tests/reference/*.json and writes "want" or "error" into each.
//
//	mkdir /tmp/reference && cp reference.go /tmp/reference && cd /tmp/reference
//	go mod init reference && go mod tidy && go run . DIRECTORY/*.json
//
// Expectations that differ from Go's on purpose are under "ours", which is kept, with "why".
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	dep "github.com/hashicorp/consul-template/dependency"
	ct "github.com/hashicorp/consul-template/template"
	"github.com/hashicorp/nomad/api"
)

type Case struct {
	Template string `json:"template"`
	Data     any    `json:"data,omitempty"`
	Missing  string `json:"missingkey,omitempty"`
	Left     string `json:"left,omitempty"`
	Right    string `json:"right,omitempty"`
	Want     string `json:"want"`
	Error    string `json:"error,omitempty"`
	Ours     string `json:"ours,omitempty"`
	Why      string `json:"why,omitempty"`
}

// Whole numbers are ints, as a program's data would have them.
func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return int(i)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}

func overlay(c *Case, funcs template.FuncMap) (string, error) {
	t := template.New("t").Delims(c.Left, c.Right).Funcs(funcs)
	if c.Missing != "" {
		t.Option("missingkey=" + c.Missing)
	}
	t, err := t.Parse(c.Template)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, whole(c.Data))
	return out.String(), err
}

func job(c *Case) (string, error) {
	t, err := ct.NewTemplate(&ct.NewTemplateInput{Contents: c.Template, LeftDelim: c.Left, RightDelim: c.Right,
		ErrMissingKey: c.Missing == "error"})
	if err != nil {
		return "", err
	}
	brain := ct.NewBrain()
	query, _ := dep.NewNVGetQuery("default", "nomad/jobs/web")
	query.EnableBlocking()
	brain.Remember(query, &dep.NewNomadVariable(&api.Variable{Path: "nomad/jobs/web", Namespace: "default",
		CreateIndex: 7, ModifyIndex: 9, Items: map[string]string{"user": "ann", "password": "s3cret"}}).Items)
	service, _ := dep.NewNomadServiceQuery("db")
	brain.Remember(service, []*dep.NomadService{
		{ID: "i1", Name: "db", Node: "n1", Address: "10.0.0.1", Port: 5432, Datacenter: "dc1", Tags: dep.ServiceTags{"main"}, JobID: "j", AllocID: "a1"},
		{ID: "i2", Name: "db", Node: "n2", Address: "10.0.0.2", Port: 5433, Datacenter: "dc1", Tags: dep.ServiceTags{}, JobID: "j", AllocID: "a2"}})
	result, err := t.Execute(&ct.ExecuteInput{Brain: brain, Env: []string{"NAME=value", "EMPTY="}})
	if err != nil {
		return "", err
	}
	return string(result.Output), nil
}

func main() {
	for _, path := range os.Args[1:] {
		bytesIn, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		var cases []*Case
		decoder := json.NewDecoder(bytes.NewReader(bytesIn))
		decoder.UseNumber()
		if err := decoder.Decode(&cases); err != nil {
			panic(path + ": " + err.Error())
		}
		var out bytes.Buffer
		out.WriteString("[\n")
		for i, c := range cases {
			kept, _ := json.Marshal(c.Data)
			var text string
			var err error
			switch filepath.Base(path) {
			case "job.json":
				text, err = job(c)
			case "overlay.json":
				text, err = overlay(c, sprig.TxtFuncMap())
			default:
				text, err = overlay(c, nil)
			}
			c.Want, c.Error = text, ""
			if err != nil {
				c.Want, c.Error = "", strings.TrimPrefix(strings.TrimPrefix(err.Error(), "execute: "), "parse: ")
			}
			c.Data = nil
			if string(kept) != "null" {
				c.Data = json.RawMessage(kept)
			}
			var line bytes.Buffer
			encoder := json.NewEncoder(&line)
			encoder.SetEscapeHTML(false)
			encoder.Encode(c)
			out.WriteString("  " + strings.TrimSuffix(line.String(), "\n"))
			if i+1 < len(cases) {
				out.WriteString(",")
			}
			out.WriteString("\n")
		}
		out.WriteString("]\n")
		os.WriteFile(path, out.Bytes(), 0o644)
	}
}
