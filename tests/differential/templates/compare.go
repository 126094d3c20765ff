package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"time"
)

// Ours names what differs and why not, or is empty.
type difference struct {
	c          Case
	real, ours Outcome
}

// program asks ours, which answers in order.
func program(path string, cases []Case) ([]Outcome, error) {
	command := exec.Command(path)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer in.Close()
		buffer := bufio.NewWriterSize(in, 1<<20)
		defer buffer.Flush()
		encoder := json.NewEncoder(buffer)
		for _, c := range cases {
			if encoder.Encode(c) != nil {
				return
			}
		}
	}()
	outcomes, err := answers(out, len(cases))
	if waited := command.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("%s ended: %w, after %d of %d answers", path, waited, len(outcomes), len(cases))
	}
	return outcomes, err
}

func answers(from io.Reader, count int) ([]Outcome, error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 256<<20)
	outcomes := make([]Outcome, 0, count)
	for lines.Scan() {
		var answer struct{ Out, Err *string }
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			return outcomes, err
		}
		var outcome Outcome
		if answer.Out != nil {
			bytes, err := base64.StdEncoding.DecodeString(*answer.Out)
			if err != nil {
				return outcomes, err
			}
			outcome.Out = bytes
		}
		if answer.Err != nil {
			bytes, err := base64.StdEncoding.DecodeString(*answer.Err)
			if err != nil {
				return outcomes, err
			}
			outcome.Err = string(bytes)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, lines.Err()
}

// Both fail, or both write the same. The words of errors are our own (they show no values, which may be secrets).
func equal(a, b Outcome) bool {
	if a.Err != "" || b.Err != "" {
		return a.Err != "" && b.Err != ""
	}
	return string(a.Out) == string(b.Out)
}

func compare(arguments []string) error {
	flags := flag.NewFlagSet("compare", flag.ExitOnError)
	seed := flags.Int64("seed", 1, "makes the templates")
	count := flags.Int64("count", 100_000, "how many")
	show := flags.Int("show", 40, "differences to print")
	only := flags.String("only", "", "print those of this function only")
	flags.Parse(arguments)
	if flags.NArg() != 1 {
		return fmt.Errorf("which program renders ours?")
	}
	cases := make([]Case, *count)
	for i := range cases {
		cases[i] = newCase(*seed, int64(i))
	}
	ours, err := program(flags.Arg(0), cases)
	if err != nil {
		return err
	}
	if len(ours) != len(cases) {
		return fmt.Errorf("%d answers to %d templates", len(ours), len(cases))
	}
	t := newTally()
	for i, c := range cases {
		t.count(c, inTime(c), ours[i])
	}
	t.print(*seed, *show, *only)
	if len(t.unknown) > 0 {
		return fmt.Errorf("%d differences are not on purpose", len(t.unknown))
	}
	return nil
}

// inTime renders; a template that Go does not end with ends the run, with its text.
func inTime(c Case) Outcome {
	watch := time.AfterFunc(30*time.Second, func() {
		fmt.Fprintf(os.Stderr, "error: Go does not end with %q\n", c.Text)
		os.Exit(1)
	})
	defer watch.Stop()
	return render(c)
}

type tally struct {
	equal, failed int
	purposes      map[string]int
	unknown       []difference
	classes       map[string]int
}

func newTally() *tally { return &tally{purposes: map[string]int{}, classes: map[string]int{}} }

func (t *tally) count(c Case, real, ours Outcome) {
	if equal(real, ours) {
		t.equal++
		if real.Err != "" {
			t.failed++
		}
		return
	}
	if purpose := purposeOf(c, real, ours); purpose != "" {
		t.purposes[purpose]++
		return
	}
	t.unknown = append(t.unknown, difference{c, real, ours})
	t.classes[c.Class]++
}

func sortedByCount(counts map[string]int) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if counts[names[i]] != counts[names[j]] {
			return counts[names[i]] > counts[names[j]]
		}
		return names[i] < names[j]
	})
	return names
}

func (t *tally) print(seed int64, show int, only string) {
	different := 0
	for _, count := range t.purposes {
		different += count
	}
	fmt.Printf("templates: seed %d: %d equal (%d of them errors), %d different on purpose, %d not\n", seed, t.equal, t.failed, different, len(t.unknown))
	for _, name := range sortedByCount(t.purposes) {
		fmt.Printf("  %6d  %s\n", t.purposes[name], name)
	}
	for i, name := range sortedByCount(t.classes) {
		if i >= show {
			break
		}
		fmt.Printf("  not on purpose: %6d  %s\n", t.classes[name], name)
	}
	for _, d := range t.unknown {
		if only != "" && d.c.Class != only {
			continue
		}
		if show--; show < 0 {
			break
		}
		data, _ := json.Marshal(d.c.Data)
		fmt.Printf("%s %q data %s\n   real %s\n   ours %s\n", d.c.Set, d.c.Text, data, told(d.real), told(d.ours))
	}
}

func told(o Outcome) string {
	if o.Err != "" {
		return "error: " + o.Err
	}
	if len(o.Out) > 600 {
		return fmt.Sprintf("%q…", o.Out[:600])
	}
	return fmt.Sprintf("%q", o.Out)
}
