package main

import (
	"math/rand"
	"sort"
	"strings"
)

// What each function takes, in the letters of values.go; "…" repeats the last one. A function that is missing here is
// called with anything.
var goCalls = map[string]string{
	"and": "aa…", "or": "aa…", "not": "a", "len": "a", "index": "lS", "slice": "sSS", "print": "aa…", "printf": "Faa…", "println": "aa…", "html": "s", "js": "s", "urlquery": "s",
	"eq": "aa", "ne": "aa", "lt": "NN", "le": "NN", "gt": "ss", "ge": "NN", "call": "a",
}

var sprigCalls = map[string]string{
	"abbrev": "Ss", "abbrevboth": "SSs", "trunc": "Ss", "trim": "s", "upper": "s", "lower": "s", "title": "s", "untitle": "s", "substr": "SSs", "repeat": "Ss", "trimall": "ss", "trimAll": "ss",
	"trimSuffix": "ss", "trimPrefix": "ss", "nospace": "s", "initials": "s", "swapcase": "s", "snakecase": "s", "camelcase": "s", "kebabcase": "s", "wrap": "Ss", "wrapWith": "Sss", "contains": "ss",
	"hasPrefix": "ss", "hasSuffix": "ss", "quote": "aa…", "squote": "aa…", "cat": "aa…", "indent": "Ss", "nindent": "Ss", "replace": "sss", "plural": "ssi", "sha1sum": "s", "sha256sum": "s", "adler32sum": "s",
	"toString": "a", "atoi": "n", "int64": "N", "int": "N", "float64": "N", "seq": "SS…", "toDecimal": "n", "split": "ss", "splitList": "ss", "splitn": "sSs", "toStrings": "l", "until": "S", "untilStep": "SSS",
	"add1": "N", "add": "NN…", "sub": "NN", "div": "NN", "mod": "NN", "mul": "NN…", "add1f": "N", "addf": "NN…", "subf": "NN…", "divf": "NN…", "mulf": "NN…", "biggest": "NN…", "max": "NN…", "min": "NN…",
	"maxf": "NN…", "minf": "NN…", "ceil": "N", "floor": "N", "round": "NS", "join": "sl", "sortAlpha": "l", "default": "aa", "empty": "a", "coalesce": "aa…", "all": "aa…", "any": "aa…", "compact": "l", "mustCompact": "l",
	"fromJson": "j", "toJson": "a", "toPrettyJson": "a", "toRawJson": "a", "mustFromJson": "j", "mustToJson": "a", "mustToPrettyJson": "a", "mustToRawJson": "a", "ternary": "aab", "deepCopy": "a", "mustDeepCopy": "a",
	"typeOf": "a", "typeIs": "Ka", "typeIsLike": "Ka", "kindOf": "a", "kindIs": "Ka", "deepEqual": "aa", "base": "/", "dir": "/", "clean": "/", "ext": "/", "isAbs": "/", "osBase": "/", "osClean": "/", "osDir": "/", "osExt": "/", "osIsAbs": "/",
	"b64enc": "s", "b64dec": "s", "b32enc": "s", "b32dec": "s", "tuple": "aa…", "list": "aa…", "dict": "kaka", "get": "mk", "set": "mka", "unset": "mk", "hasKey": "mk", "pluck": "km…", "keys": "m", "pick": "mkk…", "omit": "mkk…",
	"merge": "mm…", "mergeOverwrite": "mm…", "mustMerge": "mm…", "mustMergeOverwrite": "mm…", "values": "m", "append": "la", "push": "la", "mustAppend": "la", "mustPush": "la", "prepend": "la", "mustPrepend": "la",
	"first": "l", "mustFirst": "l", "rest": "l", "mustRest": "l", "last": "l", "mustLast": "l", "initial": "l", "mustInitial": "l", "reverse": "l", "mustReverse": "l", "uniq": "l", "mustUniq": "l", "without": "laa…",
	"mustWithout": "laa…", "has": "al", "mustHas": "al", "slice": "lSS", "mustSlice": "lSS", "concat": "ll…", "dig": "kkam", "chunk": "Sl", "mustChunk": "Sl", "semver": "v", "semverCompare": "Vv", "fail": "s",
	"regexMatch": "ps", "mustRegexMatch": "ps", "regexFindAll": "psS", "mustRegexFindAll": "psS", "regexFind": "ps", "mustRegexFind": "ps", "regexReplaceAll": "psP", "mustRegexReplaceAll": "psP",
	"regexReplaceAllLiteral": "psP", "mustRegexReplaceAllLiteral": "psP", "regexSplit": "psS", "mustRegexSplit": "psS", "regexQuoteMeta": "s", "urlParse": "u", "urlJoin": "m", "hello": "",
	"date": "yT", "date_in_zone": "yTz", "dateInZone": "yTz", "date_modify": "dt", "dateModify": "dt", "must_date_modify": "dt", "mustDateModify": "dt", "duration": "n", "durationRound": "d", "htmlDate": "T", "htmlDateInZone": "Tz",
	"mustToDate": "yD", "toDate": "yD", "unixEpoch": "t",
}

