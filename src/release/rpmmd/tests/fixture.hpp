#pragma once
/// @file
/// A repository of three packages, as createrepo_c writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/error.hpp"
#include "rpmmd/index.hpp"

namespace underway::rpmmd {

inline std::string id_of(char digit) { return std::string(64, digit); }

inline std::string primary_element(const std::string& name, char digit, const std::string& version = "1.0") {
  return fmt::format(R"x(<package type="rpm">
  <name>{0}</name>
  <arch>x86_64</arch>
  <version epoch="2" ver="{2}" rel="3.el9"/>
  <checksum type="sha256" pkgid="YES">{1}</checksum>
  <summary>What &lt;{0}&gt; does &amp; more</summary>
  <description>Two
lines</description>
  <time file="1700000000" build="1699999999"/>
  <size package="4711" installed="11" archive="1048"/>
  <location href="Packages/{0}-{2}-3.el9.x86_64.rpm"/>
  <format>
    <rpm:license>MIT</rpm:license>
    <rpm:group>System/Base</rpm:group>
    <rpm:sourcerpm>{0}-{2}-3.el9.src.rpm</rpm:sourcerpm>
    <rpm:provides>
      <rpm:entry name="{0}" flags="EQ" epoch="2" ver="{2}" rel="3.el9"/>
    </rpm:provides>
    <rpm:requires>
      <rpm:entry name="/bin/sh" pre="1"/>
      <rpm:entry name="(a if b)"/>
    </rpm:requires>
    <file>/usr/bin/{0}</file>
    <file type="dir">/etc/{0}</file>
  </format>
</package>)x",
                     name, id_of(digit), version);
}

inline std::string other_element(const std::string& name, char digit) {
  return fmt::format(
      "<package pkgid=\"{}\" name=\"{}\" arch=\"x86_64\">\n  <version epoch=\"2\" ver=\"1.0\" rel=\"3.el9\"/>\n"
      "  <file type=\"ghost\">/var/log/{}</file>\n</package>",
      id_of(digit), name, name);
}

inline std::string primary_of(const std::vector<std::string>& elements) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metadata xmlns=\"http://linux.duke.edu/metadata/common\""
      " xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\" packages=\"{}\">\n{}\n</metadata>",
      elements.size(), fmt::join(elements, "\n"));
}
inline std::string document_of(const std::string& root, const std::vector<std::string>& elements) {
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{0} packages=\"{1}\">\n{2}\n</{0}>", root,
                     elements.size(), fmt::join(elements, "\n"));
}
inline std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

/// Of the packages ant, bee and cow; the other documents have them in another order.
inline Index three() {
  return Index::read(
      {.primary =
           shared(primary_of({primary_element("ant", 'a'), primary_element("bee", 'b'), primary_element("cow", 'c')})),
       .filelists = shared(
           document_of("filelists", {other_element("cow", 'c'), other_element("ant", 'a'), other_element("bee", 'b')})),
       .other = shared(document_of(
           "otherdata", {other_element("bee", 'b'), other_element("cow", 'c'), other_element("ant", 'a')}))});
}
inline Index read_primary(const std::string& text) {
  return Index::read({.primary = shared(text), .filelists = {}, .other = {}});
}

/// What `work` is refused with, on one line; empty when it is not.
template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const Error& e) {
    return fmt::format("{}: {}", to_string(e.code()), e.one_line());
  }
  return "";
}

/// The first `from` in `text` replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace underway::rpmmd
