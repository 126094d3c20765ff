// Writes ../../unicode_tables.inc: the properties that Go's package unicode has of its characters.
//
//	go run tables.go > ../../unicode_tables.inc
package main

import (
	"fmt"
	"strings"
	"unicode"
)

func ranges(name string, is func(rune) bool) {
	fmt.Printf("constexpr Range k%s[] = {\n", name)
	var line strings.Builder
	flush := func() {
		if line.Len() > 0 {
			fmt.Println("   " + line.String())
		}
		line.Reset()
	}
	add := func(lo, hi, stride rune) {
		item := fmt.Sprintf(" {0x%X, 0x%X, %d},", lo, hi, stride)
		if line.Len()+len(item) > 114 {
			flush()
		}
		line.WriteString(item)
	}
	var all []rune
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if is(r) {
			all = append(all, r)
		}
	}
	for i := 0; i < len(all); {
		stride := rune(1)
		if i+1 < len(all) {
			if d := all[i+1] - all[i]; d == 2 {
				stride = d
			}
		}
		end := i
		for end+1 < len(all) && all[end+1]-all[end] == stride {
			end++
		}
		if end == i {
			stride = 1
		}
		add(all[i], all[end], stride)
		i = end + 1
	}
	flush()
	fmt.Println("};")
}

// Runs of characters that one difference (or, with stride 2, every other one) maps to another case.
func mapping(name string, to func(rune) rune) {
	fmt.Printf("constexpr Shift k%s[] = {\n", name)
	var line strings.Builder
	var all []rune
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if to(r) != r {
			all = append(all, r)
		}
	}
	for i := 0; i < len(all); {
		delta := to(all[i]) - all[i]
		stride := rune(1)
		if i+1 < len(all) && all[i+1]-all[i] == 2 {
			stride = 2
		}
		end := i
		for end+1 < len(all) && all[end+1]-all[end] == stride && to(all[end+1])-all[end+1] == delta {
			end++
		}
		if end == i {
			stride = 1
		}
		item := fmt.Sprintf(" {0x%X, 0x%X, %d, %d},", all[i], all[end], stride, delta)
		if line.Len()+len(item) > 114 {
			fmt.Println("   " + line.String())
			line.Reset()
		}
		line.WriteString(item)
		i = end + 1
	}
	if line.Len() > 0 {
		fmt.Println("   " + line.String())
	}
	fmt.Println("};")
}

func main() {
	fmt.Println("// Written by tests/unicode/tables.go, from Unicode " + unicode.Version + ".")
	ranges("Letter", unicode.IsLetter)
	ranges("Digit", unicode.IsDigit)
	ranges("Number", unicode.IsNumber)
	ranges("Upper", unicode.IsUpper)
	ranges("Lower", unicode.IsLower)
	ranges("Title", unicode.IsTitle)
	ranges("Punct", unicode.IsPunct)
	ranges("Print", unicode.IsPrint)
	mapping("ToUpper", unicode.ToUpper)
	mapping("ToLower", unicode.ToLower)
	mapping("ToTitle", unicode.ToTitle)
}