var consulCalls = map[string]string{
	"base64Decode": "s", "base64Encode": "s", "base64URLDecode": "s", "base64URLEncode": "s", "contains": "al", "containsAll": "ll", "containsAny": "ll", "containsNone": "ll", "containsNotAll": "ll",
	"env": "s", "mustEnv": "s", "envOrDefault": "ss", "explodeMap": "m", "mergeMap": "mm", "mergeMapWithOverride": "mm", "in": "la", "indent": "Ss", "join": "sL", "trim": "ss", "trimPrefix": "ss", "trimSuffix": "ss", "trimSpace": "s",
	"parseBool": "s", "parseFloat": "n", "parseInt": "n", "parseJSON": "j", "parseUint": "n", "regexReplaceAll": "pPs", "regexMatch": "ps", "replaceAll": "sss", "sha256Hex": "s", "md5sum": "s", "hmacSHA256Hex": "ss",
	"toLower": "s", "toJSON": "a", "toJSONPretty": "a", "toUnescapedJSON": "a", "toUnescapedJSONPretty": "a", "toTitle": "s", "toTOML": "m", "toUpper": "s", "split": "ss", "splitToMap": "sss",
	"add": "NN", "subtract": "NN", "multiply": "NN", "divide": "NN", "modulo": "ii", "minimum": "NN", "maximum": "NN", "toYAML": "a", "parseYAML": "Y",
}

type function struct{ name, takes string }

// Sorted: a seed makes the same calls everywhere.
func functionsOf(all map[string]string, prefix string) []function {
	out := make([]function, 0, len(all))
	for name, takes := range all {
		out = append(out, function{prefix + name, takes})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

var (
	goList     = functionsOf(goCalls, "")
	sprigList  = functionsOf(sprigCalls, "")
	consulList = functionsOf(consulCalls, "")
	jobSprig   = functionsOf(sprigCalls, "sprig_")
)

func (r *maker) arguments(takes string) []string {
	var out []string
	kinds := []rune(takes)
	for i, kind := range kinds {
		if kind == '…' {
			for n := r.Intn(3); n > 0; n-- {
				out = append(out, r.one(kinds[i-1]))
			}
			continue
		}
		out = append(out, r.one(kind))
	}
	if strings.ContainsAny(takes, "ST") {
		return out
	}
	switch r.Intn(30) {
	case 0:
		out = append(out, r.argument('a'))
	case 1:
		if len(out) > 0 {
			out = out[:len(out)-1]
		}
	}
	return out
}

// Mostly of the kind that the function takes.
func (r *maker) one(kind rune) string {
	// What is no time is told as the present one, which is another for each side.
	if kind == 'T' {
		return r.argument(rune("tti"[r.Intn(3)]))
	}
	if r.Intn(9) == 0 {
		// A count stays small: Go knows no limits.
		if kind == 'S' {
			return r.argument(rune("sfblmn"[r.Intn(6)]))
		}
		return r.argument('a')
	}
	return r.argument(kind)
}

func (r *maker) call(f function) string {
	arguments := r.arguments(f.takes)
	if len(arguments) > 0 && r.Intn(3) == 0 {
		last := len(arguments) - 1
		return arguments[last] + " | " + strings.Join(append([]string{f.name}, arguments[:last]...), " ")
	}
	return strings.Join(append([]string{f.name}, arguments...), " ")
}

// The result as it is, or in a guise that shows more of it.
func (r *maker) show(call string) string {
	switch r.Intn(8) {
	case 0:
		return "{{ printf \"%#v\" (" + call + ") }}"
	case 1:
		return "{{ printf \"%T %v\" (" + call + ") (" + call + ") }}"
	case 2:
		return "{{ " + call + " | printf \"%q\" }}"
	case 3:
		return "{{ range $k, $v := " + call + " }}{{ $k }}={{ $v }};{{ else }}none{{ end }}"
	default:
		return "{{ " + call + " }}"
	}
}

func newCase(seed, number int64) Case {
	r := &maker{Rand: rand.New(rand.NewSource(seed*1_000_003 + number))}
	switch n := r.Intn(20); {
	case n < 2:
		return r.callCase("go", goList)
	case n < 8:
		return r.callCase("overlay", sprigList)
	case n < 11:
		return r.callCase("job", jobSprig)
	case n < 15:
		return r.callCase("job", consulList)
	default:
		return r.whole()
	}
}

func (r *maker) callCase(set string, list []function) Case {
	// Arguments are made by Sprig's functions.
	if set == "go" {
		r.set = "overlay"
	} else {
		r.set = set
	}
	f := pick(r, list)
	return Case{Set: r.set, Text: r.show(r.call(f)), Class: f.name}
}
