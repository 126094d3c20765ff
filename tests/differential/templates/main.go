// The real libraries beside ours: Go's text/template, Sprig and consul-template.
//
//	templates real                      templates as JSON lines on stdin, their outcomes on stdout
//	templates compare -seed N -count M PROGRAM
//
// compare makes templates from the seed, renders each with the real libraries and with PROGRAM (which speaks the same
// lines), and ends with 1 when something differs that purposes.go does not know.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A Case is one template; the same seed makes the same cases.
type Case struct {
	Set     string `json:"set"` // "go", "overlay" (Sprig), "job" (consul-template)
	Text    string `json:"text"`
	Data    any    `json:"data,omitempty"`
	Missing string `json:"missing,omitempty"` // "error"
	Class   string `json:"-"`                 // the function, or the kind of template
}

// An Outcome is what a template became: bytes, or why not.
type Outcome struct {
	Out []byte `json:"out,omitempty"`
	Err string `json:"err,omitempty"`
}

func real() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c Case
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return err
		}
		if err := out.Encode(render(c)); err != nil {
			return err
		}
	}
	return in.Err()
}

func main() {
	// Times are told in UTC by ours, wherever the machine stands.
	os.Setenv("TZ", "UTC")
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "real":
		err = real()
	case len(os.Args) > 1 && os.Args[1] == "compare":
		err = compare(os.Args[2:])
	default:
		err = fmt.Errorf("usage: templates real | templates compare [-seed N] [-count M] PROGRAM")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
