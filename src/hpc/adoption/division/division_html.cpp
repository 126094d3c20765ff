#include "adoption/division/division_html.hpp"

#include "adoption/division/flow_picture.hpp"
#include "base/text.hpp"

namespace underway::adoption {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

constexpr const char* kStyle = R"(<style>
:root { --critical: #b3261e; --unknown: #9a6700; --deferrable: #57606a; --ink: #1f2328; --paper: #ffffff; --soft: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --critical: #ff7b72; --unknown: #d29922; --deferrable: #8b949e; --ink: #e6edf3; --paper: #0d1117; --soft: #161b22; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1000px; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
svg { width: 100%; height: auto; background: var(--soft); border-radius: 8px; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .head { font-weight: 600; } svg .doors { font-size: 11px; }
svg marker path { fill: var(--ink); } svg .side { fill: var(--paper); stroke: var(--deferrable); }
svg line { stroke-opacity: .75; } svg line.critical { stroke: var(--critical); } svg line.deferrable { stroke: var(--deferrable); }
svg .needs { fill: none; stroke: var(--ink); stroke-width: 1; stroke-dasharray: 4 3; }
svg g rect { fill: var(--paper); stroke-width: 2; } svg g.critical rect { stroke: var(--critical); }
svg g.unknown rect { stroke: var(--unknown); stroke-dasharray: 5 3; } svg g.deferrable rect { stroke: var(--deferrable); }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .35rem .6rem; vertical-align: top;
  border-bottom: 1px solid var(--soft); } th { font-weight: 600; }
.critical-text { color: var(--critical); } .unknown-text { color: var(--unknown); } .deferrable-text { color: var(--deferrable); }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; } .warning { border-left: 3px solid var(--unknown); padding-left: .6rem; }
summary { cursor: pointer; } dl { display: grid; grid-template-columns: 9rem 1fr; gap: .2rem 1rem; } dd { margin: 0; } dt { font-weight: 600; }
</style>
)";

std::string list(const std::vector<std::string>& items, std::string_view cls = {}) {
  std::string out = "<ul>";
  for (const auto& item : items)
    out += cls.empty() ? fmt::format("<li>{}</li>", escape_html(item))
                       : fmt::format("<li class=\"{}\">{}</li>", cls, escape_html(item));
  return out + "</ul>\n";
}

const char* text_class(const Service& service) {
  if (service.verdict == Verdict::unknown) return "unknown-text";
  return service.critical ? "critical-text" : "deferrable-text";
}

std::string row(const Service& service) {
  return fmt::format(
      "<tr><td><a href=\"#{0}\">{1}</a></td><td class=\"{2}\">{3}</td><td>{4}</td><td>{5}</td><td>{6}</td><td>{7}</td>"
      "<td>{8}</td><td>{9}</td></tr>\n",
      escape_html(service.name), escape_html(service.title), text_class(service), verdict_text(service),
      opened_by_text(service.opened_by), service.nodes, escape_html(how_often(service.rhythm)),
      human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(service.bytes, 0))), escape_html(service.rule),
      describe::spell(service.confidence));
}

void term(std::string& out, std::string_view name, const std::string& html) {
  if (!html.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

std::string details(const Service& service) {
  std::string out = fmt::format(
      "<details id=\"{}\" open><summary><strong>{}</strong>: <span class=\"{}\">{}</span></summary>\n<dl>\n",
      escape_html(service.name), escape_html(service.title), text_class(service), verdict_text(service));
  term(out, "Why", escape_html(service.reason));
  term(out, "Rule", escape_html(fmt::format("{} (confidence: {})", service.rule, describe::spell(service.confidence))));
  term(out, "Doors", escape_html(join(service.doors, " ")));
  term(out, "Programs", escape_html(join(service.programs, ", ")));
  term(out, "Units", escape_html(join(service.units, ", ")));
  term(out, "Packages", escape_html(join(service.packages, ", ")));
  term(out, "Needs", escape_html(join(service.needs, ", ")));
  term(out, "Needed by", escape_html(join(service.needed_by, ", ")));
  if (!service.evidence.empty()) term(out, "Evidence", list(service.evidence));
  if (!service.advice.empty()) term(out, "Advice", list(service.advice));
  return out + "</dl></details>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  if (!is_utf8(text)) return hex(text);
  std::string printable(text);
  for (char& c : printable)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = '\0';
  return underway::escape_html(printable);
}

std::string division_html(const Division& division) {
  std::string out = kHead;
  out += fmt::format("<title>Services of {}</title>\n", escape_html(division.host));
  out += kStyle;
  out += fmt::format("</head><body>\n<h1>Services of {}</h1>\n", escape_html(division.host));
  if (division.packets > 0)
    out += fmt::format("<p>{} packets from {} to {} ({}); {} missed.</p>\n", division.packets,
                       format_time(from_unix_nanos(division.first)), format_time(from_unix_nanos(division.last)),
                       escape_html(join(division.sources, ", ")), division.lost);
  if (!division.warnings.empty()) out += "<h2>What makes this less certain</h2>\n" + list(division.warnings, "warning");
  out += "<h2>Who opens what</h2>\n" + flow_picture(division);
  out +=
      "<p>An arrow points to who is opened to and is as broad as there were bytes; a dashed arc points to what is "
      "needed.</p>\n<h2>The division</h2>\n<table><tr><th>Service</th><th>Verdict</th><th>Opened by</th><th>Nodes</th>"
      "<th>How often</th><th>Bytes</th><th>Rule</th><th>Confidence</th></tr>\n";
  for (const auto& service : division.services) out += row(service);
  out += "</table>\n<h2>Why</h2>\n";
  for (const auto& service : division.services) out += details(service);
  if (!division.left_out.empty()) out += "<h2>Left out</h2>\n" + list(division.left_out);
  return out + "</body></html>\n";
}

}  // namespace underway::adoption
