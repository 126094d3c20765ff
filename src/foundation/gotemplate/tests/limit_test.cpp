// Templates are untrusted: whatever they do ends soon, in little memory, and with an error that names the place.
#include "support.hpp"

namespace underway::gotemplate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string nested(std::string_view open, std::string_view close, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += open;
  for (int i = 0; i < count; ++i) text += close;
  return text;
}

/// The usual limits are a hundred times these; they end the same things.
constexpr Limits kSmall{.output = 1U << 18, .steps = 100'000, .values = 1U << 21};

TEST(Limits, EndWhatWouldNot) {
  struct Case {
    const char* name;
    std::string text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"a loop", "{{ range loop 1000000 }}{{ range loop 1000000 }}{{ end }}{{ end }}", "makes more than"},
      {"a loop over a number", "{{ range 1000000000000 }}{{ end }}", "more than 100000 steps"},
      {"recursion", "{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}", "maximum template depth"},
      {"recursion of two",
       "{{ define \"a\" }}{{ template \"b\" }}{{ end }}{{ define \"b\" }}{{ if true }}{{ template \"a\" }}{{ end }}{{ "
       "end "
       "}}{{ template \"a\" }}",
       "maximum template depth"},
      {"recursion by executeTemplate", "{{ define \"a\" }}{{ executeTemplate \"a\" }}{{ end }}{{ template \"a\" }}",
       "maximum template depth"},
      {"output", "{{ range 100000 }}" + std::string(1000, 'x') + "{{ end }}", "larger than 262144 bytes"},
      {"a long text", "{{ sprig_repeat 1000000000 \"abc\" | len }}", "makes more than"},
      {"doubling", "{{ $x := \"0123456789\" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}{{ len $x }}",
       "makes more than"},
      {"indenting", "{{ indent 100000000 \"a\\nb\" | len }}", "makes more than"},
      {"a wide number", "{{ range 1000 }}{{ $x := printf \"%100000d\" 1 }}{{ end }}", "makes more than"},
      {"lists in lists", "{{ $x := sprig_list }}{{ range 1000 }}{{ $x = sprig_list $x }}{{ end }}", "200 levels"},
      {"a map in itself", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ $d }}", "nested too deeply"},
      {"a map in itself as JSON", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ toJSON $d }}",
       "nested too deeply"},
      {"a map in itself as YAML", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ toYAML $d }}",
       "nested too deeply"},
      {"a map in itself as TOML", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ toTOML $d }}",
       "nested too deeply"},
      {"a map in itself copied", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ sprig_deepCopy $d }}",
       "nested too deeply"},
      {"a map in itself compared",
       "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ $e := sprig_dict }}{{ $_ := sprig_set $e \"d\" $e }}"
       "{{ sprig_deepEqual $d $e }}",
       "nested too deeply"},
      {"a map merged with itself", "{{ $d := sprig_dict }}{{ $_ := sprig_set $d \"d\" $d }}{{ sprig_merge $d $d }}",
       "nested too deeply"},
      {"shared lists", "{{ $x := sprig_list 1 1 }}{{ range 100 }}{{ $x = sprig_list $x $x }}{{ end }}{{ $x }}",
       "steps"},
      {"aliases in YAML",
       "{{ parseYAML \"a: &a [x,x,x,x,x,x,x,x,x]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c "
       "[*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: "
       "[*e,*e,*e,*e,*e,*e,*e,*e,*e]\" }}",
       "steps"},
      {"brackets in JSON", "{{ parseJSON \"" + nested("[", "]", 500) + "\" }}", "json: "},
      {"brackets in YAML", "{{ parseYAML \"" + nested("[", "]", 500) + "\" }}", "nested too deeply"},
      {"many parts", "{{ len (sprig_until 100000000) }}", "makes more than"},
      {"a large seq", "{{ len (sprig_seq 100000000) }}", "makes more than"},
      {"uniq of many", "{{ len (sprig_uniq (sprig_until 10000)) }}", "steps"},
      {"a hash of much, often",
       "{{ $x := sprig_repeat 1000000 \"x\" }}{{ range 1000 }}{{ $y := sha256Hex $x }}{{ end }}", "steps"},
      {"a costly pattern",
       "{{ $x := sprig_repeat 1000000 \"x\" }}{{ range 1000 }}{{ $y := regexMatch \"(x+x+)+y\" $x }}{{ end }}",
       "steps"},
      {"a large pattern", "{{ regexMatch \"((a{100}){100}){100}\" \"x\" }}", "error parsing regexp"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    FakeSource source;
    EXPECT_THAT(message_of([&] { return render_job(c.text, source, {.limits = kSmall}).text.value_or("missing"); }),
                ::testing::AllOf(StartsWith("template: t:1:"), HasSubstr(c.message)));
  }
}

