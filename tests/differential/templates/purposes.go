package main

import (
	"regexp"
	"slices"
	"strings"
)

// A purpose is a difference that is meant: docs/reference/templates.md tells it too.
type purpose struct {
	why  string
	fits func(c Case, real, ours Outcome) bool
}

func uses(pattern string) func(Case) bool {
	compiled := regexp.MustCompile(pattern)
	return func(c Case) bool { return compiled.MatchString(c.Text) }
}

// The same bytes in another order.
func reordered(real, ours Outcome) bool {
	a, b := slices.Clone(real.Out), slices.Clone(ours.Out)
	slices.Sort(a)
	slices.Sort(b)
	return real.Err == "" && ours.Err == "" && slices.Equal(a, b)
}

var (
	hasKeys     = uses(`\b(sprig_)?(keys|values)\b`)
	hasComplex  = uses(`\d[_\d.]*i\b`)
	hasOtherKey = uses(`(~|\d[\d.]*|true|yes)\s*:|- \?|\?(\\n| )`)
	hasYAML     = uses(`\bparseYAML\b`)
	hasTime     = uses(`\b(sprig_)?(toDate|mustToDate|date_?[mM]odify|must(_d|D)ate_?[mM]odify)\b`)
	hasVersion  = uses(`\b(sprig_)?semver\b`)
	hasPrint    = uses(`\bprintf\b`)
	hasSlice    = uses(`\b(sprig_)?(slice|mustSlice)\b`)
	hasAddress  = uses(`%[-+# 0]*[\[\]\d*.]*p`)
	hasRegex    = uses(`\b(sprig_)?regexMatch\b`)
	hasJSON     = uses(`\b(sprig_)?(toJson|toPrettyJson|fromJson|mustFromJson|parseJSON)\b`)
	hasShared   = uses(`\b(sprig_)?(set|unset|must[mM]erge(Overwrite)?|merge(Overwrite)?|mergeMap(WithOverride)?)\b`)
)

var purposes = []purpose{
	{"keys and values are in the order of the keys, in Go in any", func(c Case, real, ours Outcome) bool {
		return hasKeys(c) && reordered(real, ours)
	}},
	{"complex numbers do not exist", func(c Case, real, ours Outcome) bool {
		return hasComplex(c) && strings.Contains(ours.Err, "bad number syntax")
	}},
	{"keys of maps from YAML are texts, and the maps those of JSON", func(c Case, real, ours Outcome) bool {
		return hasYAML(c) && ours.Err == "" && (real.Err != "" || reordered(real, ours) || hasOtherKey(c) || strings.Contains(string(real.Out), "map[interface {}]interface {}"))
	}},
	{"times print as texts for every verb, versions for %#v", func(c Case, real, ours Outcome) bool {
		return hasPrint(c) && ours.Err == "" && real.Err == "" && (hasTime(c) && strings.Contains(string(real.Out), "{") || hasVersion(c))
	}},
	{"no list reaches beyond its end, as Go's slices do into what was reserved", func(c Case, real, ours Outcome) bool {
		return hasSlice(c) && strings.Contains(ours.Err, "slice index out of bounds")
	}},
	{"slice takes indexes out of maps, which Go forgets to look into", func(c Case, real, ours Outcome) bool {
		return strings.Contains(real.Err, "cannot index slice/array with type interface {}")
	}},
	{"%p shows no addresses", func(c Case, real, ours Outcome) bool {
		return hasAddress(c) && real.Err == "" && ours.Err == ""
	}},
	{"a pattern that is none is an error, which Sprig's regexMatch hides", func(c Case, real, ours Outcome) bool {
		return hasRegex(c) && strings.Contains(ours.Err, "error parsing regexp")
	}},
	{"a value that is no JSON is an error, which Sprig's toJson hides", func(c Case, real, ours Outcome) bool {
		return hasJSON(c) && strings.Contains(ours.Err, "json: unsupported")
	}},
	{"maps of the data are not changed", func(c Case, real, ours Outcome) bool {
		return hasShared(c) && strings.Contains(ours.Err, "belongs to the data")
	}},
}

// purposeOf says why a difference is meant; "" when it is not.
func purposeOf(c Case, real, ours Outcome) string {
	for _, p := range purposes {
		if p.fits(c, real, ours) {
			return p.why
		}
	}
	return ""
}
