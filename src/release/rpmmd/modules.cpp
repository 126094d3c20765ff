#include "rpmmd/modules.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "yaml/yaml.hpp"

namespace underway::rpmmd {
namespace {

const yaml::Node* find(const yaml::Node* mapping, std::string_view key) {
  if (mapping == nullptr || mapping->kind != yaml::Node::Kind::mapping) return nullptr;
  for (std::size_t i = 0; i + 1 < mapping->children.size(); i += 2)
    if (mapping->children[i].text == key) return &mapping->children[i + 1];
  return nullptr;
}

std::string text_of(const yaml::Node* mapping, std::string_view key) {
  const yaml::Node* const node = find(mapping, key);
  return node != nullptr && node->kind == yaml::Node::Kind::scalar ? node->text : "";
}

bool is_marker(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) &&
         (line.size() == marker.size() || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

/// The text of each document. A line that begins with "---" or "..." is never inside of one, not even in a block of
/// text (YAML 1.2, c-forbidden), so nothing else has to be understood.
std::vector<std::string_view> split_documents(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const auto document = text.substr(begin, end - begin);
    if (document.find_first_not_of(" \t\r\n") != std::string_view::npos) out.push_back(document);
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto newline = text.find('\n', at);
    const auto next = newline == std::string_view::npos ? text.size() : newline + 1;
    const auto line = text.substr(at, (newline == std::string_view::npos ? text.size() : newline) - at);
    if (is_marker(line, "---")) {
      add(at);
      begin = at;
    } else if (is_marker(line, "...")) {
      add(at);
      begin = next;
    }
    at = next;
  }
  add(text.size());
  return out;
}

ModuleDocument read_document(std::string_view text, const yaml::Node& root) {
  ModuleDocument out;
  out.text = text;
  out.kind = text_of(&root, "document");
  if (out.kind.empty())
    throw Error(Code::invalid, "a document of modules.yaml says nothing of its kind").because("it has no 'document'");
  const yaml::Node* const data = find(&root, "data");
  // As the kinds name it: modulemd its name, the others the module that they speak of.
  const bool stream = out.kind == "modulemd" || out.kind == "modulemd-stream" || out.kind == "modulemd-packager";
  out.module = text_of(data, stream ? "name" : "module");
  out.stream = text_of(data, "stream");
  if (out.kind == "modulemd" || out.kind == "modulemd-defaults") {
    if (out.module.empty()) throw Error(Code::invalid, fmt::format("a {} names no module", out.kind));
  }
  if (out.kind != "modulemd") return out;
  out.version = text_of(data, "version");
  out.context = text_of(data, "context");
  const yaml::Node* const rpms = find(find(data, "artifacts"), "rpms");
  if (rpms == nullptr) return out;
  for (const yaml::Node& rpm : rpms->children) out.artifacts.push_back(rpm.text);
  return out;
}

using Stream = std::pair<std::string, std::string>;

}  // namespace

std::vector<ModuleDocument> parse_modules(std::string_view text) {
  std::vector<ModuleDocument> out;
  for (const std::string_view document : split_documents(text)) {
    const auto roots = yaml::parse(document, {.documents = 2});
    // YAML ends lines in more ways than one: what a client finds in here must not be hidden from us.
    if (roots.size() > 1) throw Error(Code::invalid, "a document of modules.yaml has another one in it");
    // Comments alone.
    if (roots.empty()) continue;
    out.push_back(read_document(document, roots.front()));
  }
  return out;
}

std::vector<ModuleDocument> reduce_modules(std::vector<ModuleDocument> documents,
                                           const std::function<bool(const std::string&)>& has) {
  const auto lost = [&](const ModuleDocument& d) {
    return d.kind == "modulemd" && !d.artifacts.empty() && std::none_of(d.artifacts.begin(), d.artifacts.end(), has);
  };
  std::erase_if(documents, lost);
  std::set<Stream> streams;
  for (const ModuleDocument& d : documents) {
    if (d.kind != "modulemd") continue;
    streams.emplace(d.module, d.stream);
    streams.emplace(d.module, "");  // the module itself
  }
  std::erase_if(documents, [&](const ModuleDocument& d) {
    return d.kind != "modulemd" && !d.module.empty() && !streams.contains({d.module, d.stream});
  });
  return documents;
}

std::string write_modules(const std::vector<ModuleDocument>& documents) {
  std::string out;
  for (const ModuleDocument& d : documents) {
    if (!is_marker(d.text.substr(0, d.text.find('\n')), "---")) out += "---\n";
    out += d.text;
    if (!d.text.ends_with('\n')) out += '\n';
    out += "...\n";
  }
  return out;
}

}  // namespace underway::rpmmd
