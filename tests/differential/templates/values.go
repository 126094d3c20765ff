package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// A maker writes expressions. Each kind of argument is a letter:
//
//	s text  i int  f float  b bool  l list  m map  t time  a anything  p pattern  P replacement  n numeral as a text
//	y layout of a time  d duration  z zone  j JSON  Y YAML  v version  u URL  / path  S short count  L list of texts
type maker struct {
	*rand.Rand
	set   string
	depth int
}

func pick[T any](r *maker, from []T) T { return from[r.Intn(len(from))] }

var texts = []string{
	"", "a", "b", "abc", "hello world", "Hello World", "HELLO", "fooBar", "FooBarBaz", "HTTPServer2", "http_server",
	"foo-bar_baz qux", "__a__b", "-x-", "no_https", "Duration2m3s", "Bld4Floor3rd", "http2xx", "HTTP20xOK", "GO PATH",
	"A1B2c3", "ID", "userID", "ÄÖü ß", "éÉ", "日本語", "日本 語x", "ЖЗ жз", "İi", "ǆ ǅ", "ﬀ", "ς Σ", "e\u0301", "👍🏽x", "\u00a0x\u00a0",
	"x\u2028y", "\u200bz", "\xff\xfe", "a\xffb", "\x00", "a\nb\nc", "\n", "a\n\nb\n", "  lead", "trail  ", "a\tb", "\r\n",
	"it's", `"q"`, "`r`", "<a&b>'", "a=b;c", "\\d", "%d%%", "${x}$1", "123", "-5", "+7", "0", "007", "0x1f", "0b11", "0o17",
	"0755", "1_000", "1.5", ".5", "5.", "1e3", "-1e-7", "inf", "NaN", "true", "false", "T", "yes", "nil", "null", "a,b,c",
	",a,,b,", "a:1,b:2", "k=v", "/usr/local/../bin/x.tar.gz", "a/b//c/./d", "..", "/", "the quick brown fox jumps over",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bb ccccccccccccc", "YWJj", "YWI=", "YQ", "MFRGG===", "+/-_", "x.y.z", "don't stop", "o'neil mc-donald",
	"1\u0663", "²³½", "a!b?c.d", "[x]{y}(z)", "#tag @you", "ab12cd", "9223372036854775807", "9223372036854775808", "1e400",
}

var ints = []string{
	"0", "1", "-1", "2", "3", "5", "7", "-7", "10", "16", "64", "100", "255", "1000", "-1000", "0x1F", "0o17", "0b101", "1_000",
	"'a'", "'é'", "4294967296", "9223372036854775807", "-9223372036854775808", "1700000000", "017", "86400",
}

var floats = []string{
	"0.0", "1.5", "-2.5", "0.1", "0.2", "0.3", "2.675", "1.005", "1e3", "1e20", "1e21", "1e22", "1e-5", "1e-7", "3.14159", "1e300", "1e-300",
	"123456789.125", "-0.0", "0.5", "-0.5", "99.99", "1e100", "4.35", "0x1p-2", "1.7976931348623157e308", "5e-324", "33.333333333333336",
}

var numerals = []string{
	"1", "12", "-3", "0.1", "0.2", "1.005", "1e3", "0x10", "010", "08", " 1", "1 ", "", "x", "1_0", "1,5", "+4", "-0", "1e5", ".5",
	"12345678901234567890", "99999999999999999999.5", "1.10", "100.00", "0b1", "0o7", "Inf", "nan", "-.5e-3", "0X1P-2", "1.0", "7.9",
}

var patterns = []string{
	"", "a", "b+", "[a-c]", "o", ".", ".*", "^", "$", "a*", "(a)(b)?", "(?P<n>[a-z]+)", "\\d+", "\\s", "\\b", "[^a]", "(?i)hello",
	"x*", "l+o?", "日", "\\pL", "(", "[", "a{2", "a|b|", "(?s).+", "(?m)^.", "\\w+", "[[:alpha:]]+", "a??", "(a|ab)(c|bcd)", "\\.", "[a", "\\Qa.b\\E", "a{1001}", "(?<n>a)", "\\C",
}

var replacements = []string{"", "x", "$0", "$1", "${1}y", "$1y", "$n", "${n}", "$$", "\\1", "<$2>", "$", "${", "日", "a$", "$x${0}"}

var layouts = []string{
	"2006-01-02", "2006-01-02T15:04:05Z07:00", "Mon Jan _2 15:04:05 2006", "02 Jan 06 15:04 MST", "Monday, 02-Jan-06 15:04:05 MST", "3:04PM", "3:04:05.000 pm",
	"15:04:05.999999", "2006-002", "January 2", "1/2/06", "-0700 -07:00 -07 Z0700", "__2", "Jan _2 15:04:05,000", "x", "", "20060102150405", "2006-1-2 3:4:5 PM", "05.00", "Z070000 -07:00:00",
	"2006-01-02 15:04:05 -0700 MST", "MST", "Mon", "unix", "Janet", "pm PM", "_2006", "06 6 1 01 2 02 _2 002",
}

