#include "ticket/mail.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "ticket/detail/mail_words.hpp"

namespace underway::ticket {

namespace {

struct Header {
  std::string name;   ///< in small letters
  std::string value;  ///< unfolded
};

[[noreturn]] void refuse(std::size_t line, std::string_view why) {
  throw Error(Code::invalid, fmt::format("line {} of the message is no header", line))
      .because(std::string(why))
      .advise("write headers as `Subject: TEXT`, then an empty line, then the text");
}

/// Takes the next line, without its end, from the text.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; });
}

/// Leaves the body in `text`.
std::vector<Header> take_headers(std::string_view& text) {
  std::vector<Header> headers;
  const std::size_t whole = text.size();
  // What a mailbox file has before each message.
  std::size_t number = 0;
  if (text.starts_with("From ")) {
    take_line(text);
    ++number;
  }
  while (!text.empty()) {
    ++number;
    const auto line = take_line(text);
    if (whole - text.size() > kLongestMailHead)
      throw Error(Code::too_large,
                  fmt::format("the message's headers have more than {}", human_bytes(kLongestMailHead)));
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (headers.empty()) refuse(number, "it begins with a blank, and there is none to continue");
      headers.back().value += ' ';
      headers.back().value += trim(line);
      continue;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) refuse(number, "it has no colon");
    if (!is_name(trim(line.substr(0, colon)))) refuse(number, "what stands before the colon is no name");
    headers.push_back({lower(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1)))});
  }
  return headers;
}

/// Empty: there is none. Throws invalid when there are two, of which somebody would believe the other.
std::string only(const std::vector<Header>& headers, std::string_view name) {
  const auto is_it = [&](const Header& header) { return header.name == name; };
  const auto found = std::ranges::find_if(headers, is_it);
  if (found == headers.end()) return {};
  if (std::find_if(found + 1, headers.end(), is_it) != headers.end())
    throw Error(Code::invalid, fmt::format("the message has two headers '{}'", name));
  return found->value;
}

/// What stands between < and >.
std::vector<std::string> message_ids(std::string_view text) {
  std::vector<std::string> found;
  while (found.size() < kMostReferences) {
    const auto begin = text.find('<');
    const auto end = text.find('>', begin == std::string_view::npos ? 0 : begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    const auto id = text.substr(begin + 1, end - begin - 1);
    const bool plain = std::ranges::all_of(id, [](char c) { return c > ' ' && c < 127; });
    if (!id.empty() && id.size() <= kLongestMessageId && plain) found.emplace_back(id);
    text.remove_prefix(end + 1);
  }
  return found;
}

/// Takes "[#12]" out of the subject.
std::int64_t take_number(std::string& subject) {
  const auto begin = subject.find("[#");
  const auto end = begin == std::string::npos ? begin : subject.find(']', begin);
  if (end == std::string::npos) return 0;
  const auto number = parse_number<std::int64_t>(std::string_view(subject).substr(begin + 2, end - begin - 2));
  if (!number || *number < 1) return 0;
  subject.erase(begin, end - begin + 1);
  for (std::size_t at = 0; (at = subject.find("  ", at)) != std::string::npos;) subject.erase(at, 1);
  subject = std::string(trim(subject));
  return *number;
}

std::string tidy_lines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r' || out.back() == ' ' || out.back() == '\t'))
    out.pop_back();
  return out;
}

}  // namespace

std::string Mail::text() const {
  if (from.empty()) return body;
  return fmt::format("From: {} (as the message has it; nobody has checked it)\n\n{}", from, body);
}

Mail parse_mail(std::string_view text) {
  if (text.size() > kLongestMail)
    throw Error(Code::too_large, fmt::format("the message has more than {}", human_bytes(kLongestMail)))
        .advise("keep what is long elsewhere, and write where it is");
  const auto headers = take_headers(text);
  Mail mail;
  mail.subject = detail::decode_words(only(headers, "subject"));
  mail.from = detail::decode_words(only(headers, "from"));
  if (auto wrong = model::line_problem("From", mail.from, 500); !wrong.empty()) throw Error(Code::invalid, wrong);
  mail.ticket = take_number(mail.subject);
  if (const auto kind = only(headers, "x-underway-kind"); !kind.empty()) {
    const auto& kinds = model::description(describe::Tag<model::TicketKind>{});
    const auto found = kinds.parse(lower(kind));
    if (!found)
      throw Error(Code::invalid, "X-Underway-Kind is no kind of ticket")
          .advise("use one of " + join(kinds.names(), ", "));
    mail.kind = static_cast<model::TicketKind>(*found);
  }
  mail.key = only(headers, "x-underway-key");
  if (auto own = message_ids(only(headers, "message-id")); !own.empty()) mail.message_id = std::move(own.front());
  mail.replies_to = message_ids(only(headers, "in-reply-to"));
  auto references = message_ids(only(headers, "references"));
  mail.replies_to.insert(mail.replies_to.end(), references.rbegin(), references.rend());
  detail::check_content_type(only(headers, "content-type"));
  mail.body = tidy_lines(detail::decode_body(only(headers, "content-transfer-encoding"), text));
  if (!is_utf8(mail.body))
    throw Error(Code::unsupported, "the message's text is not UTF-8").advise("send it as plain text in UTF-8");
  return mail;
}

}  // namespace underway::ticket