TEST(Limits, OfNestingHoldForParsing) {
  for (const auto& text : {nested("{{ if . }}", "{{ end }}", 300), nested("{{ range . }}", "{{ end }}", 5000),
                           "{{ " + nested("(", ")", 100000) + " }}", nested("{{ block \"x\" . }}", "{{ end }}", 300)}) {
    EXPECT_THAT(message_of([&] { return parse("t", text, job_functions()).name(); }),
                HasSubstr("max expression depth exceeded"));
  }
  std::string chain = "{{ if 1 }}";
  for (int i = 0; i < 10000; ++i) chain += "{{ else if 2 }}";
  EXPECT_THAT(message_of([&] { return parse("t", chain + "{{ end }}", job_functions()).name(); }),
              HasSubstr("max expression depth exceeded"));
  EXPECT_EQ(parse("t", nested("{{ if . }}", "{{ end }}", 200), job_functions()).name(), "t");
}

TEST(Limits, AreThoseOfTheCaller) {
  FakeSource source;
  Inputs inputs;
  inputs.limits.output = 10;
  EXPECT_EQ(render_job("0123456789", source, inputs).text, "0123456789");
  EXPECT_THAT(message_of([&] { return render_job("01234567890", source, inputs).text.value_or(""); }),
              HasSubstr("larger than 10 bytes"));
}

TEST(Limits, ALimitIsToldEvenWhenSomethingIsMissing) {
  FakeSource source;
  EXPECT_THROW(render_job("{{ nomadVar \"x\" }}{{ range 1000000000 }}{{ end }}", source, {.limits = kSmall}), Error);
}

TEST(Maps, MayBeChangedWhileARangeGoesOverThem) {
  FakeSource source;
  EXPECT_EQ(render_job("{{ $d := sprig_dict \"a\" 1 \"b\" 2 }}{{ range $k, $v := $d }}{{ $_ := sprig_unset $d $k }}"
                       "{{ $_ := sprig_set $d (print $k $k) 3 }}{{ $k }}{{ end }} {{ $d }}",
                       source)
                .text,
            "ab map[aa:3 bb:3]");
}

TEST(Maps, OfTheDataAreNotChanged) {
  FakeSource source;
  Inputs inputs;
  inputs.data = Value::map({{"m", Value::map({{"a", Value(1)}})}});
  EXPECT_THAT(message_of([&] { return render_job("{{ sprig_set .m \"b\" 2 }}", source, inputs).text.value_or(""); }),
              HasSubstr("this map belongs to the data"));
  EXPECT_EQ(render_job("{{ sprig_set (sprig_deepCopy .m) \"b\" 2 }} {{ .m }}", source, inputs).text,
            "map[a:1 b:2] map[a:1]");
  EXPECT_EQ(render_job("{{ sprig_merge (sprig_dict \"m\" .m) (sprig_dict \"m\" (sprig_dict \"z\" 3)) }} {{ .m }}",
                       source, inputs)
                .text,
            "map[m:map[a:1 z:3]] map[a:1]");
}

}  // namespace
}  // namespace underway::gotemplate
