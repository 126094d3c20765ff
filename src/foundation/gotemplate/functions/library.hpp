#pragma once
/// @file
/// The groups of functions, and what several of them need.

#include "gotemplate/functions.hpp"
#include "gotemplate/run.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace underway::gotemplate {

std::vector<Function> builtin_functions();
std::vector<Function> string_functions();
std::vector<Function> case_functions();
std::vector<Function> regex_functions();
std::vector<Function> number_functions();
std::vector<Function> decimal_functions();
std::vector<Function> version_functions();
std::vector<Function> url_functions();
std::vector<Function> scratch_functions();
std::vector<Function> refused_sprig_functions();
std::vector<Function> list_functions();
std::vector<Function> map_functions();
std::vector<Function> default_functions();
std::vector<Function> encoding_functions();
std::vector<Function> hash_functions();
std::vector<Function> time_functions();
std::vector<Function> path_functions();
std::vector<Function> consul_functions();
std::vector<Function> data_functions();
std::vector<Function> foreign_functions();
std::vector<Function> refused_functions();

/// strings.Split: "" separates characters. Charged to the rendering.
std::vector<std::string_view> split_text(std::string_view text, std::string_view separator, Run& run,
                                         std::int64_t most = -1);
/// Charged to the rendering.
Value texts(const std::vector<std::string_view>& parts, Run& run);
/// strings.ReplaceAll.
Value replace_all(std::string_view text, std::string_view from, std::string_view to, Run& run);
/// `text` without the characters of `set` at its ends.
std::string_view trim_set(std::string_view text, std::string_view set);
std::string_view trim_space(std::string_view text);
std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
/// The first letter of each word upper case: Go's strings.Title, for which "it's" are two words.
std::string title_text(std::string_view text);
/// The same by x/text/cases, whose words are Unicode's: "it's" is one.
std::string word_title_text(std::string_view text);
/// Lists of anything as texts: Sprig's strslice.
std::vector<std::string> as_texts(const Value& value, Run& run);
Value join_texts(const std::vector<std::string>& parts, std::string_view separator, Run& run);
/// A text as it is, anything else as it is printed.
std::string as_text(const Value& value, Run& run);

/// spf13/cast: texts, numbers and bools become numbers; what is none becomes 0.
std::int64_t cast_integer(const Value& value);
/// strconv.ParseInt whose error nobody looks at: 0 for what is no number, the last one for one that is too large.
std::int64_t clamped_integer(std::string_view text);
double cast_real(const Value& value);

/// reflect.DeepEqual: values of different types are different.
bool deep_equal(const Value& a, const Value& b, Run& run, unsigned depth = 0);
/// A copy that the rendering may change.
Value deep_copy(const Value& value, Run& run, unsigned depth = 0);
/// Adds to `target`, a map of the rendering, what it lacks, or with `overwrite` all of `source`; maps inside are merged
/// the same way.
void merge_maps(const Value& target, const Value& source, bool overwrite, Run& run, unsigned depth = 0);

/// encoding/json. `escape_html` writes <, > and & as \u003c and so on; `indent` 0 is one line.
std::string to_json(const Value& value, Run& run, bool escape_html, unsigned indent);
/// Numbers become floats, as in Go. Throws Error(invalid).
Value from_json(std::string_view text, Run& run);
Value from_yaml(std::string_view text, Run& run);
std::string to_yaml(const Value& value, Run& run);
/// Throws Error(invalid) when `value` is no map.
std::string to_toml(const Value& value, Run& run);

std::string digest(std::string_view algorithm, std::string_view text);
/// `url` is the alphabet for URLs. Throws Error(invalid) in Go's words for what is none.
std::string base64_bytes(std::string_view text, bool url);

}  // namespace underway::gotemplate