var dates = []string{
	"2024-02-29", "1999-12-31", "2023-02-30", "2024-13-01", "2024-02-29T12:34:56Z", "2024-02-29T12:34:56+02:00", "2024-02-29T12:34:56.789-05:30", "0001-01-01", "9999-12-31",
	"Thu Feb 29 01:02:03 2024", "29 Feb 24 12:34 UTC", "29 Feb 24 12:34 CET", "3:04PM", "12:00AM", "1/2/06", "2024-060", "2024-366", "", "x", "20240229123456", "2024-2-9 3:4:5 PM", "2024-02-29 12:34:56 +0100 CET",
}

var durations = []string{"1h", "-1.5h", "2m3s", "300ms", "1d", "", "0", "90", "1h30m", "-5s", "1us", "1ns", "1µs", "x", "2540400h10m10s", ".5h", "1e3s", "36h", "59s", "1000h"}

var zones = []string{"UTC", "", "Local", "GMT", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Tokyo", "Australia/Lord_Howe", "No/Where", "EST", "Etc/GMT+5", "../etc/passwd", "CET"}

var jsons = []string{
	`{"a":1,"b":[1,2.5,"x"],"c":{"d":null}}`, `[]`, `{}`, `"x"`, `1`, `null`, `true`, ``, `{`, `[1,]`, `{"a":1}x`, ` {"b":2,"a":1} `, `1e400`, `"\u00e9\ud83d\ude00"`, `"\ud800"`, `{"a":1,"a":2}`,
	`[9007199254740993]`, `-0`, `01`, `{"<&>":"\u2028"}`, `[[[]]]`, `"a`, `nul`, `{"a":{"b":{"c":[{}]}}}`, `1.0`, `1E5`, `"\x"`, `123456789012345678901234567890`, `[0.1,1e21,1e-7]`, "\"a\tb\"", `"/"`, `{1:2}`, `'x'`,
}

var versions = []string{
	"1.2.3", "v1.2.3", "1.2", "1", "1.2.3-beta.1", "1.2.3-beta.1+build.5", "2.0.0", "1.10.0", "x", "", "1.2.3.4", "01.2.3", "1.2.3-01", "1.0.0-alpha", "0.0.0", "1.2.3+b", "v2", "1.x", "99999999999999999999.0.0",
	"1.2.3-rc1", "1.4.0", "0.2.3", "2.3.4-0",
}

var constraints = []string{
	"^1.2.0", "~1.2", ">=1.2.3", "<2", ">1.0, <2.0", "1.2.x", "1.x", "*", "=1.2.3", "!=1.2.3", "1.2.3", "1.2 - 1.4.5", "^0.2.3", "^0.0.3", ">=1.2.3-0", "~1.2.3-beta.2", "x", "", ">=a", "<1 || >1.5", "=>1.2", "=<2", "~>1.2.3", "^1", "~1", "^v1.2", ">1.2",
	"<=1.2.3", "~1.x", "^1.x.x", "!=1.x", ">1.x", "1.2.3 - 2", "^2.0.0-0",
}

var urls = []string{
	"http://user:pw@host:80/p/a?q=1#f", "https://example.com", "//h/p", "/p?q", "mailto:x@y.z", "http://[::1]:8080/", "x", "", "http://a b/", "http://h/%zz", "ftp://u@h/%20x", "http://h/a%2Fb?x=%31&y#z%20", "a:b", ":x", "http://h:port/", "HTTP://H/P", "?q=1", "#f", "http://h/\xc3\xa9", "unix:///var/run/x.sock", "http://%41/", "h:80/p",
}

var paths = []string{"", ".", "..", "/", "//", "a", "a/b", "/a/b/", "a//b", "a/./b", "a/../b", "../a", "/../a", "a/b/../../..", "x.tar.gz", "/a.b/c", ".hidden", "a.", "a/b.c/", "日/本.語", "./a"}

func quote(s string) string {
	return strconv.Quote(s)
}

func (r *maker) text() string { return quote(pick(r, texts)) }

// The name of one of Sprig's functions in this set.
func (r *maker) sprig(name string) string {
	if r.set == "job" {
		return "sprig_" + name
	}
	return name
}

func (r *maker) anything() string {
	return r.argument(rune("ssssiiffbblmnaLt"[r.Intn(16)]))
}

func (r *maker) items(count int, kind rune) string {
	var b strings.Builder
	for i := 0; i < count; i++ {
		b.WriteByte(' ')
		b.WriteString(r.argument(kind))
	}
	return b.String()
}

func (r *maker) list() string {
	switch r.Intn(8) {
	case 0:
		return "(" + r.sprig("list") + ")"
	case 1:
		return "(" + r.sprig("until") + " " + strconv.Itoa(r.Intn(6)) + ")"
	case 2:
		return r.textList()
	case 3:
		return fmt.Sprintf("(%s %s)", r.sprig("fromJson"), quote(pick(r, []string{`[1,"a",null]`, `[]`, `[[1],[2]]`, `[{"a":1}]`, `[true,false]`})))
	default:
		return "(" + r.sprig("list") + r.items(r.Intn(5), rune("asifnl"[r.Intn(6)])) + ")"
	}
}

func (r *maker) textList() string {
	switch r.Intn(3) {
	case 0:
		return "(" + r.sprig("splitList") + " \",\" " + quote(pick(r, []string{"a,b,c", "", "b,a,b", ",", "x"})) + ")"
	case 1:
		return "(" + r.sprig("list") + r.items(r.Intn(5), 's') + ")"
	default:
		return "(" + r.sprig("sortAlpha") + " (" + r.sprig("list") + r.items(r.Intn(4), 's') + "))"
	}
}

func (r *maker) dictionary() string {
	if r.Intn(8) == 0 {
		return "(" + r.sprig("split") + " \",\" " + r.text() + ")"
	}
	if r.Intn(8) == 0 {
		return fmt.Sprintf("(%s %s)", r.sprig("fromJson"), quote(pick(r, []string{`{"a":1,"b":{"c":2}}`, `{}`, `{"b":"x","a/b":[1],"a":null}`})))
	}
	var b strings.Builder
	b.WriteString("(" + r.sprig("dict"))
	for i := r.Intn(4); i > 0; i-- {
		b.WriteString(" " + quote(pick(r, []string{"a", "b", "c", "a/b", "", "k", "Z", "é"})) + " " + r.argument(rune("asimlfb"[r.Intn(7)])))
	}
	b.WriteString(")")
	return b.String()
}

func (r *maker) argument(kind rune) string {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > 4 {
		return pick(r, []string{`"x"`, "1", "true", "nil", "2.5", `""`})
	}
	from := func(all []string) string { return quote(pick(r, all)) }
	switch kind {
	case 's':
		return r.text()
	case 'i':
		return pick(r, ints)
	case 'S':
		return strconv.Itoa(r.Intn(14) - 2)
	case 'f':
		return pick(r, floats)
	case 'b':
		return pick(r, []string{"true", "false"})
	case 'l':
		return r.list()
	case 'L':
		return r.textList()
	case 'm':
		return r.dictionary()
	case 't':
		return fmt.Sprintf("(%s %s %s)", r.sprig("toDate"), quote(pick(r, layouts[:4])), quote(pick(r, dates[:8])))
	case 'p':
		return from(patterns)
	case 'P':
		return from(replacements)
	case 'n':
		return from(numerals)
	case 'y':
		return from(layouts)
	case 'D':
		return from(dates)
	case 'd':
		return from(durations)
	case 'z':
		return from(zones)
	case 'j':
		return from(jsons)
	case 'Y':
		return quote(r.yaml())
	case 'v':
		return from(versions)
	case 'V':
		return from(constraints)
	case 'u':
		return from(urls)
	case '/':
		return from(paths)
	case 'N': // a number, in any guise
		return r.argument(rune("iiffnn"[r.Intn(6)]))
	case 'k':
		return quote(pick(r, []string{"a", "b", "c", "a/b", "", "k", "zz"}))
	case 'F':
		return quote(r.format())
	case 'K':
		return quote(pick(r, []string{"string", "int", "int64", "float64", "bool", "slice", "map", "invalid", "struct", "[]interface {}", "[]string", "map[string]interface {}", "map[string]string", "time.Time", "[]int"}))
	}
	if r.Intn(25) == 0 {
		return "nil"
	}
	return r.anything()
}

func (r *maker) format() string {
	var b strings.Builder
	for i := 1 + r.Intn(3); i > 0; i-- {
		b.WriteString(pick(r, []string{"", "", "x", " ", "é"}))
		b.WriteByte('%')
		for r.Intn(3) == 0 {
			b.WriteByte("+-# 0"[r.Intn(5)])
		}
		if r.Intn(12) == 0 {
			b.WriteString(pick(r, []string{"[1]", "[2]", "[3]", "[0]", "[", "[x]", "*", "[1]*"}))
		} else if r.Intn(3) == 0 {
			b.WriteString(strconv.Itoa(r.Intn(12)))
		}
		if r.Intn(4) == 0 {
			b.WriteString(pick(r, []string{".", ".0", ".1", ".3", ".10", ".*", ".[1]*"}))
		}
		b.WriteString(pick(r, []string{"v", "v", "s", "d", "q", "x", "X", "f", "g", "e", "E", "G", "t", "T", "c", "U", "b", "o", "O", "p", "%", "z", "", "F", "!", "日", "w"}))
	}
	return b.String()
}
