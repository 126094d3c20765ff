// The functions as data: their reference is made of them.
#include "support.hpp"

#include "base/text.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace underway::gotemplate {
namespace {

std::string row(const Function& function, std::string_view name) {
  std::string meaning = function.meaning;
  for (std::size_t at = 0; (at = meaning.find('|', at)) != std::string::npos; at += 2) meaning.insert(at, "\\");
  return fmt::format("| `{}` | {} | {} |\n", name, function.parameters, meaning);
}

/// The part of the reference below `heading`, one row for each function that `wanted` picks.
template <class F>
std::string table(std::string_view heading, std::string_view columns, const FunctionSet& set, F wanted) {
  std::string out = fmt::format("\n## {}\n\n{}\n", heading, columns);
  for (const auto& [name, function] : set.all())
    if (wanted(function)) out += row(function, name);
  return out;
}

std::string tables() {
  constexpr std::string_view kColumns = "| name | arguments | meaning |\n| --- | --- | --- |";
  const auto from = [](Origin origin) { return [origin](const Function& f) { return f.origin == origin; }; };
  std::string out;
  out += table("In every template", kColumns, job_functions(), from(Origin::go));
  out += table("In job templates", kColumns, job_functions(), from(Origin::consul));
  out += table("In overlays; in job templates with `sprig_` before the name", kColumns, overlay_functions(),
               from(Origin::sprig));
  out += "\n## Refused in job templates\n\n| name | why, and what to use |\n| --- | --- |\n";
  for (const auto& [name, function] : job_functions().all())
    if (function.origin == Origin::refused) out += fmt::format("| `{}` | {} |\n", name, function.meaning);
  return out;
}

TEST(Functions, AreAllInTheReference) {
  const std::string path = std::string(UNDERWAY_SOURCE_DIR) + "/docs/reference/templates.md";
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = text.find("\n## In every template");
  ASSERT_NE(begin, std::string::npos);
  if (std::getenv("UNDERWAY_ACCEPT") != nullptr) std::ofstream(path) << text.substr(0, begin) + tables();
  EXPECT_EQ(text.substr(begin), tables()) << "run this test with UNDERWAY_ACCEPT=1";
}

TEST(Functions, OfSprigHaveAPrefixInJobs) {
  for (const auto& [name, function] : overlay_functions().all()) {
    if (function.origin != Origin::sprig) continue;
    EXPECT_NE(job_functions().find("sprig_" + name), nullptr) << name;
  }
  EXPECT_EQ(overlay_functions().find("nomadVar"), nullptr);
  EXPECT_EQ(job_functions().find("nindent"), nullptr);
}

TEST(Functions, RefuseWrongArgumentsBeforeTheyRun) {
  FakeSource source;
  for (const auto& [name, function] : job_functions().all()) {
    if (function.origin == Origin::refused) continue;
    SCOPED_TRACE(name);
    if (!function.variadic) {
      std::string text = "{{ " + name;
      for (std::size_t i = 0; i <= function.fixed.size(); ++i) text += " 1";
      EXPECT_THAT(message_of([&] { return render_job(text + " }}", source).text.value_or(""); }),
                  ::testing::HasSubstr(fmt::format("wrong number of args for {}: want {} got {}", name,
                                                   function.fixed.size(), function.fixed.size() + 1)));
    }
    if (!function.fixed.empty() && function.fixed[0] == Type::text) {
      std::string text = "{{ " + name + " (sprig_list 1)";
      for (std::size_t i = 1; i < function.fixed.size(); ++i) text += " .";
      EXPECT_THAT(message_of([&] { return render_job(text + " }}", source).text.value_or(""); }),
                  ::testing::HasSubstr("expected string; got []interface {}"));
    }
  }
}

TEST(Functions, MayBeAddedToASet) {
  auto list = overlay_function_list();
  list.push_back({"greet", "name string", "A greeting.", Origin::sprig,
                  [](const Call& c) -> Value { return "hello " + c.string(0); }});
  const FunctionSet set(std::move(list));
  EXPECT_EQ(render(parse("t", "{{ \"ann\" | greet | upper }}", set), {}).text, "HELLO ANN");
}

TEST(Functions, AsValuesAreCalled) {
  const FunctionSet set(
      {{"twice", "text string", "", Origin::sprig, [](const Call& c) -> Value { return c.string(0) + c.string(0); }}});
  Inputs inputs;
  inputs.data = Value::map({{"F", Value::function(*set.find("twice"))}});
  const auto rendered = [&](const std::string& text) {
    return message_of([&] { return render(parse("t", text, overlay_functions()), inputs).text.value_or(""); });
  };
  EXPECT_EQ(rendered("{{ call .F \"ab\" }}"), "no error: abab");
  EXPECT_THAT(rendered("{{ call .F }}"), ::testing::HasSubstr("wrong number of args for .F: got 0 want 1"));
  EXPECT_THAT(rendered("{{ .F }}"), ::testing::HasSubstr("can't print {{.F}} of type func"));
}

}  // namespace
}  // namespace underway::gotemplate
